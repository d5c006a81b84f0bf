import type { Company } from './connections.js';
import { readCursor, writeCursor } from './cursors.js';
import type { JsonObject } from './json.js';
import { parseLimit } from './query.js';
import { Draw, hashOf } from './random.js';
import { badParameter } from './request-error.js';
import { drawName } from './shapes/shape.js';
import type { World } from './world.js';

export interface CompanyPage {
  readonly companies: readonly JsonObject[];
  readonly prev: string | null;
  readonly next: string | null;
  readonly totalCount: number;
}

/** Cursors of the company list are good for no other list. */
const FINGERPRINT = 0xc0;

/**
 * Reads a page of V4's companies, by id. The specification does not show their shape: here they carry their id
 * in a field that depends on the seed (`svc_id` in the clean scenario), a name, a platform and a status.
 *
 * @throws RequestError 400 for parameters other than limit, next and prev
 */
export function listCompanies(world: World, parameters: URLSearchParams): CompanyPage {
  for (const name of parameters.keys()) {
    if (!['limit', 'next', 'prev'].includes(name)) throw badParameter(name, 'unknown parameter');
  }
  const companies = world.connections
    .flatMap(({ v4 }) => v4)
    .sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const limit = parseLimit(parameters.get('limit') ?? undefined);
  const { start, end } = rangeOf(parameters, limit, companies.length);
  const write = (direction: 'next' | 'prev', ordinal: number): string =>
    writeCursor({ direction, ordinal, updatedMs: 0, totalCount: null, copy: 0 }, FINGERPRINT);
  return {
    companies: companies.slice(start, end).map((company) => buildCompany(world, company)),
    prev: start > 0 ? write('prev', start) : null,
    next: end < companies.length ? write('next', end) : null,
    totalCount: companies.length,
  };
}

function rangeOf(parameters: URLSearchParams, limit: number, size: number): { start: number; end: number } {
  const [next, prev] = [parameters.get('next'), parameters.get('prev')];
  if (!next && prev) {
    const end = readCursor('prev', prev, FINGERPRINT).ordinal;
    return { start: Math.max(0, end - limit), end };
  }
  const start = next ? readCursor('next', next, FINGERPRINT).ordinal : 0;
  return { start, end: Math.min(start + limit, size) };
}

const ID_FIELDS = ['svc_id', 'svc_company_id', 'id'] as const;
const PLATFORMS = ['ledgerly', 'shopwise', 'crmaster', 'büroweb'] as const;

function buildCompany({ seed, scenario, connections }: World, { id, connection }: Company): JsonObject {
  const draw = new Draw(hashOf(seed, 'company', connection));
  const field = scenario === 'clean' ? 0 : hashOf(seed, 'company id field') % ID_FIELDS.length;
  return {
    [ID_FIELDS[field] ?? 'svc_id']: id,
    name: drawName(draw),
    platform: draw.pick(PLATFORMS),
    status: connections[connection]?.kind === 'inert' ? 'pending' : 'active',
  };
}

import type { IncomingMessage } from 'node:http';
import { type AttemptFaults, createMutator } from './faults.js';
import { drawName, type JsonObject, writeJson } from './fields.js';
import { badParameter, notFound, parseLimit, parseQuery, type Query, RequestError } from './list-query.js';
import { MODELS, type ModelShape } from './models.js';
import { type Page, readCursor, readPage, writeCursor } from './pages.js';
import { writeRecord } from './record-body.js';
import { Draw, happens, hashOf, mix } from './seeded-random.js';
import type { Company, StoredRecord } from './tables.js';
import { regionsOf, type World } from './world.js';

type Route =
  | { readonly kind: 'v3_list'; readonly region: string; readonly shape: ModelShape }
  | { readonly kind: 'v4_companies' }
  | { readonly kind: 'v4_list'; readonly companyId: bigint; readonly shape: ModelShape }
  | {
      readonly kind: 'v4_record';
      readonly companyId: bigint;
      readonly shape: ModelShape;
      readonly svcId: bigint;
    };

/** The path of a region's V3: `/v3` if there is only one region, otherwise `/{region}/v3`. */
export function v3Prefix(region: string, regions: readonly string[]): string {
  return regions.length === 1 ? '/v3' : `/${region}/v3`;
}

function findRoute(path: string, regions: readonly string[]): Route | null {
  for (const region of regions) {
    const prefix = `${v3Prefix(region, regions)}/`;
    if (!path.startsWith(prefix)) continue;
    const shape = MODELS.find(({ v3 }) => v3 === path.slice(prefix.length));
    return shape === undefined ? null : { kind: 'v3_list', region, shape };
  }
  if (path === '/v4/core/companies') return { kind: 'v4_companies' };
  const match = /^\/v4\/core\/companies\/(\d{1,19})\/(\w+)(?:\/(\d{1,19}))?$/.exec(path);
  const shape = MODELS.find(({ v4 }) => v4 === match?.[2]);
  if (match === null || shape === undefined) return null;
  const companyId = BigInt(match[1] ?? '');
  if (match[3] === undefined) return { kind: 'v4_list', companyId, shape };
  return { kind: 'v4_record', companyId, shape, svcId: BigInt(match[3]) };
}

export interface ServiceOptions {
  readonly world: World;
  readonly apiKey: string;
  /** Share of a connection's records that V4 has loaded, from 0 to 1. */
  readonly loadedShare: (connection: number) => number;
  /** Wall clock, for `mutate`. */
  readonly clock: () => number;
  readonly defects: Defects;
}

/** What is wrong with the answers. */
export interface Defects {
  /** V3 models that answer 404. */
  readonly absentV3?: readonly string[];
  /** Share of the records that follow an object that is not a record. */
  readonly malformed?: number;
  /** Instead of the true count. */
  readonly totalCount?: number;
}

export type Service = (request: IncomingMessage, url: URL, faults: AttemptFaults) => ServiceAnswer;

export function createService(options: ServiceOptions): Service {
  const { world, apiKey } = options;
  const regions = regionsOf(world.scenario);
  let requests = 0;
  const state: State = { ...options, expired: new Set(), mutate: createMutator(world) };
  return ({ method, headers }, { pathname, searchParams }, faults) => {
    requests += 1;
    const requestId = pathname.startsWith('/v4') ? `req_${requests}` : null;
    try {
      if (headers['api_key'] !== apiKey)
        throw new RequestError(401, 'unauthorized', 'The api_key is not valid.');
      if (method !== 'GET') throw new RequestError(405, 'method_not_allowed', 'Only GET is allowed.');
      const route = findRoute(pathname, regions);
      if (route === null) throw notFound('such route');
      return answerRoute(state, route, searchParams, faults, requestId);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return answerError(error.status, error.code, error.message, requestId);
    }
  };
}

interface State extends ServiceOptions {
  readonly expired: Set<string>;
  readonly mutate: ReturnType<typeof createMutator>;
}

function answerRoute(
  state: State,
  route: Route,
  parameters: URLSearchParams,
  faults: AttemptFaults,
  requestId: RequestId,
): ServiceAnswer {
  const { world, defects } = state;
  switch (route.kind) {
    case 'v3_list': {
      if (defects.absentV3?.includes(route.shape.v3)) throw notFound(`model ${route.shape.v3}`);
      const query = parseQuery(`${route.region} ${route.shape.v3}`, route.shape, parameters);
      const table = world.v3.get(route.region)?.get(route.shape.v3);
      if (table === undefined) throw notFound(`region ${route.region}`);
      if (faults.strikes('mutate')) state.mutate(table, state.clock());
      return answerPage(readFaultyPage(state, table.records, query, faults), query, requestId, defects);
    }
    case 'v4_companies':
      return answerCompanies(world, parameters, requestId);
    case 'v4_list': {
      const query = parseQuery(`${route.companyId} ${route.shape.v4}`, route.shape, parameters);
      const list = chooseV4List(world, route.shape, route.companyId, state.loadedShare);
      const page = readFaultyPage(state, list, { ...query, returnCount: true }, faults);
      return answerPage(page, query, requestId, defects);
    }
    case 'v4_record': {
      const query = parseQuery('record', route.shape, parameters);
      const list = chooseV4List(world, route.shape, route.companyId, state.loadedShare);
      const record = list.find(({ svcId }) => svcId === route.svcId);
      if (record === undefined) throw notFound(`${route.shape.v4} record ${route.svcId} in that company`);
      return ok(`{"data":${writeRecord(record, query)},"request_id":${writeJson(requestId)}}`);
    }
  }
}

function readFaultyPage(state: State, list: Records, query: Query, faults: AttemptFaults): Page {
  const cursor = query.next ?? query.prev;
  if (cursor !== null && !state.expired.has(cursor) && faults.strikes('cursor-expiry')) {
    state.expired.add(cursor);
    throw new RequestError(410, 'cursor_expired', 'The cursor has expired.');
  }
  const page = readPage(list, query);
  if (page.next !== null && query.next !== null && faults.strikes('cursor-loop')) {
    return { ...page, next: query.next };
  }
  return page.again !== null && faults.strikes('duplicate-pages') ? { ...page, next: page.again } : page;
}

type Records = readonly StoredRecord[];

function chooseV4List(
  world: World,
  shape: ModelShape,
  companyId: bigint,
  share: ServiceOptions['loadedShare'],
): Records {
  const table = world.v4.get(shape.v4);
  const member = table?.members.find(({ company }) => company.id === companyId);
  if (table === undefined || member === undefined) throw notFound(`company ${companyId}`);
  if (member.block.isAbsent) throw notFound(`data model ${shape.v4}`);
  const { records, company } = member;
  return records.slice(0, Math.floor(records.length * share(company.connection)));
}

export interface ServiceAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Id of the request in V4 answers; null in V3, which has none. */
type RequestId = string | null;

function answerPage(
  page: Page,
  query: Query,
  requestId: RequestId,
  { malformed = 0, totalCount }: Defects,
): ServiceAnswer {
  const texts = page.records.flatMap((record) => {
    const hash = mix(mix(record.table.hash, record.position), 0xbad);
    const kind = hash % MALFORMED.length;
    const before = happens(hash, malformed) ? MALFORMED.slice(kind, kind + 1) : [];
    return [...before, writeRecord(record, query)];
  });
  const counted = page.totalCount === null ? null : (totalCount ?? page.totalCount);
  return answerList(texts, { ...page, totalCount: counted }, requestId);
}

const MALFORMED = [
  'null',
  '"a text"',
  '[]',
  '{}',
  '{"svc_id":"17","svc_company_id":5,"platform_id":"x"}',
  '{"svc_id":1.5,"svc_company_id":5,"platform_id":"x"}',
  '{"svc_id":99999999999999999999,"svc_company_id":5,"platform_id":"x"}',
  '{"svc_id":17,"platform_id":"x"}',
] as const;

function answerList(
  texts: readonly string[],
  { prev, next, totalCount }: Pick<Page, 'prev' | 'next' | 'totalCount'>,
  requestId: RequestId,
): ServiceAnswer {
  const list = `{"data":[${texts.join(',')}],${writeJson({ prev, next, total_count: totalCount }).slice(1)}`;
  return ok(requestId === null ? list : `{"data":${list},"request_id":${writeJson(requestId)}}`);
}

export function answerError(
  status: number,
  code: string,
  message: string,
  requestId: RequestId,
  headers: Readonly<Record<string, string>> = {},
): ServiceAnswer {
  const error: JsonObject = { error: { code, message } };
  const body = requestId === null ? error : { data: null, ...error, request_id: requestId };
  return { status, headers: { ...JSON_TYPE, ...headers }, body: writeJson(body) };
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

function ok(body: string): ServiceAnswer {
  return { status: 200, headers: JSON_TYPE, body };
}

/** Fingerprint in cursors of the company list, so that no other list accepts them. */
const FINGERPRINT = 0xc0;

/**
 * A page of V4's companies, by id. The specification does not define their fields: here they have their id in a field
 * that depends on the seed (`svc_id` in the clean scenario), a name, a platform and a status.
 *
 * @throws RequestError 400 for parameters other than limit, next and prev
 */
function answerCompanies(world: World, parameters: URLSearchParams, requestId: RequestId): ServiceAnswer {
  for (const name of parameters.keys()) {
    if (!['limit', 'next', 'prev'].includes(name)) throw badParameter(name, 'unknown parameter');
  }
  const companies = world.connections
    .flatMap(({ v4 }) => v4)
    .sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const totalCount = companies.length;
  const limit = parseLimit(parameters.get('limit') ?? undefined);
  const [next, prev] = [parameters.get('next'), parameters.get('prev')];
  const end = !next && prev ? readCursor('prev', prev, FINGERPRINT).position : totalCount;
  const start = next ? readCursor('next', next, FINGERPRINT).position : prev ? Math.max(0, end - limit) : 0;
  const after = Math.min(start + limit, end);
  const write = (direction: 'next' | 'prev', position: number): string =>
    writeCursor({ direction, position, updatedMs: 0, copy: 0 }, FINGERPRINT);
  return answerList(
    companies.slice(start, after).map((company) => writeJson(buildCompany(world, company))),
    {
      prev: start > 0 ? write('prev', start) : null,
      next: after < totalCount ? write('next', after) : null,
      totalCount,
    },
    requestId,
  );
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

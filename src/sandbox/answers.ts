import type { Company } from './connections.js';
import { drawName } from './fields.js';
import { type JsonObject, writeJson } from './json.js';
import { badParameter, parseLimit, type Query } from './list-query.js';
import { type Page, readCursor, writeCursor } from './pages.js';
import { malformedBefore, type Quirks } from './quirks.js';
import { Draw, hashOf, mix } from './seeded-random.js';
import { writeRecord } from './stored-records.js';
import type { World } from './world.js';

/** A response before it is sent; the body is generated in pieces. */
export interface ServiceAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Iterable<string>;
}

/** Id of the request in V4 answers; null in V3, which has none. */
export type RequestId = string | null;

/** Answers with a page of records in the envelope of its generation. */
export function answerPage(
  world: World,
  page: Page,
  query: Query,
  requestId: RequestId,
  quirks: Quirks,
): ServiceAnswer {
  const { totalCount } = page;
  const counted = totalCount === null ? page : { ...page, totalCount: quirks.totalCount ?? totalCount };
  const write = function* (): Generator<string> {
    for (const stored of page.records) {
      const malformed = malformedBefore(quirks, mix(stored.table.hash, stored.position));
      if (malformed !== null) yield malformed;
      yield writeRecord(world, stored, query);
    }
  };
  return answerList(write(), counted, requestId);
}

/** Answers with a list of objects in the envelope of its generation. */
export function answerList(
  texts: Iterable<string>,
  { prev, next, totalCount }: Pick<Page, 'prev' | 'next' | 'totalCount'>,
  requestId: RequestId,
): ServiceAnswer {
  const tail = `],${writeJson({ prev, next, total_count: totalCount }).slice(1)}`;
  return requestId === null
    ? ok(join('{"data":[', texts, tail))
    : ok(join('{"data":{"data":[', texts, `${tail},"request_id":${writeJson(requestId)}}`));
}

/** Answers with one record in V4's envelope. */
export function answerRecord(record: string, requestId: RequestId): ServiceAnswer {
  return ok([`{"data":${record},"request_id":${writeJson(requestId)}}`]);
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
  return { status, headers: { ...JSON_TYPE, ...headers }, body: [writeJson(body)] };
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

function ok(body: Iterable<string>): ServiceAnswer {
  return { status: 200, headers: JSON_TYPE, body };
}

/** Approximate size of the pieces of a body, in characters. */
const PIECE = 32_768;

function* join(head: string, texts: Iterable<string>, tail: string): Generator<string> {
  let piece = head;
  let separator = '';
  for (const text of texts) {
    piece += separator + text;
    separator = ',';
    if (piece.length < PIECE) continue;
    yield piece;
    piece = '';
  }
  yield piece + tail;
}

/** Fingerprint in cursors of the company list, so that no other list accepts them. */
const FINGERPRINT = 0xc0;

/**
 * A page of V4's companies, by id. The specification does not define their fields: here they have their id in a field
 * that depends on the seed (`svc_id` in the clean scenario), a name, a platform and a status.
 *
 * @throws RequestError 400 for parameters other than limit, next and prev
 */
export function answerCompanies(
  world: World,
  parameters: URLSearchParams,
  requestId: RequestId,
): ServiceAnswer {
  for (const name of parameters.keys()) {
    if (!['limit', 'next', 'prev'].includes(name)) throw badParameter(name, 'unknown parameter');
  }
  const companies = world.connections
    .flatMap(({ v4 }) => v4)
    .sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const limit = parseLimit(parameters.get('limit') ?? undefined);
  const [next, prev] = [parameters.get('next'), parameters.get('prev')];
  const end = !next && prev ? readCursor('prev', prev, FINGERPRINT).ordinal : companies.length;
  const start = next ? readCursor('next', next, FINGERPRINT).ordinal : prev ? Math.max(0, end - limit) : 0;
  const page = companies.slice(start, Math.min(start + limit, end));
  const after = start + page.length;
  const write = (direction: 'next' | 'prev', ordinal: number): string =>
    writeCursor({ direction, ordinal, updatedMs: 0, totalCount: null, copy: 0 }, FINGERPRINT);
  const place = {
    prev: start > 0 ? write('prev', start) : null,
    next: after < companies.length ? write('next', after) : null,
    totalCount: companies.length,
  };
  return answerList(
    page.map((company) => writeJson(buildCompany(world, company))),
    place,
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

import type { IncomingMessage } from 'node:http';
import { type AttemptFaults, createMutator } from './faults.js';
import { drawName, type JsonObject, MODELS, type ModelShape, writeJson } from './models.js';
import {
  findRecords,
  type Page,
  type Place,
  parseQuery,
  type Query,
  RequestError,
  readPage,
} from './read-page.js';
import { writeRecord } from './record-body.js';
import { Draw, hashOf } from './seeded-random.js';
import { type Company, regionsOf, type StoredRecord, type World } from './world.js';

export interface ServiceOptions {
  readonly world: World;
  readonly apiKey: string;
  /** Share of a connection's records that V4 has loaded, from 0 to 1. */
  readonly loadedShare: (connection: number) => number;
  readonly clock: () => number;
}

export interface ServiceAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type Service = (request: IncomingMessage, url: URL, faults: AttemptFaults) => ServiceAnswer;

interface State extends ServiceOptions {
  readonly expired: Set<string>;
  readonly mutate: ReturnType<typeof createMutator>;
}

/** Id of the request in V4 answers; null in V3, which has none. */
type RequestId = string | null;

/** The path of a region's V3: `/v3` if there is only one region, otherwise `/{region}/v3`. */
export function v3Prefix(region: string, regions: readonly string[]): string {
  return regions.length === 1 ? '/v3' : `/${region}/v3`;
}

export function createService(options: ServiceOptions): Service {
  let requests = 0;
  const state: State = { ...options, expired: new Set(), mutate: createMutator(options.world) };
  return ({ method, headers }, url, faults) => {
    requests += 1;
    const requestId = url.pathname.startsWith('/v4') ? `req_${requests}` : null;
    try {
      if (faults.strikes('429')) throw new RequestError(429, 'too_many_requests', 'Too many requests.');
      if (faults.strikes('500')) throw new RequestError(500, 'internal', 'Something broke.');
      if (headers['api_key'] !== options.apiKey) {
        throw new RequestError(401, 'unauthorized', 'The api_key is not valid.');
      }
      if (method !== 'GET') throw new RequestError(405, 'method_not_allowed', 'Only GET is allowed.');
      return answerRoute(state, url, faults, requestId);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return answerError(error, requestId);
    }
  };
}

function answerRoute(
  state: State,
  { pathname, searchParams }: URL,
  faults: AttemptFaults,
  requestId: RequestId,
): ServiceAnswer {
  const regions = regionsOf(state.world.scenario);
  for (const region of regions) {
    const prefix = `${v3Prefix(region, regions)}/`;
    if (!pathname.startsWith(prefix)) continue;
    const shape = shapeOf('v3', pathname.slice(prefix.length));
    const query = parseQuery(`${region} ${shape.v3}`, shape, searchParams);
    const table = state.world.v3.get(region)?.get(shape.v3);
    if (table === undefined) throw notFound(`region ${region}`);
    if (faults.strikes('mutate')) state.mutate(table, state.clock());
    return answerPage(readFaultyPage(state, table.records, query, faults), query, requestId);
  }
  if (pathname === '/v4/core/companies') return answerCompanies(state.world, searchParams, requestId);
  const [, company, model, svcId] =
    /^\/v4\/core\/companies\/(\d{1,19})\/(\w+)(?:\/(\d{1,19}))?$/.exec(pathname) ?? [];
  if (company === undefined || model === undefined) throw notFound('such route');
  const shape = shapeOf('v4', model);
  const list = findV4List(state, shape, BigInt(company));
  const query = parseQuery(`${company} ${model}`, shape, searchParams);
  if (svcId === undefined) {
    return answerPage(readFaultyPage(state, list, { ...query, returnCount: true }, faults), query, requestId);
  }
  const record = list.find((stored) => stored.svcId === BigInt(svcId));
  if (record === undefined) throw notFound(`${model} record ${svcId} in that company`);
  return ok(`{"data":${writeRecord(record, query)},"request_id":${writeJson(requestId)}}`);
}

function shapeOf(generation: 'v3' | 'v4', name: string): ModelShape {
  const shape = MODELS.find((candidate) => candidate[generation] === name);
  if (shape === undefined) throw notFound('such route');
  return shape;
}

function notFound(what: string): RequestError {
  return new RequestError(404, 'not_found', `There is no ${what}.`);
}

type Records = readonly StoredRecord[];

function findV4List({ world, loadedShare }: State, shape: ModelShape, companyId: bigint): Records {
  const member = world.v4.get(shape.v4)?.members.find(({ company }) => company.id === companyId);
  if (member === undefined) throw notFound(`company ${companyId}`);
  if (member.block.isAbsent) throw notFound(`data model ${shape.v4}`);
  const { records, company } = member;
  return records.slice(0, Math.floor(records.length * loadedShare(company.connection)));
}

function readFaultyPage(
  state: State,
  list: Records,
  query: Query,
  faults: AttemptFaults,
): Page<StoredRecord> {
  const cursor = query.next ?? query.prev;
  if (cursor !== null && !state.expired.has(cursor) && faults.strikes('cursor-expiry')) {
    state.expired.add(cursor);
    throw new RequestError(410, 'cursor_expired', 'The cursor has expired.');
  }
  const page = readPage(findRecords(list, query), query);
  if (page.next !== null && query.next !== null && faults.strikes('cursor-loop')) {
    return { ...page, next: query.next };
  }
  return page.again !== null && faults.strikes('duplicate-pages') ? { ...page, next: page.again } : page;
}

function answerPage(page: Page<StoredRecord>, query: Query, requestId: RequestId): ServiceAnswer {
  return answerList(page, (record) => writeRecord(record, query), requestId);
}

function answerList<T>(
  { objects, prev, next, totalCount }: Page<T>,
  write: (object: T) => string,
  requestId: RequestId,
): ServiceAnswer {
  const tail = writeJson({ prev, next, total_count: totalCount }).slice(1);
  const list = `{"data":[${objects.map(write).join(',')}],${tail}`;
  return ok(requestId === null ? list : `{"data":${list},"request_id":${writeJson(requestId)}}`);
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

function answerError({ status, code, message }: RequestError, requestId: RequestId): ServiceAnswer {
  const error: JsonObject = { error: { code, message } };
  const body = requestId === null ? error : { data: null, ...error, request_id: requestId };
  const wait: Record<string, string> = status === 429 ? { 'retry-after': '1' } : {};
  return { status, headers: { ...JSON_TYPE, ...wait }, body: writeJson(body) };
}

function ok(body: string): ServiceAnswer {
  return { status: 200, headers: JSON_TYPE, body };
}

function answerCompanies(world: World, parameters: URLSearchParams, requestId: RequestId): ServiceAnswer {
  const query = parseQuery('companies', { fields: [], expand: [] }, parameters);
  const companies = world.connections
    .flatMap(({ v4 }) => v4)
    .sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
    .map((company, position): Company & Place => ({ ...company, position, updatedMs: 0 }));
  const page = readPage(companies, { ...query, returnCount: true });
  return answerList(page, (company) => writeJson(buildCompany(world, company)), requestId);
}

const ID_FIELDS = ['svc_id', 'svc_company_id', 'id'] as const;
const PLATFORMS = ['ledgerly', 'shopwise', 'crmaster', 'büroweb'] as const;

/** The specification does not define the fields. The id's depends on the seed; in the clean scenario it is `svc_id`. */
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

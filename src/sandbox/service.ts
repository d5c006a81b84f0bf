import { type Answer, answerError, answerList, answerPage, answerRecord, type RequestId } from './answers.js';
import { listCompanies } from './company-list.js';
import type { AttemptFaults } from './faults.js';
import { writeJson } from './json.js';
import { type List, listMember, listNothing, listTable } from './lists.js';
import { createMutator } from './mutations.js';
import type { OrderCache } from './orders.js';
import { type Page, readPage } from './pages.js';
import { parseQuery, type Query } from './query.js';
import { bendLimit, bendParameters, type Quirks } from './quirks.js';
import { writeRecord } from './records.js';
import { notFound, RequestError } from './request-error.js';
import { createRequestIds } from './request-ids.js';
import type { Route } from './routes.js';
import type { ModelShape } from './shapes/shape.js';
import type { Table } from './tables.js';
import type { World } from './world.js';

export interface ServiceOptions {
  readonly world: World;
  readonly apiKey: string;
  /** Share of V4's records that the backfill has loaded, from 0 to 1. */
  readonly loadedShare: () => number;
  /** Wall clock, for `mutate`. */
  readonly clock: () => number;
  readonly quirks: Quirks;
}

interface ServiceRequest {
  readonly method: string;
  readonly url: URL;
  /** Null where nothing is there. */
  readonly route: Route | null;
  readonly apiKey: string | readonly string[] | undefined;
  readonly faults: AttemptFaults;
}

export type Service = (request: ServiceRequest) => Answer;

/** The service without its transport: request → answer. */
export function createService(options: ServiceOptions): Service {
  const { world, apiKey } = options;
  const nextRequestId = createRequestIds(world.seed);
  const state: State = { ...options, cache: new Map(), expired: new Set(), mutate: createMutator(world) };
  return (request) => {
    const isV4 = request.url.pathname.startsWith('/v4');
    const requestId = isV4 ? nextRequestId(request.url.pathname + request.url.search) : null;
    try {
      if (request.apiKey !== apiKey) throw new RequestError(401, 'unauthorized', 'The api_key is not valid.');
      if (request.method !== 'GET') throw new RequestError(405, 'method_not_allowed', 'Only GET is allowed.');
      if (request.route === null) {
        if (options.quirks.anyModel && V4_LIST.test(request.url.pathname)) return answerNothing(requestId);
        throw notFound('such route');
      }
      return answerRoute(state, request.route, request, requestId);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return answerError(error.status, error.code, error.message, requestId);
    }
  };
}

const V4_LIST = /^\/v4\/core\/companies\/\d+\/[\w-]+$/;

function answerNothing(requestId: RequestId): Answer {
  return answerList([], { prev: null, next: null, totalCount: 0 }, requestId);
}

interface State extends ServiceOptions {
  readonly cache: OrderCache;
  /** Cursors that were refused once. */
  readonly expired: Set<string>;
  readonly mutate: ReturnType<typeof createMutator>;
}

function answerRoute(state: State, route: Route, request: ServiceRequest, requestId: RequestId): Answer {
  const { world, quirks } = state;
  const parameters = request.url.searchParams;
  switch (route.kind) {
    case 'v3_list': {
      if (quirks.absentV3.includes(route.shape.v3)) throw notFound(`model ${route.shape.v3}`);
      const query = readQuery(quirks, `${route.region} ${route.shape.v3}`, route.shape, parameters);
      const table = v3Table(world, route.region, route.shape);
      if (request.faults.strikes('mutate')) state.mutate(table, state.clock());
      const { list, rest } = chooseV3List(world, table, query);
      return answerPage(world, readFaultyPage(state, list, rest, request.faults), query, requestId, quirks);
    }
    case 'v4_companies': {
      const page = listCompanies(world, parameters);
      return answerList(page.companies.map(writeJson), page, requestId);
    }
    case 'v4_list': {
      const bent = bendParameters(quirks, parameters);
      const query = readQuery(quirks, `${route.companyId} ${route.shape.v4}`, route.shape, bent);
      const list = chooseV4List(world, route.shape, route.companyId, state.loadedShare());
      const counted = { ...query, returnCount: true };
      return answerPage(
        world,
        readFaultyPage(state, list, counted, request.faults),
        query,
        requestId,
        quirks,
      );
    }
    case 'v4_record': {
      const query = parseQuery('record', route.shape, bendParameters(quirks, parameters));
      const list = chooseV4List(world, route.shape, route.companyId, state.loadedShare());
      const ordinal = list.ordinalOf(route.svcId);
      if (ordinal === null) throw notFound(`${route.shape.v4} record ${route.svcId} in that company`);
      return answerRecord(writeRecord(world, list.at(ordinal), query), requestId);
    }
  }
}

function readQuery(quirks: Quirks, list: string, shape: ModelShape, parameters: URLSearchParams): Query {
  const query = parseQuery(list, shape, parameters);
  return { ...query, limit: bendLimit(quirks, query.limit) };
}

/** A page as the faults of paging leave it. */
function readFaultyPage(state: State, list: List, query: Query, faults: AttemptFaults): Page {
  const cursor = query.next ?? query.prev;
  if (cursor !== null && !state.expired.has(cursor) && faults.strikes('cursor-expiry')) {
    state.expired.add(cursor);
    throw new RequestError(410, 'cursor_expired', 'The cursor has expired.');
  }
  const page = readPage(state.world, list, query, state.cache);
  if (page.next !== null && query.next !== null && faults.strikes('cursor-loop')) {
    return { ...page, next: query.next };
  }
  return page.again !== null && faults.strikes('duplicate-pages') ? { ...page, next: page.again } : page;
}

function v3Table(world: World, region: string, shape: ModelShape): Table {
  const table = world.v3.get(region)?.get(shape.v3);
  if (table === undefined) throw notFound(`region ${region}`);
  return table;
}

/** A filter for one company reads that company's list instead of looking at all records. */
function chooseV3List(world: World, table: Table, query: Query): { list: List; rest: Query } {
  const wanted = query.filters.find(({ field, operator }) => field === 'svc_company_id' && operator === 'eq');
  if (wanted === undefined) return { list: listTable(world, table), rest: query };
  const member = table.members.find(({ company }) => company.id === wanted.operands[0]);
  const list = member === undefined ? listNothing(table) : listMember(world, table, member, 1);
  return { list, rest: { ...query, filters: query.filters.filter((filter) => filter !== wanted) } };
}

function chooseV4List(world: World, shape: ModelShape, companyId: bigint, share: number): List {
  const table = world.v4.get(shape.v4);
  const member = table?.members.find(({ company }) => company.id === companyId);
  if (table === undefined || member === undefined) throw notFound(`company ${companyId}`);
  if (world.isAbsent(member.company.connection, shape)) throw notFound(`data model ${shape.v4}`);
  return listMember(world, table, member, share);
}

import type { IncomingMessage } from 'node:http';
import {
  answerCompanies,
  answerError,
  answerList,
  answerPage,
  answerRecord,
  type RequestId,
  type ServiceAnswer,
} from './answers.js';
import { regionsOf } from './connections.js';
import type { AttemptFaults } from './faults.js';
import { writeJson } from './json.js';
import { notFound, parseQuery, type Query, RequestError } from './list-query.js';
import { MODELS, type ModelShape } from './models.js';
import { listNothing, listRecords, type Page, type RecordList, readPage } from './pages.js';
import { capLimit, dropIgnoredParameters, type Quirks } from './quirks.js';
import type { Table } from './record-tables.js';
import { createRequestCounter, hashOf, hexOf, mix, mixText } from './seeded-random.js';
import { writeRecord } from './stored-records.js';
import { createMutator, type World } from './world.js';

/** A parsed path of the service. */
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

/** The route of a path; null if the service has none. */
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
  readonly quirks: Quirks;
}

/** Answers one attempt of a request. */
export type Service = (request: IncomingMessage, url: URL, faults: AttemptFaults) => ServiceAnswer;

/** The service without its transport: request → answer. */
export function createService(options: ServiceOptions): Service {
  const { world, apiKey } = options;
  const regions = regionsOf(world.scenario);
  const countRequests = createRequestCounter();
  const state: State = { ...options, expired: new Set(), mutate: createMutator(world) };
  return ({ method, headers }, url, faults) => {
    const { pathname } = url;
    const hash = mixText(mix(0x1d, world.seed), pathname + url.search);
    // Depends on the address and the number of earlier requests to it, but not on other requests.
    const requestId = pathname.startsWith('/v4') ? `req_${hexOf(mix(hash, countRequests(hash)))}` : null;
    try {
      if (headers['api_key'] !== apiKey)
        throw new RequestError(401, 'unauthorized', 'The api_key is not valid.');
      if (method !== 'GET') throw new RequestError(405, 'method_not_allowed', 'Only GET is allowed.');
      const route = findRoute(pathname, regions);
      if (route === null) {
        const isEmptyList = options.quirks.anyModel && V4_LIST.test(pathname);
        if (!isEmptyList) throw notFound('such route');
        return answerList([], { prev: null, next: null, totalCount: 0 }, requestId);
      }
      return answerRoute(state, route, url.searchParams, faults, requestId);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return answerError(error.status, error.code, error.message, requestId);
    }
  };
}

const V4_LIST = /^\/v4\/core\/companies\/\d+\/[\w-]+$/;

interface State extends ServiceOptions {
  /** Cursors that were refused once. */
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
  const { world, quirks } = state;
  switch (route.kind) {
    case 'v3_list': {
      if (quirks.absentV3.includes(route.shape.v3)) throw notFound(`model ${route.shape.v3}`);
      const query = readQuery(quirks, `${route.region} ${route.shape.v3}`, route.shape, parameters);
      const table = world.v3.get(route.region)?.get(route.shape.v3);
      if (table === undefined) throw notFound(`region ${route.region}`);
      if (faults.strikes('mutate')) state.mutate(table, state.clock());
      const { list, rest } = chooseV3List(world, table, query);
      return answerPage(world, readFaultyPage(state, list, rest, faults), query, requestId, quirks);
    }
    case 'v4_companies':
      return answerCompanies(world, parameters, requestId);
    case 'v4_list': {
      const honoured = dropIgnoredParameters(quirks, parameters);
      const query = readQuery(quirks, `${route.companyId} ${route.shape.v4}`, route.shape, honoured);
      const list = chooseV4List(world, route.shape, route.companyId, state.loadedShare);
      const page = readFaultyPage(state, list, { ...query, returnCount: true }, faults);
      return answerPage(world, page, query, requestId, quirks);
    }
    case 'v4_record': {
      const query = parseQuery('record', route.shape, dropIgnoredParameters(quirks, parameters));
      const list = chooseV4List(world, route.shape, route.companyId, state.loadedShare);
      const ordinal = list.ordinalOf(route.svcId);
      if (ordinal === null) throw notFound(`${route.shape.v4} record ${route.svcId} in that company`);
      return answerRecord(writeRecord(world, list.at(ordinal), query), requestId);
    }
  }
}

function readQuery(quirks: Quirks, list: string, shape: ModelShape, parameters: URLSearchParams): Query {
  const query = parseQuery(list, shape, parameters);
  return { ...query, limit: capLimit(quirks, query.limit) };
}

/** Reads a page, with the faults of paging applied. */
function readFaultyPage(state: State, list: RecordList, query: Query, faults: AttemptFaults): Page {
  const cursor = query.next ?? query.prev;
  if (cursor !== null && !state.expired.has(cursor) && faults.strikes('cursor-expiry')) {
    state.expired.add(cursor);
    throw new RequestError(410, 'cursor_expired', 'The cursor has expired.');
  }
  const page = readPage(state.world, list, query);
  if (page.next !== null && query.next !== null && faults.strikes('cursor-loop')) {
    return { ...page, next: query.next };
  }
  return page.again !== null && faults.strikes('duplicate-pages') ? { ...page, next: page.again } : page;
}

/** For a filter on one company, reads that company's list instead of all records. */
function chooseV3List(world: World, table: Table, query: Query): { list: RecordList; rest: Query } {
  const wanted = query.filters.find(({ field, operator }) => field === 'svc_company_id' && operator === 'eq');
  if (wanted === undefined) return { list: listRecords(world, table), rest: query };
  const member = table.members.find(({ company }) => company.id === wanted.operands[0]);
  const list = member === undefined ? listNothing(table) : listRecords(world, table, member);
  return { list, rest: { ...query, filters: query.filters.filter((filter) => filter !== wanted) } };
}

function chooseV4List(
  world: World,
  shape: ModelShape,
  companyId: bigint,
  share: ServiceOptions['loadedShare'],
): RecordList {
  const table = world.v4.get(shape.v4);
  const member = table?.members.find(({ company }) => company.id === companyId);
  if (table === undefined || member === undefined) throw notFound(`company ${companyId}`);
  if (world.isAbsent(member.company.connection, shape)) throw notFound(`data model ${shape.v4}`);
  return listRecords(world, table, member, share(member.company.connection));
}

/** One webhook event that the service sent. */
export interface EventLogEntry {
  readonly type: string;
  /** Status of the listener's answer; null if there was none. */
  readonly status: number | null;
}

/** Runs work later; returns a function that cancels it. */
export type Schedule = (delayMs: number, work: () => void) => () => void;

export interface EventsOptions {
  readonly world: World;
  readonly url: string;
  readonly backfillMs: number;
  readonly now: () => number;
  readonly schedule: Schedule;
}

const STEPS = 4;

/**
 * Posts the backfill's events as JSON: SYNC_STARTED for each V4 company at once, DATA_MODEL_CHANGES for each of
 * its models in steps, SYNC_COMPLETED at the end. Deliveries that fail are logged, not repeated.
 */
export function startEvents(options: EventsOptions): { log: readonly EventLogEntry[]; stop: () => void } {
  const { world, backfillMs, schedule } = options;
  const log: EventLogEntry[] = [];
  const abort = new AbortController();
  let sent = 0;
  const send = (type: string, facts: Readonly<Record<string, bigint | string>>): void => {
    const event = {
      event_id: `evt_${hexOf(mix(hashOf(world.seed, 'event'), sent++))}`,
      type,
      occurred_at: new Date(options.now()).toISOString(),
      ...facts,
    };
    void deliver(options.url, writeJson(event), abort.signal).then((status) => log.push({ type, status }));
  };
  const companies = world.connections.filter(({ kind }) => kind !== 'inert').flatMap(({ v4 }) => v4);
  const sendAll = (type: string): void => {
    for (const { id } of companies) send(type, { svc_company_id: id });
  };
  const sendChanges = (): void => {
    for (const [name, { members }] of world.v4) {
      for (const { company, block } of members) {
        if (block.v4.count > 0) send('DATA_MODEL_CHANGES', { svc_company_id: company.id, data_model: name });
      }
    }
  };
  const cancels = [
    schedule(0, () => sendAll('SYNC_STARTED')),
    ...Array.from({ length: STEPS }, (_, step) => schedule((backfillMs * (step + 1)) / STEPS, sendChanges)),
    schedule(backfillMs, () => sendAll('SYNC_COMPLETED')),
  ];
  const stop = (): void => {
    for (const cancel of cancels) cancel();
    abort.abort();
  };
  return { log, stop };
}

async function deliver(url: string, body: string, signal: AbortSignal): Promise<number | null> {
  try {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return null;
  }
}

import type { IncomingMessage } from 'node:http';
import { fateAt, ORDINARY_FATE } from './fates.js';
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
import { Draw, happens, hashOf, mix, mixText } from './seeded-random.js';
import { addRecord, type Company, regionsOf, type StoredRecord, type Table, type World } from './world.js';

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

export type Service = (request: IncomingMessage, url: URL, strikes: Strikes) => ServiceAnswer;

interface State extends ServiceOptions {
  readonly expired: Set<string>;
  readonly mutate: ReturnType<typeof createMutator>;
}

/** The path of a region's V3: `/v3` if there is only one region, otherwise `/{region}/v3`. */
export function v3Prefix(region: string, regions: readonly string[]): string {
  return regions.length === 1 ? '/v3' : `/${region}/v3`;
}

/** Answers of V4 have an envelope with the id of the request. */
export function createService(options: ServiceOptions): Service {
  let requests = 0;
  const state: State = { ...options, expired: new Set(), mutate: createMutator(options.world) };
  return (request, url, strikes) => {
    requests += 1;
    const isV4 = url.pathname.startsWith('/v4');
    const id = `req_${requests}`;
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    try {
      assertAnswered(request, options.apiKey, strikes);
      const data = answerRoute(state, url, strikes);
      return { status: 200, headers, body: isV4 ? `{"data":${data},"request_id":"${id}"}` : data };
    } catch (thrown) {
      if (!(thrown instanceof RequestError)) throw thrown;
      const { status, code, message } = thrown;
      const error = { code, message };
      const body = JSON.stringify(isV4 ? { data: null, error, request_id: id } : { error });
      return { status, headers: status === 429 ? { ...headers, 'retry-after': '1' } : headers, body };
    }
  };
}

/** @throws RequestError if a fault strikes, or the request is refused */
function assertAnswered({ method, headers }: IncomingMessage, apiKey: string, strikes: Strikes): void {
  if (strikes('429')) throw new RequestError(429, 'too_many_requests', 'Too many requests.');
  if (strikes('500')) throw new RequestError(500, 'internal', 'Something broke.');
  if (headers['api_key'] !== apiKey) {
    throw new RequestError(401, 'unauthorized', 'The api_key is not valid.');
  }
  if (method !== 'GET') throw new RequestError(405, 'method_not_allowed', 'Only GET is allowed.');
}

/** The JSON of a list or a record. */
function answerRoute(state: State, { pathname, searchParams }: URL, strikes: Strikes): string {
  const regions = regionsOf(state.world.scenario);
  for (const region of regions) {
    const prefix = `${v3Prefix(region, regions)}/`;
    if (!pathname.startsWith(prefix)) continue;
    const shape = shapeOf('v3', pathname.slice(prefix.length));
    const query = parseQuery(`${region} ${shape.v3}`, shape, searchParams);
    const table = state.world.v3.get(region)?.get(shape.v3);
    if (table === undefined) throw notFound(`region ${region}`);
    if (strikes('mutate')) state.mutate(table, state.clock());
    return writePage(state, table.records, query, strikes);
  }
  if (pathname === '/v4/core/companies') return writeCompanies(state.world, searchParams);
  const [, company, model, svcId] =
    /^\/v4\/core\/companies\/(\d{1,19})\/(\w+)(?:\/(\d{1,19}))?$/.exec(pathname) ?? [];
  if (company === undefined || model === undefined) throw notFound('such route');
  const shape = shapeOf('v4', model);
  const list = findV4List(state, shape, BigInt(company));
  const query = parseQuery(`${company} ${model}`, shape, searchParams);
  if (svcId === undefined) return writePage(state, list, { ...query, returnCount: true }, strikes);
  const record = list.find((stored) => stored.svcId === BigInt(svcId));
  if (record === undefined) throw notFound(`${model} record ${svcId} in that company`);
  return writeRecord(record, query);
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

function writePage(state: State, list: Records, query: Query, strikes: Strikes): string {
  const cursor = query.next ?? query.prev;
  if (cursor !== null && !state.expired.has(cursor) && strikes('cursor-expiry')) {
    state.expired.add(cursor);
    throw new RequestError(410, 'cursor_expired', 'The cursor has expired.');
  }
  const page = readPage(findRecords(list, query), query);
  const isLoop = page.next !== null && query.next !== null && strikes('cursor-loop');
  const isAgain = !isLoop && page.again !== null && strikes('duplicate-pages');
  const next = isLoop ? query.next : isAgain ? page.again : page.next;
  return writeList({ ...page, next }, (record) => writeRecord(record, query));
}

function writeList<T>({ objects, prev, next, totalCount }: Page<T>, write: (object: T) => string): string {
  const tail = writeJson({ prev, next, total_count: totalCount }).slice(1);
  return `{"data":[${objects.map(write).join(',')}],${tail}`;
}

function writeCompanies(world: World, parameters: URLSearchParams): string {
  const query = parseQuery('companies', { fields: [], expand: [] }, parameters);
  const companies = world.connections
    .flatMap(({ v4 }) => v4)
    .sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
    .map((company, position): Company & Place => ({ ...company, position, updatedMs: 0 }));
  const page = readPage(companies, { ...query, returnCount: true });
  return writeList(page, (company) => writeJson(buildCompany(world, company)));
}

const ID_FIELDS = ['svc_id', 'svc_company_id', 'id'] as const;

/** The specification does not define the fields. The id's depends on the seed; in the clean scenario it is `svc_id`. */
function buildCompany({ seed, scenario }: World, { id, connection }: Company): JsonObject {
  const field = scenario === 'clean' ? 0 : hashOf(seed, 'company id field') % ID_FIELDS.length;
  return {
    [ID_FIELDS[field] ?? 'svc_id']: id,
    name: drawName(new Draw(hashOf(seed, 'company', connection))),
  };
}

/**
 * Faults to inject. `429` (with Retry-After), `500`, `reset`, `truncate` and `hang` affect one attempt; `cursor-expiry`
 * refuses a cursor once; `cursor-loop` returns the cursor of the same page again; `duplicate-pages` sends a page twice;
 * `mutate` changes V3 while it is being read.
 */
export const FAULTS = [
  '429',
  '500',
  'reset',
  'truncate',
  'hang',
  'cursor-expiry',
  'cursor-loop',
  'duplicate-pages',
  'mutate',
] as const;
type FaultName = (typeof FAULTS)[number];

export interface FaultSetting {
  readonly name: FaultName;
  readonly rate: number;
}

export function parseFault(text: string): FaultSetting | null {
  const [, word, rateText = '0.05'] = /^([\w-]+)(?::([\d.]+))?$/.exec(text) ?? [];
  const name = FAULTS.find((known) => known === word);
  const rate = Number(rateText);
  return name === undefined || !(rate <= 1) ? null : { name, rate };
}

/** Whether a fault strikes the attempt. */
export type Strikes = (name: FaultName) => boolean;

/**
 * Decides at random from the seed, the address and the number of earlier requests to it, so that a retry may have
 * another result and the order of different requests does not matter.
 */
export function createFaults(seed: number, settings: readonly FaultSetting[]): (address: string) => Strikes {
  const rates = new Map(settings.map(({ name, rate }) => [name, rate]));
  const requests = new Map<string, number>();
  return (address) => {
    const earlier = requests.get(address) ?? 0;
    requests.set(address, earlier + 1);
    const attemptHash = mix(mixText(hashOf(seed, 'fault'), address), earlier);
    return (name) => happens(mixText(attemptHash, name), rates.get(name) ?? 0);
  };
}

/**
 * Makes the function that changes V3 while it is being read. Each call adds, updates or deletes a record of the table at
 * the time `now`, or does nothing; updates and deletions end once the table has 40 changes, or a quarter as many as
 * records. Only ordinary pairs are updated or deleted, so that what is expected of all others stays valid.
 */
function createMutator(world: World): (table: Table, now: number) => void {
  const draws = new Map<Table, Draw>();
  return (table, now) => {
    const draw = draws.get(table) ?? new Draw(hashOf(world.seed, 'mutate', table.hash));
    draws.set(table, draw);
    const [late] = table.arriving;
    const dates = { createdMs: now, updatedMs: now };
    if (draw.chance(0.3) && late !== undefined) {
      table.arriving.shift();
      late.change = { dates, deleted: false };
      addRecord(late);
    } else if (countChanges(table) < Math.min(40, table.present / 4)) {
      const record = findOrdinary(world, table, draw);
      if (record === null) return;
      record.change = { dates: { ...record.dates, updatedMs: now }, deleted: draw.chance(0.4) };
    }
  };
}

function countChanges({ records }: Table): number {
  return records.reduce((sum, { change }) => (change === null ? sum : sum + 1), 0);
}

function findOrdinary(world: World, { records }: Table, draw: Draw): StoredRecord | null {
  for (let attempt = 0; attempt < 8; attempt++) {
    const record = records[draw.below(records.length)];
    if (record === undefined) return null;
    const { block, company } = record.member;
    const isPaired =
      world.connections[company.connection]?.kind === 'normal' && block.generations.includes('v4');
    if (isPaired && record.fate === fateAt(ORDINARY_FATE) && record.change === null) return record;
  }
  return null;
}

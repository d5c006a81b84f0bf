import { setMaxListeners } from 'node:events';
import { Agent, type Dispatcher } from 'undici';
import type { Config, Endpoint } from '../config/config.js';
import type { ModelPair, OnProgress, ParsedPage, ParsedRecord, StreamKey } from '../domain.js';
import { SvcError } from '../errors.js';
import type { V4Company } from './company-page.js';
import type { Where } from './failures.js';
import { assertAddress, type Host } from './host.js';
import { HostLimiter, type LimiterOptions } from './limiter.js';
import { type PageParser, pageParser } from './page.js';
import { type ApiQuery, buildUrl } from './query.js';
import type { PageSpec } from './record-layout.js';
import { type RequestOptions, requestParsed } from './request.js';
import { scrubber } from './scrub.js';
import { parseSingleRecord } from './single-record.js';
import { type Clock, type Sleep, sleepForReal, steadyClock } from './sleep.js';
import { buildV3List } from './v3.js';
import { buildV4List, buildV4Record } from './v4.js';
import { fetchV4Companies } from './v4-companies.js';
import { buildWordedList, type WordedRequest } from './worded-list.js';

/** One page of a list. */
export interface ListRequest {
  readonly stream: StreamKey;
  readonly pair: ModelPair;
  /** The `next` of the page before, or null for the first. */
  readonly cursor: string | null;
  /** V3: only records with `<prefix>updated_at` at or after it, an ISO 8601 instant. */
  readonly updatedSince: string | null;
}

/** One V4 record by its id. */
export interface RecordRequest {
  readonly pair: ModelPair;
  readonly companyId: bigint;
  readonly svcId: bigint;
}

/** The API keys, read where the configuration says. */
export interface Keys {
  /** By region. */
  readonly v3: ReadonlyMap<string, string>;
  readonly v4: string;
}

export interface ApiOptions {
  readonly config: Config;
  readonly keys: Keys;
  readonly onProgress: OnProgress;
  /** Ends every request and wait; its reason is thrown. */
  readonly signal: AbortSignal;
  /** Instead of an own Agent; not closed by `close`. */
  readonly dispatcher?: Dispatcher;
  readonly clock?: Clock;
  readonly sleep?: Sleep;
  readonly random?: () => number;
}

/** What one endpoint has been asked so far. */
export interface EndpointState {
  readonly generation: 'v3' | 'v4';
  readonly region: string;
  readonly host: string;
  readonly requests: number;
  readonly retries: number;
  /** The server's clock minus ours at its last answer, to the second; null where it never told. */
  readonly clockOffsetMs: number | null;
}

/** Both generations of the service. Every method throws SvcErrors that know route, status and request_id. */
export interface Api {
  /** One page of a list, checked. A status the caller may make sense of (404) is `http_status` with `facts.status`. */
  fetchPage(request: ListRequest): Promise<ParsedPage>;
  /** The same with parameters of the caller's own, for narrow reads and probes. */
  fetchWorded(request: WordedRequest): Promise<ParsedPage>;
  /** Every company of V4, each once; those of `v4.companies` without asking where that is set. */
  fetchV4Companies(): Promise<readonly V4Company[]>;
  /** One V4 record, or null where there is none (404). */
  fetchRecord(request: RecordRequest): Promise<ParsedRecord | null>;
  endpoints(): readonly EndpointState[];
  close(): Promise<void>;
}

interface Hosts {
  readonly v3: ReadonlyMap<string, Host>;
  readonly v4: Host;
}

/**
 * The client of both generations. Opens no connection yet.
 *
 * @throws SvcError `config` for an address or key that must not be used
 */
export function createApi(options: ApiOptions): Api {
  const { config } = options;
  // every request under way and every wait listens to it
  setMaxListeners(0, options.signal);
  const dispatcher = options.dispatcher ?? createAgent(config);
  const settings = buildRequestOptions(options, dispatcher);
  const hosts = buildHosts(options, settings);
  const readList = createListReader(config, hosts, settings);
  return {
    fetchPage: (request) => readList(request, (host) => buildListQuery(request, host, config)),
    fetchWorded: (request) => readList(request, () => buildWordedList(request)),
    fetchV4Companies: () => fetchV4Companies(config, hosts.v4, settings),
    fetchRecord: (request) => fetchRecord(request, config, hosts.v4, settings),
    endpoints: () => [...[...hosts.v3.values()].map((host) => stateOf('v3', host)), stateOf('v4', hosts.v4)],
    close: () => (options.dispatcher === undefined ? dispatcher.destroy() : Promise.resolve()),
  };
}

/** The total deadline bounds every request; undici's own timers would only add coarser ones. */
function createAgent(config: Config): Agent {
  const endpoints = [...config.v3.regions, config.v4];
  return new Agent({
    pipelining: 1,
    connections: Math.max(...endpoints.map((endpoint) => endpoint.concurrency)),
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: config.http.timeoutMs },
  });
}

function buildRequestOptions(options: ApiOptions, dispatcher: Dispatcher): RequestOptions {
  const { http } = options.config;
  return {
    transport: {
      dispatcher,
      timeoutMs: http.timeoutMs,
      maxBodyBytes: http.maxBodyBytes,
      signal: options.signal,
    },
    attempts: http.attempts,
    maxWaitMs: http.maxWaitMs,
    clock: options.clock ?? steadyClock,
    sleep: options.sleep ?? sleepForReal,
    random: options.random ?? Math.random,
    onProgress: options.onProgress,
    scrub: scrubber([...options.keys.v3.values(), options.keys.v4]),
  };
}

function buildHosts({ config, keys, signal }: ApiOptions, settings: RequestOptions): Hosts {
  const endpoints = [...config.v3.regions, config.v4];
  const limiters = new Map<string, HostLimiter>();
  const build = (label: string, endpoint: Endpoint, key: string): Host => {
    assertAddress(label, endpoint, config.http.allowHttp);
    const host = hostOf(endpoint);
    const limiter = limiters.get(host) ?? new HostLimiter(limitsOf(host, endpoints, settings, signal));
    limiters.set(host, limiter);
    return { label, endpoint, key, limiter, tally: { requests: 0, retries: 0, clockOffsetMs: null } };
  };
  const { regions } = config.v3;
  const v3Label = (region: string): string => (regions.length > 1 ? `V3 ${region}` : 'V3');
  return {
    v3: new Map(
      regions.map((endpoint) => [
        endpoint.region,
        build(v3Label(endpoint.region), endpoint, keys.v3.get(endpoint.region) ?? ''),
      ]),
    ),
    v4: build('V4', config.v4, keys.v4),
  };
}

/** Endpoints on one host share its limiter, and of their limits the lower ones. */
function limitsOf(
  host: string,
  endpoints: readonly Endpoint[],
  settings: RequestOptions,
  signal: AbortSignal,
): LimiterOptions {
  const here = endpoints.filter((endpoint) => hostOf(endpoint) === host);
  return {
    host,
    concurrency: Math.min(...here.map((endpoint) => endpoint.concurrency)),
    requestsPerSecond: Math.min(...here.map((endpoint) => endpoint.requestsPerSecond)),
    attempts: settings.attempts,
    maxWaitMs: settings.maxWaitMs,
    clock: settings.clock,
    sleep: settings.sleep,
    signal,
  };
}

function hostOf(endpoint: Endpoint): string {
  return URL.canParse(endpoint.baseUrl) ? new URL(endpoint.baseUrl).host : endpoint.baseUrl;
}

type ListReader = (
  list: Pick<ListRequest, 'stream' | 'pair'>,
  buildQuery: (host: Host) => ApiQuery,
) => Promise<ParsedPage>;

function createListReader(config: Config, hosts: Hosts, settings: RequestOptions): ListReader {
  const parsers = new Map<string, PageParser>();
  return ({ stream, pair }, buildQuery) => {
    const host = stream.generation === 'v3' ? hosts.v3.get(stream.region) : hosts.v4;
    if (host === undefined) throw new TypeError(`no region ${stream.region}`);
    const name = JSON.stringify([stream.generation, pair.v3, String(stream.companyId)]);
    const parser = parsers.get(name) ?? pageParser(specOf(config, stream.generation, pair, stream.companyId));
    parsers.set(name, parser);
    const where = whereOf(host, buildQuery(host), pair.v3, stream.companyId);
    return requestParsed(where, parser, settings);
  };
}

function buildListQuery(request: ListRequest, host: Host, config: Config): ApiQuery {
  const { pageSize } = host.endpoint;
  return request.stream.generation === 'v3'
    ? buildV3List(request, pageSize, config.fieldPrefix)
    : buildV4List(request, pageSize, config.v4.includeDeleted !== false);
}

function specOf(
  config: Config,
  generation: PageSpec['generation'],
  pair: ModelPair,
  companyId: bigint | null,
): PageSpec {
  const { dateFields } = config.backfill;
  return { generation, fieldPrefix: config.fieldPrefix, children: pair.children, dateFields, companyId };
}

function whereOf(host: Host, query: ApiQuery, model: string | null, companyId: bigint | null): Where {
  return { host, url: buildUrl(host.endpoint.baseUrl, query), model, companyId };
}

async function fetchRecord(
  request: RecordRequest,
  config: Config,
  host: Host,
  settings: RequestOptions,
): Promise<ParsedRecord | null> {
  const { pair, companyId, svcId } = request;
  if (pair.v4 === null) return null;
  const query = buildV4Record(pair.v4, companyId, svcId, pair.expand);
  const spec = specOf(config, 'v4', pair, companyId);
  try {
    return await requestParsed(
      whereOf(host, query, pair.v3, companyId),
      (body) => parseSingleRecord(body, spec, svcId),
      settings,
    );
  } catch (error) {
    if (error instanceof SvcError && error.code === 'http_status' && error.facts['status'] === 404)
      return null;
    throw error;
  }
}

function stateOf(generation: EndpointState['generation'], host: Host): EndpointState {
  return { generation, region: host.endpoint.region, host: hostOf(host.endpoint), ...host.tally };
}

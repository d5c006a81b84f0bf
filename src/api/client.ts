import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import type { Config } from '../config/config.js';
import type { ListPage, ModelPair, OnProgress, ParsedPage, ParsedRecord, StreamKey } from '../domain.js';
import { recordsOf } from '../json/record-columns.js';
import { askingDeleted } from './ask-deleted.js';
import { createDispatcher } from './dispatcher.js';
import type { Host } from './host.js';
import { HostLimits } from './host-limits.js';
import { assertAddresses, buildHosts, hostOf } from './hosts.js';
import type { Env } from './proxy.js';
import { buildListQuery, createListReader, fetchRecord } from './read-lists.js';
import type { RequestOptions } from './request.js';
import { scrubber } from './scrub.js';
import { type Clock, type Sleep, sleepForReal, steadyClock } from './sleep.js';
import { type CompanyListing, fetchV4Companies } from './v4-companies.js';
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
  /** Other keys that no message may show: those that this client does not send. */
  readonly secrets?: readonly string[];
  /** Names proxies. */
  readonly env?: Env;
  readonly onProgress: OnProgress;
  /** Ends every request and wait; its reason is thrown. */
  readonly signal: AbortSignal;
  /** Instead of an own Agent; not closed by `close`. */
  readonly dispatcher?: Dispatcher;
  readonly clock?: Clock;
  readonly sleep?: Sleep;
  readonly random?: () => number;
  /** Those of the process; without them the client has limits of its own. */
  readonly hostLimits?: HostLimits;
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
  /** Name and port of the proxy it is asked through. */
  readonly proxy: string | null;
}

/** Both generations of the service. Every method throws SvcErrors that know route, status and request_id. */
export interface Api {
  /** One page of a list, checked. A status the caller may make sense of (404) is `http_status` with `facts.status`. */
  fetchPage(request: ListRequest): Promise<ListPage>;
  /** The same with parameters of the caller's own, for narrow reads and probes. */
  fetchWorded(request: WordedRequest): Promise<ParsedPage>;
  /** Every company of V4, each once; those of `v4.companies` without asking where that is set. */
  fetchV4Companies(): Promise<CompanyListing>;
  /** One V4 record, or null where there is none (404). */
  fetchRecord(request: RecordRequest): Promise<ParsedRecord | null>;
  endpoints(): readonly EndpointState[];
  close(): Promise<void>;
}

/**
 * The client of both generations. Opens no connection yet.
 *
 * @throws SvcError `config` for an address or key that must not be used
 */
export function createApi(options: ApiOptions): Api {
  const { config, env = {} } = options;
  // every request under way and every wait listens to it
  setMaxListeners(0, options.signal);
  assertAddresses(config, env);
  const dispatcher = options.dispatcher ?? createDispatcher(config, env);
  const settings = buildRequestOptions(options, dispatcher);
  const hosts = buildHosts(config, options.keys, settings, {
    limits: options.hostLimits ?? new HostLimits(),
    env,
  });
  const readList = createListReader(config, hosts, settings);
  const readPage = (request: ListRequest, asksDeleted: boolean) =>
    readList(request, (host) => buildListQuery(request, host, config, asksDeleted));
  return {
    fetchPage: askingDeleted(config, readPage, options.onProgress),
    fetchWorded: async (request) => {
      const { columns, servedMs: _, ...page } = await readList(request, () => buildWordedList(request));
      return { ...page, records: recordsOf(columns) };
    },
    fetchV4Companies: () => fetchV4Companies(config, hosts.v4, settings),
    fetchRecord: (request) => fetchRecord(request, config, hosts.v4, settings),
    endpoints: () => [...[...hosts.v3.values()].map((host) => stateOf('v3', host)), stateOf('v4', hosts.v4)],
    close: () => (options.dispatcher === undefined ? dispatcher.destroy() : Promise.resolve()),
  };
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
    scrub: scrubber([...options.keys.v3.values(), options.keys.v4, ...(options.secrets ?? [])]),
  };
}

function stateOf(generation: EndpointState['generation'], host: Host): EndpointState {
  return {
    generation,
    region: host.endpoint.region,
    host: hostOf(host.endpoint),
    proxy: host.proxy,
    ...host.tally,
  };
}

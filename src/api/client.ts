import { setMaxListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Dispatcher } from 'undici';
import type { ApiKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import {
  type Clock,
  type Env,
  type Generation,
  type ListPage,
  type ModelPair,
  type OnProgress,
  type ParsedPage,
  type ParsedRecord,
  REFUSED_STATUSES,
} from '../domain.js';
import { SvcError } from '../errors.js';
import { recordsOf } from '../json/record-columns.js';
import { type CompanyListing, fetchV4Companies } from './company-list.js';
import { type PausingPageParser, parseSingleRecord, pausingPageParser } from './envelope.js';
import { scrubber } from './failures.js';
import { assertNoProxy, buildHosts, createDispatcher, type Host, hostOf } from './hosts.js';
import { HostLimits, type Sleep, sleepForReal, steadyClock } from './limiter.js';
import {
  type ApiQuery,
  buildRawList,
  buildUrl,
  buildV3List,
  buildV4List,
  buildV4Record,
  type ListRequest,
  type RawListRequest,
  type RecordRequest,
} from './queries.js';
import type { ListSpec } from './record.js';
import { type RequestOptions, requestParsed } from './request.js';

export interface ApiOptions {
  readonly config: Config;
  readonly keys: ApiKeys;
  /** Other keys to remove from messages, which this client does not send. */
  readonly secrets?: readonly string[];
  /** Environment variables, for proxies. */
  readonly env?: Env;
  readonly onProgress: OnProgress;
  /** Aborts every request and wait; its reason is thrown. */
  readonly signal: AbortSignal;
  /** Used instead of a new dispatcher; not closed by `close`. */
  readonly dispatcher?: Dispatcher;
  readonly clock?: Clock;
  readonly sleep?: Sleep;
  readonly random?: () => number;
  /** The limits of the process; by default, the client has its own. */
  readonly hostLimits?: HostLimits;
}

/** Statistics of an endpoint so far. */
export interface EndpointState extends Readonly<Host['tally']>, Pick<Host, 'proxy'> {
  readonly generation: Generation;
  readonly region: string;
  readonly host: string;
}

/** Both generations of the service. Every method throws SvcErrors with the route, status and request_id. */
export interface Api {
  /** One page of a list, validated. For a status such as 404, it throws `http_status` with `facts.status`. */
  fetchPage(request: ListRequest): Promise<ListPage>;
  /** One page of a list with the caller's own parameters, for filtered reads and probes. */
  fetchRawList(request: RawListRequest): Promise<ParsedPage>;
  /** Every company of V4, once; if `v4.companies` is set, these without a request. */
  fetchV4Companies(): Promise<CompanyListing>;
  /** One V4 record, or null if there is none (404). */
  fetchRecord(request: RecordRequest): Promise<ParsedRecord | null>;
  endpoints(): readonly EndpointState[];
  close(): Promise<void>;
}

/**
 * Creates the client of both generations. Opens no connection yet.
 *
 * @throws SvcError `config` for an address that must not be used
 */
export function createApi(options: ApiOptions): Api {
  const { config, env = {} } = options;
  // every pending request and wait adds a listener
  setMaxListeners(0, options.signal);
  assertNoProxy(config, env);
  const dispatcher = options.dispatcher ?? createDispatcher(config, env);
  const settings = buildRequestOptions(options, dispatcher);
  const limits = options.hostLimits ?? new HostLimits();
  const hosts = buildHosts(config, options.keys, settings, { limits, env });
  const hostFor = ({ generation, region }: ListRequest['stream']): Host => {
    const host = generation === 'v3' ? hosts.v3.get(region) : hosts.v4;
    if (host === undefined) throw new TypeError(`no region ${region}`);
    return host;
  };
  const fetchList = createListFetcher(config, settings);
  const fetchPage = (request: ListRequest, asksDeleted: boolean) => {
    const host = hostFor(request.stream);
    const { pageSize } = host.endpoint;
    const { path, parameters } =
      request.stream.generation === 'v3'
        ? buildV3List(request, pageSize, config.fieldPrefix)
        : buildV4List(request, pageSize, asksDeleted);
    return fetchList(request, host, { path, parameters });
  };
  return {
    fetchPage: withDeletedFallback(config, fetchPage, options.onProgress),
    fetchRawList: async (request) => {
      const {
        columns,
        servedMs: _,
        ...page
      } = await fetchList(request, hostFor(request.stream), buildRawList(request));
      return { ...page, records: recordsOf(columns) };
    },
    fetchV4Companies: () => fetchV4Companies(config, hosts.v4, settings),
    fetchRecord: (request) => fetchRecord(request, config, hosts.v4, settings),
    endpoints: () => [...hosts.v3.values(), hosts.v4].map(stateOf),
    close: () => (options.dispatcher === undefined ? dispatcher.destroy() : Promise.resolve()),
  };
}

function buildRequestOptions(options: ApiOptions, dispatcher: Dispatcher): RequestOptions {
  const { timeoutMs, maxBodyBytes, attempts, maxWaitMs } = options.config.http;
  return {
    transport: { dispatcher, timeoutMs, maxBodyBytes, signal: options.signal },
    attempts,
    maxWaitMs,
    clock: options.clock ?? steadyClock,
    sleep: options.sleep ?? sleepForReal,
    random: options.random ?? Math.random,
    onProgress: options.onProgress,
    scrub: scrubber([...options.keys.v3.values(), options.keys.v4, ...(options.secrets ?? [])]),
  };
}

function stateOf(host: Host): EndpointState {
  const { region } = host.endpoint;
  return {
    generation: host.generation,
    region,
    host: hostOf(host.endpoint),
    proxy: host.proxy,
    ...host.tally,
  };
}

type FetchList = (
  list: Pick<ListRequest, 'stream' | 'pair'>,
  host: Host,
  query: ApiQuery,
) => Promise<ListPage>;

/** Keeps one parser for all lists of a model, because there can be many companies. */
function createListFetcher(config: Config, settings: RequestOptions): FetchList {
  const parsers = new Map<string, PausingPageParser>();
  const { signal } = settings.transport;
  // one large page at a time, because a page that is being read takes memory
  const inTurn = pLimit(1);
  const pause = async (): Promise<void> => {
    await setImmediate();
    signal.throwIfAborted();
  };
  return async ({ stream, pair }, host, query) => {
    const name = `${stream.generation} ${pair.v3}`;
    const parser = parsers.get(name) ?? pausingPageParser(specOf(config, stream.generation, pair), pause);
    parsers.set(name, parser);
    const url = buildUrl(host.endpoint.baseUrl, query);
    const target = { host, url, model: pair.v3, companyId: stream.companyId };
    const limit = Number(url.searchParams.get('limit') ?? host.endpoint.pageSize);
    return requestParsed(
      target,
      async (body, servedMs) => ({
        ...(await inTurn(parser, body, stream.companyId, limit)),
        servedMs,
      }),
      settings,
    );
  };
}

async function fetchRecord(
  request: RecordRequest,
  config: Config,
  host: Host,
  settings: RequestOptions,
): Promise<ParsedRecord | null> {
  const { pair, companyId, svcId } = request;
  if (pair.v4 === null) return null;
  const url = buildUrl(host.endpoint.baseUrl, buildV4Record(request));
  const spec = { ...specOf(config, 'v4', pair), companyId };
  try {
    return await requestParsed(
      { host, url, model: pair.v3, companyId },
      (body) => parseSingleRecord(body, spec, svcId),
      settings,
    );
  } catch (error) {
    if (error instanceof SvcError && error.code === 'http_status' && error.facts['status'] === 404)
      return null;
    throw error;
  }
}

function specOf(config: Config, generation: ListSpec['generation'], pair: ModelPair): ListSpec {
  const { fieldPrefix, payload } = config;
  return {
    generation,
    fieldPrefix,
    children: pair.children,
    dateFields: config.backfill.dateFields,
    payload,
  };
}

const DELETED_REFUSED =
  'V4 refuses include_deleted_records, so it is read without deleted records: what was deleted in V4 counts as missing.';

/**
 * It is not specified whether V4 accepts `include_deleted_records`. With `auto`, it is sent until V4 refuses a list in an
 * answer that names the parameter, and the same request without it succeeds; this is reported as a warning. Any other
 * refusal is an error, because a wrong guess would hide deleted records.
 */
function withDeletedFallback(
  config: Config,
  fetchPage: (request: ListRequest, asksDeleted: boolean) => Promise<ListPage>,
  onProgress: OnProgress,
): Api['fetchPage'] {
  const { includeDeleted } = config.v4;
  let asks = includeDeleted !== false;
  return async (request) => {
    const asked = asks;
    try {
      return await fetchPage(request, asked);
    } catch (error) {
      if (includeDeleted !== 'auto' || !asked || !isDeletedRefused(request, error)) throw error;
      const page = await fetchPage(request, false);
      if (asks) onProgress({ kind: 'note', level: 'warning', text: DELETED_REFUSED });
      asks = false;
      return page;
    }
  };
}

/** Only for a first page: on later pages, the cursor may be the reason. */
function isDeletedRefused({ stream, cursor }: ListRequest, error: unknown): boolean {
  const isFirst = stream.generation === 'v4' && cursor === null;
  if (!isFirst || !(error instanceof SvcError) || !REFUSED_STATUSES.includes(error.facts['status']))
    return false;
  return String(error.facts['answer']).includes('include_deleted');
}

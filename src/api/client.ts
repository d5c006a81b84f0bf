import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import type { ApiKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import {
  type Clock,
  type Generation,
  type ListPage,
  type ModelPair,
  type OnProgress,
  REFUSED_STATUSES,
  type StreamKey,
} from '../domain.js';
import { isNotFound, SvcError } from '../errors.js';
import { must } from '../text/at.js';
import { assertParsable, packBody, textOf } from './body.js';
import { parseCompanyPage } from './company-list.js';
import { buildHosts, createDispatcher, type Host, hostOf } from './hosts.js';
import { type Sleep, sleepForReal, steadyClock } from './limiter.js';
import { type ParsePage, pageFormat, pageParser } from './pages.js';
import {
  type ApiQuery,
  buildList,
  buildRawList,
  buildUrl,
  buildV4Record,
  type ListRequest,
  type RawListRequest,
  type RecordRequest,
} from './queries.js';
import { type RequestOptions, requestParsed } from './retry.js';
import { scrubber } from './scrub.js';
import { type FetchedRecord, recordParser } from './single-record.js';

export interface ApiOptions {
  readonly config: Config;
  readonly keys: ApiKeys;
  readonly secrets?: readonly string[];
  readonly onProgress: OnProgress;
  readonly signal: AbortSignal;
  /** Used instead of a new dispatcher; not closed by `close`. */
  readonly dispatcher?: Dispatcher;
  readonly clock?: Clock;
  readonly sleep?: Sleep;
  readonly random?: () => number;
}

export interface EndpointState {
  readonly generation: Generation;
  readonly region: string;
  readonly host: string;
  readonly requests: number;
  readonly retries: number;
  /** The service's clock minus ours at its last response with a `Date` header; null before. */
  readonly clockOffsetMs: number | null;
}

export interface Api {
  /** One page of a list, validated. For a status such as 404, it throws `http_status` with `facts.status`. */
  fetchPage(request: ListRequest): Promise<ListPage>;
  /** One page of a list with the caller's own parameters, for filtered reads and probes. */
  fetchRawList(request: RawListRequest): Promise<ListPage>;
  /** One V4 record, or null if there is none (404). */
  fetchRecord(request: RecordRequest): Promise<FetchedRecord | null>;
  endpoints(): readonly EndpointState[];
  close(): Promise<void>;
}

/**
 * Creates the client of both generations. Opens no connection yet. All lists and phases of a process use one client, so
 * that the limits of a host hold for all of them.
 *
 * @throws SvcError `config` if HTTPS_PROXY is not usable
 */
export function createApi(options: ApiOptions): Api {
  const { config } = options;
  setMaxListeners(0, options.signal);
  const dispatcher = options.dispatcher ?? createDispatcher(config);
  const settings = buildRequestOptions(options, dispatcher);
  const hosts = buildHosts(config, options.keys, settings);
  const hostFor = ({ generation, region }: StreamKey): Host =>
    must(generation === 'v3' ? hosts.v3.get(region) : hosts.v4, `host of region ${region}`);
  const fetchList = createListFetcher(config, settings);
  const fetchPage = (request: ListRequest, asksDeleted: boolean): Promise<ListPage> => {
    const host = hostFor(request.stream);
    return fetchList(
      request,
      host,
      buildList(request, host.endpoint.pageSize, config.fieldPrefix, asksDeleted),
    );
  };
  return {
    fetchPage: withDeletedFallback(config, fetchPage, options.onProgress),
    fetchRawList: (request) => fetchList(request, hostFor(request.stream), buildRawList(request)),
    fetchRecord: (request) => fetchRecord(request, config, hosts.v4, settings),
    endpoints: () => [...hosts.v3.values(), hosts.v4].map(stateOf),
    close: async () => {
      if (options.dispatcher === undefined) await dispatcher.destroy();
    },
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

function stateOf({ generation, endpoint, tally }: Host): EndpointState {
  return { generation, region: endpoint.region, host: hostOf(endpoint), ...tally };
}

type FetchList = (
  list: Pick<ListRequest, 'stream' | 'pair'>,
  host: Host,
  query: ApiQuery,
) => Promise<ListPage>;

function createListFetcher(config: Config, settings: RequestOptions): FetchList {
  const parsers = new Map<string, ParsePage>();
  const parserOf = ({ generation }: StreamKey, pair: ModelPair | null): ParsePage => {
    if (pair === null) return (text) => parseCompanyPage(text, { ...config, ...config.v4 });
    const name = `${generation} ${pair.v3}`;
    const parser = parsers.get(name) ?? pageParser(pageFormat(config, generation, pair));
    parsers.set(name, parser);
    return parser;
  };
  return ({ stream, pair }, host, query) => {
    const parse = parserOf(stream, pair);
    const url = buildUrl(host.endpoint.baseUrl, query);
    const target = { host, url, model: pair?.v3 ?? null, companyId: stream.companyId };
    return requestParsed(
      target,
      ({ decoded, sent, encoding }, servedMs) => {
        assertParsable(decoded, settings.transport.maxBodyBytes);
        return { ...parse(textOf(decoded), stream.companyId), servedMs, ...packBody(sent, encoding) };
      },
      settings,
    );
  };
}

async function fetchRecord(
  request: RecordRequest,
  config: Config,
  host: Host,
  settings: RequestOptions,
): Promise<FetchedRecord | null> {
  const { pair, companyId, svcId } = request;
  if (pair.v4 === null) return null;
  const url = buildUrl(host.endpoint.baseUrl, buildV4Record(request));
  const parse = recordParser(pageFormat(config, 'v4', pair));
  try {
    return await requestParsed(
      { host, url, model: pair.v3, companyId },
      ({ decoded }) => {
        assertParsable(decoded, settings.transport.maxBodyBytes);
        return parse(textOf(decoded), companyId, svcId);
      },
      settings,
    );
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
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
  let isSent = includeDeleted !== false;
  return async (request) => {
    const wasSent = isSent;
    try {
      return await fetchPage(request, wasSent);
    } catch (error) {
      if (includeDeleted !== 'auto' || !wasSent || !isDeletedRefused(request, error)) throw error;
      const page = await fetchPage(request, false);
      if (isSent) onProgress({ kind: 'note', level: 'warning', text: DELETED_REFUSED });
      isSent = false;
      return page;
    }
  };
}

/** Only for a first page: on later pages, the cursor may be the reason. */
function isDeletedRefused({ stream, pair, cursor }: ListRequest, error: unknown): boolean {
  const isFirst = stream.generation === 'v4' && pair !== null && cursor === null;
  if (!isFirst || !(error instanceof SvcError) || !REFUSED_STATUSES.includes(error.facts['status']))
    return false;
  return String(error.facts['answer']).includes('include_deleted');
}

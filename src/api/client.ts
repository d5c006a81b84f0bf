import { setMaxListeners } from 'node:events';
import type { Dispatcher } from 'undici';
import type { ApiKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import { type Clock, type ListPage, type OnProgress, REFUSED_STATUSES, type StreamKey } from '../domain.js';
import { isNotFound, orError, SvcError } from '../errors.js';
import { must } from '../text/at.js';
import { assertParsable, decodeText, packBody } from './body.js';
import { parseCompanyPage } from './company-list.js';
import { scrubber } from './failures.js';
import { buildHosts, type Host, realSleep, type Sleep, steadyClock } from './hosts.js';
import { type AnswerBody, createDispatcher } from './http.js';
import { pageFormat, parsePage, parseRecord, type RecordMembers } from './pages.js';
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

export interface Api {
  /** One page of a list, validated. For a status such as 404, it throws `http_status` with `facts.status`. */
  fetchPage(request: ListRequest): Promise<ListPage>;
  fetchRawList(request: RawListRequest): Promise<ListPage>;
  fetchRecord(request: RecordRequest): Promise<RecordMembers | null>;
  /** The services' clocks minus ours, by region, where a response had a `Date` header. */
  clockOffsets(): readonly { readonly region: string; readonly clockOffsetMs: number }[];
  close(): Promise<void>;
}

/** One client serves a process, so that the limits of a host hold. @throws SvcError `config` for HTTPS_PROXY */
export function createApi(options: ApiOptions): Api {
  const { config, keys, onProgress } = options;
  setMaxListeners(0, options.signal);
  const dispatcher = options.dispatcher ?? createDispatcher(config);
  const settings = buildRequestOptions(options, dispatcher);
  const hosts = buildHosts(config, keys, { ...settings, maxWaitMs: config.http.maxWaitMs });
  const hostFor = ({ generation, region }: Pick<StreamKey, 'generation' | 'region'>): Host => {
    const host = hosts.find((each) => each.generation === generation && each.endpoint.region === region);
    return must(host, `host of region ${region}`);
  };
  const textOf = ({ decoded }: AnswerBody): string => {
    assertParsable(decoded, config.http.maxBodyBytes);
    return decodeText(decoded);
  };
  const fetchList = ({ stream, pair }: Pick<ListRequest, 'stream' | 'pair'>, query: ApiQuery) => {
    const host = hostFor(stream);
    const { generation, companyId } = stream;
    const parse = (text: string) =>
      pair === null
        ? parseCompanyPage(text, { ...config, ...config.v4 })
        : parsePage(text, pageFormat(config, generation, pair), companyId);
    return requestParsed(
      { host, url: buildUrl(host.endpoint.baseUrl, query), model: pair?.v3 ?? null, companyId },
      (body, servedMs) => ({ ...parse(textOf(body)), servedMs, ...packBody(body) }),
      settings,
    );
  };
  const fetchPage = (request: ListRequest, asksDeleted: boolean) => {
    const { pageSize } = hostFor(request.stream).endpoint;
    return fetchList(request, buildList(request, pageSize, config.fieldPrefix, asksDeleted));
  };
  return {
    fetchPage: withDeletedFallback(config, fetchPage, onProgress),
    fetchRawList: (request) => fetchList(request, buildRawList(request)),
    fetchRecord: async (request) => {
      const { pair, companyId, svcId } = request;
      if (pair.v4 === null) return null;
      const host = hostFor({ generation: 'v4', region: '' });
      const url = buildUrl(host.endpoint.baseUrl, buildV4Record(request));
      const record = await orError(() =>
        requestParsed(
          { host, url, model: pair.v3, companyId },
          (body) => parseRecord(textOf(body), `${config.fieldPrefix}id`, svcId),
          settings,
        ),
      );
      if (!(record instanceof SvcError)) return record;
      if (isNotFound(record)) return null;
      throw record;
    },
    clockOffsets: () =>
      hosts.flatMap(({ endpoint: { region }, clockOffsetMs }) =>
        clockOffsetMs === null ? [] : [{ region, clockOffsetMs }],
      ),
    close: async () => {
      if (options.dispatcher === undefined) await dispatcher.destroy();
    },
  };
}

function buildRequestOptions(options: ApiOptions, dispatcher: Dispatcher): RequestOptions {
  const { timeoutMs, maxBodyBytes, attempts } = options.config.http;
  return {
    transport: { dispatcher, timeoutMs, maxBodyBytes, signal: options.signal },
    attempts,
    clock: options.clock ?? steadyClock,
    sleep: options.sleep ?? realSleep,
    random: options.random ?? Math.random,
    onProgress: options.onProgress,
    scrub: scrubber([...options.keys.v3.values(), options.keys.v4, ...(options.secrets ?? [])]),
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
  if (!isFirst || !(error instanceof SvcError)) return false;
  const { status, answer } = error.facts;
  return REFUSED_STATUSES.includes(status) && String(answer).includes('include_deleted');
}

import type { Dispatcher } from 'undici';
import type { ApiKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import type { Clock, Env, Generation, ListPage, OnProgress, PageRecord } from '../domain.js';
import type { Sleep } from './limiter.js';
import type { ListRequest, RawListRequest, RecordRequest } from './queries.js';

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
}

/** Statistics of an endpoint so far. */
export interface EndpointState {
  readonly generation: Generation;
  /** '' for V4. */
  readonly region: string;
  readonly host: string;
  /** Host and port of the proxy, if any. */
  readonly proxy: string | null;
  readonly requests: number;
  readonly retries: number;
  /** The service's clock minus ours at its last response with a `Date` header; null before. */
  readonly clockOffsetMs: number | null;
}

/** One record read by its id. */
export interface FetchedRecord {
  readonly record: PageRecord;
  /** Its members; integers beyond 2^53 are bigints. */
  readonly members: Readonly<Record<string, unknown>>;
}

/** Both generations of the service. Every method throws SvcErrors with the route, status and request_id. */
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
 * @throws SvcError `config` for an address that must not be used
 */
export function createApi(_options: ApiOptions): Api {
  throw new Error('not available yet');
}

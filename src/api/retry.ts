import type { Clock, OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';
import {
  type Attempt,
  buildBadAnswer,
  buildFailure,
  faultOf,
  type RequestTarget,
  type Scrub,
} from './failures.js';
import type { Sleep } from './hosts.js';
import { type AnswerBody, type AttemptOutcome, fetchOnce, type TransportOptions } from './http.js';

export interface RequestOptions {
  readonly transport: TransportOptions;
  readonly attempts: number;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly random: () => number;
  readonly onProgress: OnProgress;
  readonly scrub: Scrub;
}

/** Parses a response body; `servedMs` is its `Date` header, null if there is none. */
type Parse<T> = (body: AnswerBody, servedMs: number | null) => T;

type Result<T> =
  | { readonly kind: 'value'; readonly value: T }
  /** `wait` is null if another attempt cannot help. */
  | { readonly kind: 'failed'; readonly error: SvcError; readonly wait: Wait | null };

interface Wait {
  readonly scope: 'host' | 'request';
  readonly waitMs: number;
}

/** @throws SvcError of the last attempt, `wait_too_long`; the signal's reason */
export async function requestParsed<T>(
  target: RequestTarget,
  parse: Parse<T>,
  options: RequestOptions,
): Promise<T> {
  const { limiter } = target.host;
  const { signal } = options.transport;
  for (let attempt = 1; ; attempt++) {
    const result = await limiter.run(() => attemptOnce(target, parse, attempt, options), signal);
    if (result.kind === 'value') return result.value;
    const { wait, error } = result;
    if (wait === null || attempt >= options.attempts) throw error;
    if (wait.scope === 'host') continue;
    if (!limiter.takeRetry()) throw error;
    await options.sleep(wait.waitMs, signal);
  }
}

/** Makes one attempt. If another may help, also plans the wait before it, before the host's next request starts. */
async function attemptOnce<T>(
  target: RequestTarget,
  parse: Parse<T>,
  number: number,
  options: RequestOptions,
): Promise<Result<T>> {
  const { host, url } = target;
  const outcome = await fetchOnce(url, host.key, options.transport);
  const servedMs = outcome.kind === 'answer' ? parseHttpDate(outcome.headers.date) : null;
  if (servedMs !== null) host.clockOffsetMs = servedMs - options.clock.now();
  const attempt = { target, outcome, number, scrub: options.scrub };
  const read = readOutcome(attempt, (body) => parse(body, servedMs));
  if (read.kind === 'value' || !read.isPassing) {
    // The host works, even if it refuses this request.
    host.limiter.succeed();
    return read.kind === 'value' ? read : { ...read, wait: null };
  }
  return { ...read, wait: planWait(attempt, read.error, servedMs, options) };
}

function readOutcome<T>(attempt: Attempt, parse: (body: AnswerBody) => T) {
  const { outcome } = attempt;
  if (outcome.kind === 'failure' || outcome.status !== 200) {
    const { code, isPassing } = faultOf(outcome);
    return { kind: 'failed', error: buildFailure(code, attempt), isPassing } as const;
  }
  try {
    return { kind: 'value', value: parse(outcome.body) } as const;
  } catch (cause) {
    if (!(cause instanceof SvcError)) throw cause;
    const isPassing = cause.code === 'bad_response';
    return { kind: 'failed', error: buildBadAnswer(cause, attempt), isPassing } as const;
  }
}

/** What the response asks for, else a back-off. All requests to the host wait if it asks for it or is a 429. */
function planWait(
  { target: { host, url }, outcome, number }: Attempt,
  error: SvcError,
  servedMs: number | null,
  { clock, random, attempts, onProgress }: RequestOptions,
): Wait {
  const status = outcome.kind === 'answer' ? outcome.status : null;
  const askedMs = outcome.kind === 'answer' ? parseRequestedWait(outcome, servedMs ?? clock.now()) : 0;
  const waitMs = askedMs === 0 ? backoffMs(number, random) : askedMs;
  const scope = askedMs > 0 || status === 429 ? 'host' : 'request';
  const isNews = scope === 'request' || host.limiter.hold(waitMs);
  if (isNews && (askedMs > 0 || number < attempts)) {
    const then = askedMs > 0 ? ' and asked for it' : `; attempt ${number + 1} of ${attempts} follows`;
    const reason = `${describe(host.label, status, error)}${then}`;
    onProgress({ kind: 'wait', host: url.host, waitMs, reason, generation: host.generation });
  }
  return { scope, waitMs };
}

function describe(label: string, status: number | null, { code }: SvcError): string {
  if (status !== null && status !== 200) return `${label} answered ${status}`;
  if (code === 'timeout') return `${label} did not answer in time`;
  return code === 'network' ? `${label} could not be reached` : `${label} sent a damaged response`;
}

const BASE_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;

export function backoffMs(attempt: number, random: () => number): number {
  return Math.floor(random() * Math.min(MAX_BACKOFF_MS, BASE_BACKOFF_MS * 2 ** (attempt - 1)));
}

/** Retry-After or, in a 429 without it, the end of the rate window; 0 if the response asks for no wait. */
export function parseRequestedWait(
  { status, headers }: Pick<Extract<AttemptOutcome, { kind: 'answer' }>, 'status' | 'headers'>,
  nowMs: number,
): number {
  const waitMs = parseRetryAfter(headers.retryAfter, nowMs);
  return waitMs ?? (status === 429 ? parseRateLimitReset(headers.rateLimitReset, nowMs) : 0);
}

function parseRetryAfter(header: string | null, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1000), Number.MAX_SAFE_INTEGER);
  const untilMs = parseHttpDate(text);
  return untilMs === null ? null : Math.max(0, untilMs - nowMs);
}

/** Services send seconds to wait, seconds since 1970, or milliseconds since 1970. */
const FIRST_EPOCH_SECOND = 1e9;
const FIRST_EPOCH_MS = 1e12;

function parseRateLimitReset(header: string | null, nowMs: number): number {
  const text = header?.trim() ?? '';
  if (!/^\d{1,15}(\.\d+)?$/.test(text)) return 0;
  const value = Number(text);
  if (value < FIRST_EPOCH_SECOND) return Math.ceil(value * 1000);
  return Math.max(0, Math.ceil((value < FIRST_EPOCH_MS ? value * 1000 : value) - nowMs));
}

/** Parses an HTTP date in the form that all servers send, `Sun, 06 Nov 1994 08:49:37 GMT`; ms since 1970, or null. */
function parseHttpDate(text: string | null): number | null {
  const ms = Date.parse(text ?? '');
  return !Number.isNaN(ms) && new Date(ms).toUTCString() === text ? ms : null;
}

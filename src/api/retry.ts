import type { Clock, OnProgress } from '../domain.js';
import { type ErrorCode, SvcError } from '../errors.js';
import { buildBadAnswer, buildFailure, type RequestTarget, withFacts } from './failures.js';
import {
  type AnswerBody,
  type AnswerHeaders,
  type AttemptOutcome,
  fetchOnce,
  type TransportOptions,
} from './http.js';
import { type Sleep, waitTooLong } from './limiter.js';
import type { Scrub } from './scrub.js';

export interface RequestOptions {
  readonly transport: TransportOptions;
  readonly attempts: number;
  readonly maxWaitMs: number;
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
  | { readonly kind: 'failed'; readonly error: SvcError; readonly isPassing: boolean };

interface Wait {
  /** All requests to the host wait, or only the one that failed. */
  readonly scope: 'host' | 'request';
  readonly waitMs: number;
}

/**
 * Repeats a request until `parse` accepts the response, within the limits on attempts and waits.
 *
 * @throws SvcError of the last attempt, `wait_too_long`; the signal's reason
 */
export async function requestParsed<T>(
  target: RequestTarget,
  parse: Parse<T>,
  options: RequestOptions,
): Promise<T> {
  const { limiter, tally } = target.host;
  const { signal } = options.transport;
  for (let attempt = 1; ; attempt++) {
    const work = () => attemptOnce(target, parse, attempt, options);
    const { result, wait } = await limiter.run(work, signal).catch((error: unknown) => {
      // The signal's reason is thrown unchanged.
      throw error instanceof SvcError && error.code === 'wait_too_long' ? withFacts(error, target) : error;
    });
    if (result.kind === 'value') return result.value;
    if (wait === null || attempt >= options.attempts) throw result.error;
    if (wait.scope === 'request') {
      if (!limiter.takeRetry()) throw withFacts(result.error, target, { retries: 'shared budget spent' });
      await options.sleep(wait.waitMs, signal);
    }
    tally.retries++;
  }
}

/** Makes one attempt. If another may help, also plans the wait before it, before the host's next request starts. */
async function attemptOnce<T>(
  target: RequestTarget,
  parse: Parse<T>,
  attempt: number,
  options: RequestOptions,
): Promise<{ readonly result: Result<T>; readonly wait: Wait | null }> {
  const { host, url } = target;
  host.tally.requests++;
  const outcome = await fetchOnce({ url, key: host.key }, options.transport);
  const servedMs = outcome.kind === 'answer' ? parseHttpDate(outcome.headers.date) : null;
  if (servedMs !== null) host.tally.clockOffsetMs = servedMs - options.clock.now();
  const result = readOutcome(target, outcome, (body) => parse(body, servedMs), attempt, options.scrub);
  if (result.kind === 'failed' && result.isPassing) {
    return { result, wait: planWait(target, outcome, result.error, attempt, servedMs, options) };
  }
  // The host works, even if it refuses this request.
  host.limiter.succeed();
  return { result, wait: null };
}

function readOutcome<T>(
  target: RequestTarget,
  outcome: AttemptOutcome,
  parse: (body: AnswerBody) => T,
  attempt: number,
  scrub: Scrub,
): Result<T> {
  const fault = faultOf(outcome);
  if (fault !== null || outcome.kind !== 'answer') {
    const { code, isPassing } = fault ?? { code: 'bad_response', isPassing: true };
    const error = buildFailure(code, outcome, target, attempt, scrub);
    return { kind: 'failed', error, isPassing };
  }
  try {
    return { kind: 'value', value: parse(outcome.body) };
  } catch (cause) {
    if (!(cause instanceof SvcError)) throw cause;
    const error = buildBadAnswer(cause, outcome, target, attempt, scrub);
    return { kind: 'failed', error, isPassing: cause.code === 'bad_response' };
  }
}

/**
 * The wait before another attempt: what the response asks for, else a back-off. The host waits if the response asks for
 * it or is a 429.
 *
 * @throws SvcError `wait_too_long`
 */
function planWait(
  target: RequestTarget,
  outcome: AttemptOutcome,
  error: SvcError,
  attempt: number,
  servedMs: number | null,
  { clock, random, attempts, maxWaitMs, onProgress }: RequestOptions,
): Wait {
  const { limiter, label, generation } = target.host;
  const host = target.url.host;
  const status = outcome.kind === 'answer' ? outcome.status : null;
  const askedMs = outcome.kind === 'answer' ? parseRequestedWait(outcome, servedMs ?? clock.now()) : 0;
  const waitMs = askedMs === 0 ? backoffMs(attempt, random) : askedMs;
  const scope = askedMs > 0 || status === 429 ? 'host' : 'request';
  const isNews = scope === 'request' || limiter.hold(waitMs);
  if (askedMs > maxWaitMs) throw waitTooLong({ host, maxWaitMs, clock }, askedMs);
  const then = askedMs > 0 ? ' and asked for it' : `; attempt ${attempt + 1} of ${attempts} follows`;
  if (isNews && (askedMs > 0 || attempt < attempts)) {
    onProgress({
      kind: 'wait',
      host,
      waitMs,
      reason: `${describe(label, status, error)}${then}`,
      generation,
    });
  }
  return { scope, waitMs };
}

function describe(label: string, status: number | null, { code }: SvcError): string {
  if (status !== null && status !== 200) return `${label} answered ${status}`;
  if (code === 'timeout') return `${label} did not answer in time`;
  return code === 'network' ? `${label} could not be reached` : `${label} sent a damaged answer`;
}

/** Why the response to a request cannot be used, and whether another attempt may help. */
interface Fault {
  readonly code: ErrorCode;
  readonly isPassing: boolean;
}

/** Null for an answer that is worth parsing. */
export function faultOf(outcome: AttemptOutcome): Fault | null {
  return outcome.kind === 'answer' ? faultOfStatus(outcome.status) : FAILURES[outcome.failure];
}

type Failure = Extract<AttemptOutcome, { kind: 'failure' }>['failure'];
const FAILURES: Readonly<Record<Failure, Fault>> = {
  network: { code: 'network', isPassing: true },
  timeout: { code: 'timeout', isPassing: true },
  broken_body: { code: 'bad_response', isPassing: true },
  body_too_large: { code: 'body_too_large', isPassing: false },
  tls: { code: 'network', isPassing: false },
};

function faultOfStatus(status: number): Fault | null {
  if (status === 200) return null;
  if (status < 300) return { code: 'bad_response', isPassing: true };
  if (status < 400) return { code: 'redirect', isPassing: false };
  if (status === 401 || status === 403) return { code: 'auth', isPassing: false };
  if (status === 501) return { code: 'http_status', isPassing: true };
  const isPassing = status === 408 || status === 429 || status >= 500;
  return { code: isPassing ? 'unavailable' : 'http_status', isPassing };
}

/** Upper bound of the first backoff; it doubles with each attempt. */
const BASE_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;

/** Exponential backoff with full jitter. `attempt` counts from 1. */
export function backoffMs(attempt: number, random: () => number): number {
  return Math.floor(random() * Math.min(MAX_BACKOFF_MS, BASE_BACKOFF_MS * 2 ** (attempt - 1)));
}

/**
 * The wait that a response asks for, ms: Retry-After or, in a 429 without it, the end of the rate window. 0 if it asks for
 * none. `nowMs` is the server's time if known.
 */
export function parseRequestedWait(
  {
    status,
    headers,
  }: { readonly status: number; readonly headers: Pick<AnswerHeaders, 'retryAfter' | 'rateLimitReset'> },
  nowMs: number,
): number {
  const waitMs = parseRetryAfter(headers.retryAfter, nowMs);
  return waitMs === null && status === 429
    ? parseRateLimitReset(headers.rateLimitReset, nowMs)
    : (waitMs ?? 0);
}

/** From seconds or an HTTP date; null if it is missing, invalid or negative. */
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

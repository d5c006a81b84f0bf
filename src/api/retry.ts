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

type AttemptResult<T> =
  | { readonly kind: 'value'; readonly value: T }
  | {
      readonly kind: 'failed';
      readonly outcome: AttemptOutcome;
      readonly isRetryable: boolean;
      /** How long the response asked to wait, ms; null if it did not. */
      readonly heldMs: number | null;
      readonly error: SvcError;
    };

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
  for (let attempt = 1; ; attempt++) {
    const result = await attemptOnce(target, parse, attempt, options);
    if (result.kind === 'value') return result.value;
    if (!result.isRetryable || attempt >= options.attempts) throw result.error;
    if (!target.host.limiter.takeRetry())
      throw withFacts(result.error, target, { retries: 'shared budget spent' });
    target.host.tally.retries++;
    if (result.heldMs === null) await backOff(target, result, attempt, options);
  }
}

async function attemptOnce<T>(
  target: RequestTarget,
  parse: Parse<T>,
  attempt: number,
  options: RequestOptions,
): Promise<AttemptResult<T>> {
  const { limiter } = target.host;
  const { outcome, startedAt, servedMs, heldMs } = await sendInTurn(target, options);
  const verdict = classify(outcome);
  if (verdict.kind !== 'parse' || outcome.kind !== 'answer') {
    // The host works, and would give the same response again.
    if (verdict.kind === 'fail' && outcome.kind === 'answer') limiter.succeed(startedAt);
    const code = verdict.kind === 'parse' ? 'bad_response' : verdict.code;
    const error = buildFailure(code, outcome, target, attempt, options.scrub);
    return { kind: 'failed', outcome, isRetryable: verdict.kind === 'retry', heldMs, error };
  }
  try {
    const value = parse(outcome.body, servedMs);
    limiter.succeed(startedAt);
    return { kind: 'value', value };
  } catch (cause) {
    if (!(cause instanceof SvcError)) throw cause;
    const error = buildBadAnswer(cause, outcome, target, attempt, options.scrub);
    return { kind: 'failed', outcome, isRetryable: cause.code === 'bad_response', heldMs, error };
  }
}

async function sendInTurn(target: RequestTarget, options: RequestOptions) {
  const { host, url } = target;
  const { transport, clock } = options;
  try {
    return await host.limiter.run(async (startedAt) => {
      host.tally.requests++;
      const outcome = await fetchOnce({ url, key: host.key }, transport);
      const servedMs = outcome.kind === 'answer' ? parseHttpDate(outcome.headers.date) : null;
      if (servedMs !== null) host.tally.clockOffsetMs = servedMs - clock.now();
      if (outcome.kind === 'answer' && outcome.status === 429) host.limiter.slowDown(startedAt);
      // Before another request takes the place of this one.
      const heldMs = holdBack(target, outcome, servedMs, options);
      return { outcome, startedAt, servedMs, heldMs };
    }, transport.signal);
  } catch (error) {
    // The signal's reason is thrown unchanged.
    throw error instanceof SvcError && error.code === 'wait_too_long' ? withFacts(error, target) : error;
  }
}

/**
 * Delays all requests to the host if the response asks for it; returns the requested time, or null.
 *
 * @throws SvcError `wait_too_long`
 */
function holdBack(
  target: RequestTarget,
  outcome: AttemptOutcome,
  servedMs: number | null,
  options: RequestOptions,
): number | null {
  if (outcome.kind !== 'answer' || classify(outcome).kind !== 'retry') return null;
  const askedMs = parseRequestedWait(outcome.status, outcome.headers, servedMs ?? options.clock.now());
  if (askedMs === null || askedMs === 0) return null;
  const { host } = target;
  const isExtended = host.limiter.hold(askedMs);
  if (askedMs > options.maxWaitMs) throw waitTooLong({ host: target.url.host, ...options }, askedMs);
  if (isExtended) {
    const reason = `${host.label} answered ${outcome.status} and asked for it`;
    const { generation } = host;
    options.onProgress({ kind: 'wait', host: target.url.host, waitMs: askedMs, reason, generation });
  }
  return askedMs;
}

interface FailedAttempt {
  readonly outcome: AttemptOutcome;
  readonly error: SvcError;
}

async function backOff(
  target: RequestTarget,
  failed: FailedAttempt,
  attempt: number,
  options: RequestOptions,
): Promise<void> {
  const { label, generation } = target.host;
  const waitMs = backoffMs(attempt, options.random);
  const reason = `${describe(label, failed)}; attempt ${attempt + 1} of ${options.attempts} follows`;
  options.onProgress({ kind: 'wait', host: target.url.host, waitMs, reason, generation });
  await options.sleep(waitMs, options.transport.signal);
}

function describe(label: string, { outcome, error }: FailedAttempt): string {
  if (outcome.kind === 'answer' && outcome.status !== 200) return `${label} answered ${outcome.status}`;
  if (error.code === 'timeout') return `${label} did not answer in time`;
  return error.code === 'network' ? `${label} could not be reached` : `${label} sent a damaged answer`;
}

/** What to do after an attempt, and the error code if it was the last. */
export type AttemptVerdict =
  | { readonly kind: 'parse' }
  | { readonly kind: 'retry'; readonly code: ErrorCode }
  | { readonly kind: 'fail'; readonly code: ErrorCode };

/** Whether the outcome is worth reading, worth another attempt, or final. */
export function classify(outcome: AttemptOutcome): AttemptVerdict {
  return outcome.kind === 'answer' ? classifyStatus(outcome.status) : AFTER_FAILURE[outcome.failure];
}

type Failure = Extract<AttemptOutcome, { kind: 'failure' }>['failure'];
const AFTER_FAILURE: Readonly<Record<Failure, AttemptVerdict>> = {
  network: { kind: 'retry', code: 'network' },
  timeout: { kind: 'retry', code: 'timeout' },
  broken_body: { kind: 'retry', code: 'bad_response' },
  body_too_large: { kind: 'fail', code: 'body_too_large' },
  tls: { kind: 'fail', code: 'network' },
};

function classifyStatus(status: number): AttemptVerdict {
  if (status === 200) return { kind: 'parse' };
  if (status < 300) return { kind: 'retry', code: 'bad_response' };
  if (status < 400) return { kind: 'fail', code: 'redirect' };
  if (status === 401 || status === 403) return { kind: 'fail', code: 'auth' };
  if (status === 501) return { kind: 'retry', code: 'http_status' };
  const isPassing = status === 408 || status === 429 || status >= 500;
  return isPassing ? { kind: 'retry', code: 'unavailable' } : { kind: 'fail', code: 'http_status' };
}

/** Upper bound of the first backoff; it doubles with each attempt. */
const BASE_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;

/** Exponential backoff with full jitter. `attempt` counts from 1. */
export function backoffMs(attempt: number, random: () => number): number {
  return Math.floor(random() * Math.min(MAX_BACKOFF_MS, BASE_BACKOFF_MS * 2 ** (attempt - 1)));
}

/**
 * The wait that a response asks for, ms: Retry-After or, in a 429 without it, the end of the rate window. Null if it
 * asks for none. `nowMs` is the server's time if known.
 */
export function parseRequestedWait(
  status: number,
  headers: Pick<AnswerHeaders, 'retryAfter' | 'rateLimitReset'>,
  nowMs: number,
): number | null {
  const waitMs = parseRetryAfter(headers.retryAfter, nowMs);
  return waitMs === null && status === 429 ? parseRateLimitReset(headers.rateLimitReset, nowMs) : waitMs;
}

/**
 * The wait that a Retry-After header asks for, in ms, from seconds or an HTTP date. Null if it is missing, invalid,
 * negative or in the past.
 */
function parseRetryAfter(header: string | null, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1000), Number.MAX_SAFE_INTEGER);
  const untilMs = parseHttpDate(text);
  return untilMs === null || untilMs < nowMs ? null : Math.ceil(untilMs - nowMs);
}

/** Services send seconds to wait, seconds since 1970, or milliseconds since 1970. */
const FIRST_EPOCH_SECOND = 1e9;
const FIRST_EPOCH_MS = 1e12;

function parseRateLimitReset(header: string | null, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (!/^\d{1,15}(\.\d+)?$/.test(text)) return null;
  const value = Number(text);
  if (value < FIRST_EPOCH_SECOND) return Math.ceil(value * 1000);
  const waitMs = Math.ceil((value < FIRST_EPOCH_MS ? value * 1000 : value) - nowMs);
  return waitMs > 0 ? waitMs : null;
}

const TIME = '([01]\\d|2[0-3]):[0-5]\\d:([0-5]\\d|60)';
/** The three forms of RFC 9110, section 5.6.7; `Date.parse` checks their names of months. */
const HTTP_DATES = [
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\\d{2}) [A-Z][a-z]{2} \\d{4} ${TIME} GMT$`),
  new RegExp(`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\\d{2})-[A-Z][a-z]{2}-\\d{2} ${TIME} GMT$`),
  new RegExp(`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} (?<day>[ \\d]\\d) ${TIME} \\d{4}$`),
];

/** Parses an HTTP date; ms since 1970, or null. Two-digit years are 19xx from 50 on, otherwise 20xx. */
function parseHttpDate(text: string | null): number | null {
  if (text === null) return null;
  const match = HTTP_DATES.map((form) => form.exec(text)).find((candidate) => candidate !== null);
  if (match === undefined) return null;
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  // Date.parse takes 31 February for 3 March.
  return new Date(ms).getUTCDate() === Number(match?.groups?.['day']) ? ms : null;
}

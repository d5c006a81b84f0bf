import type { Clock, OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';
import { buildBadAnswer, buildFailure, type RequestTarget, type Scrub, withFacts } from './failures.js';
import {
  type AttemptOutcome,
  backoffMs,
  classify,
  fetchOnce,
  parseHttpDate,
  parseRetryAfter,
  type TransportOptions,
} from './http.js';
import { type Sleep, waitTooLong } from './limiter.js';

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

/** The result of one attempt: its value, or the error to throw if it is not repeated. */
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

/** Parses a response body; `servedMs` is its `Date` header, null if there is none. */
type Parse<T> = (body: Uint8Array, servedMs: number | null) => T | Promise<T>;

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
    const judged = await attemptOnce(target, parse, attempt, options);
    if (judged.kind === 'value') return judged.value;
    if (!judged.isRetryable || attempt >= options.attempts) throw judged.error;
    if (!target.host.limiter.takeRetry())
      throw withFacts(judged.error, target, { retries: 'shared budget spent' });
    target.host.tally.retries++;
    if (judged.heldMs === null) await backOff(target, judged, attempt, options);
  }
}

async function attemptOnce<T>(
  target: RequestTarget,
  parse: Parse<T>,
  attempt: number,
  options: RequestOptions,
): Promise<AttemptResult<T>> {
  const { transport, clock, scrub } = options;
  const { host, url } = target;
  const { outcome, startedAt, servedMs, heldMs } = await host.limiter
    .run(async (startedAt) => {
      host.tally.requests++;
      const outcome = await fetchOnce({ url, key: host.key }, transport);
      const date = outcome.kind === 'answer' ? outcome.headers.date : null;
      const servedMs = date === null ? null : parseHttpDate(date);
      if (servedMs !== null) host.tally.clockOffsetMs = servedMs - clock.now();
      if (outcome.kind === 'answer' && outcome.status === 429) host.limiter.slowDown(startedAt);
      // Before the next request gets the place of this one.
      const heldMs = holdBack(target, outcome, options);
      return { outcome, startedAt, servedMs, heldMs };
    }, transport.signal)
    .catch((error: unknown) => {
      // the signal's reason is thrown unchanged
      throw error instanceof SvcError && error.code === 'wait_too_long' ? withFacts(error, target) : error;
    });
  const judgement = classify(outcome);
  if (judgement.kind !== 'parse') {
    // the host works, and would give the same response again
    if (judgement.kind === 'fail' && outcome.kind === 'answer') host.limiter.succeed(startedAt);
    const error = buildFailure(judgement.code, outcome, target, attempt, scrub);
    return { kind: 'failed', outcome, isRetryable: judgement.kind === 'retry', heldMs, error };
  }
  try {
    const value = await parse(outcome.kind === 'answer' ? outcome.body : new Uint8Array(), servedMs);
    host.limiter.succeed(startedAt);
    return { kind: 'value', value };
  } catch (cause) {
    if (!(cause instanceof SvcError) || cause === transport.signal.reason) throw cause;
    const error = buildBadAnswer(cause, outcome, target, attempt, scrub);
    return { kind: 'failed', outcome, isRetryable: true, heldMs, error };
  }
}

/**
 * Delays all requests to the host if the response asks for it; returns the requested time, or null.
 *
 * @throws SvcError `wait_too_long`
 */
function holdBack(target: RequestTarget, outcome: AttemptOutcome, options: RequestOptions): number | null {
  if (outcome.kind !== 'answer' || classify(outcome).kind !== 'retry') return null;
  const now = options.clock.now();
  const { date, retryAfter } = outcome.headers;
  const askedMs = parseRetryAfter(retryAfter, (date === null ? null : parseHttpDate(date)) ?? now);
  if (askedMs === null || askedMs === 0) return null;
  const { host } = target;
  const isExtended = host.limiter.hold(askedMs);
  if (askedMs > options.maxWaitMs) {
    throw withFacts(waitTooLong({ host: target.url.host, ...options }, askedMs), target);
  }
  if (isExtended) {
    const reason = `${host.label} answered ${outcome.status} and asked for it`;
    const { generation } = host;
    options.onProgress({ kind: 'wait', host: target.url.host, waitMs: askedMs, reason, generation });
  }
  return askedMs;
}

async function backOff(
  target: RequestTarget,
  judged: { readonly outcome: AttemptOutcome; readonly error: SvcError },
  attempt: number,
  options: RequestOptions,
): Promise<void> {
  const waitMs = backoffMs(attempt, options.random);
  const reason = `${describe(target.host.label, judged)}; attempt ${attempt + 1} of ${options.attempts} follows`;
  const { generation } = target.host;
  options.onProgress({ kind: 'wait', host: target.url.host, waitMs, reason, generation });
  await options.sleep(waitMs, options.transport.signal);
}

function describe(
  label: string,
  judged: { readonly outcome: AttemptOutcome; readonly error: SvcError },
): string {
  const { outcome, error } = judged;
  if (outcome.kind === 'answer' && outcome.status !== 200) return `${label} answered ${outcome.status}`;
  if (error.code === 'timeout') return `${label} did not answer in time`;
  return error.code === 'network' ? `${label} could not be reached` : `${label} sent a damaged answer`;
}

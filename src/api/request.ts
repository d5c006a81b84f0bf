import type { OnProgress } from '../domain.js';
import { type ErrorCode, SvcError } from '../errors.js';
import { buildBadAnswer, buildFailure, type RequestTarget, withFacts } from './failures.js';
import { assertKey, type Host } from './hosts.js';
import { fetchOnce, type Outcome, type TransportOptions } from './http.js';
import { waitTooLong } from './limiter.js';
import { backoffMs, classify, parseHttpDate, parseRetryAfter } from './retry.js';
import type { Scrub } from './scrub.js';
import type { Clock, Sleep } from './sleep.js';

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

/** One attempt, judged: its value, or the error it would be if there were no other. */
type Judged<T> =
  | { readonly kind: 'value'; readonly value: T }
  | { readonly kind: 'failed'; readonly outcome: Outcome; readonly again: boolean; readonly error: SvcError };

/** Reads an answer's body; `servedMs` is its `Date` header, null where there is none. */
type Parse<T> = (body: Uint8Array, servedMs: number | null) => T;

/**
 * Asks until `parse` accepts an answer, within the attempts and waits allowed.
 *
 * @throws SvcError of the last attempt, `wait_too_long`; the signal's reason
 */
export async function requestParsed<T>(
  target: RequestTarget,
  parse: Parse<T>,
  options: RequestOptions,
): Promise<T> {
  assertKey(target.host);
  for (let attempt = 1; ; attempt++) {
    const judged = await attemptOnce(target, parse, attempt, options);
    if (judged.kind === 'value') return judged.value;
    const heldMs = holdBack(target, judged.outcome, options);
    if (!judged.again || attempt >= options.attempts) throw judged.error;
    if (!target.host.limiter.takeRetry())
      throw withFacts(judged.error, target, { retries: 'shared budget spent' });
    target.host.tally.retries++;
    if (heldMs === null) await backOff(target, judged, attempt, options);
  }
}

async function attemptOnce<T>(
  target: RequestTarget,
  parse: Parse<T>,
  attempt: number,
  options: RequestOptions,
): Promise<Judged<T>> {
  const { host } = target;
  const call = { url: target.url, key: host.key };
  const { outcome, startedAt } = await host.limiter
    .run(async (startedAt) => {
      host.tally.requests++;
      const outcome = await fetchOnce(call, options.transport);
      observe(host, outcome, startedAt, options.clock);
      return { outcome, startedAt };
    }, options.transport.signal)
    .catch((error: unknown) => {
      // the reason of an interrupt stays itself
      throw error instanceof SvcError && error.code === 'wait_too_long' ? withFacts(error, target) : error;
    });
  const judged = judge(
    target,
    outcome,
    (body) => parse(body, servedMsOf(outcome, options.clock)),
    attempt,
    options.scrub,
  );
  if (judged.kind === 'value' || isDefinite(outcome)) host.limiter.succeed(startedAt);
  return judged;
}

/** The host is well and will say the same again. */
function isDefinite(outcome: Outcome): boolean {
  return outcome.kind === 'answer' && classify(outcome).kind === 'fail';
}

function judge<T>(
  target: RequestTarget,
  outcome: Outcome,
  parse: (body: Uint8Array) => T,
  attempt: number,
  scrub: Scrub,
): Judged<T> {
  const verdict = classify(outcome);
  const fail = (code: ErrorCode): SvcError => buildFailure(code, outcome, target, attempt, scrub);
  if (verdict.kind !== 'parse') {
    return { kind: 'failed', outcome, again: verdict.kind === 'retry', error: fail(verdict.code) };
  }
  try {
    return { kind: 'value', value: parse(outcome.kind === 'answer' ? outcome.body : new Uint8Array()) };
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    return {
      kind: 'failed',
      outcome,
      again: true,
      error: buildBadAnswer(error, outcome, target, attempt, scrub),
    };
  }
}

function observe(host: Host, outcome: Outcome, startedAt: number, clock: Clock): void {
  if (outcome.kind !== 'answer') return;
  if (outcome.status === 429) host.limiter.slowDown(startedAt);
  const servedMs = servedMsOf(outcome, clock);
  if (servedMs !== null) host.tally.clockOffsetMs = servedMs - clock.now();
}

function servedMsOf(outcome: Outcome, clock: Clock): number | null {
  if (outcome.kind !== 'answer' || outcome.headers.date === null) return null;
  return parseHttpDate(outcome.headers.date, clock.now());
}

/**
 * Holds every request to the host back where the answer asks for it; the time asked for, or null.
 *
 * @throws SvcError `wait_too_long`
 */
function holdBack(target: RequestTarget, outcome: Outcome, options: RequestOptions): number | null {
  if (outcome.kind !== 'answer' || classify(outcome).kind !== 'retry') return null;
  const now = options.clock.now();
  const { date, retryAfter } = outcome.headers;
  const askedMs = parseRetryAfter(retryAfter, (date === null ? null : parseHttpDate(date, now)) ?? now);
  if (askedMs === null || askedMs === 0) return null;
  const { host } = target;
  const isNews = host.limiter.hold(askedMs);
  if (askedMs > options.maxWaitMs) {
    throw withFacts(waitTooLong({ host: target.url.host, ...options }, askedMs), target);
  }
  if (isNews) {
    const reason = `${host.label} answered ${outcome.status} and asked for it`;
    options.onProgress({ kind: 'wait', host: target.url.host, waitMs: askedMs, reason });
  }
  return askedMs;
}

async function backOff(
  target: RequestTarget,
  judged: { readonly outcome: Outcome; readonly error: SvcError },
  attempt: number,
  options: RequestOptions,
): Promise<void> {
  const waitMs = backoffMs(attempt, options.random);
  const reason = `${describe(target.host.label, judged)}; attempt ${attempt + 1} of ${options.attempts} follows`;
  options.onProgress({ kind: 'wait', host: target.url.host, waitMs, reason });
  await options.sleep(waitMs, options.transport.signal);
}

function describe(label: string, judged: { readonly outcome: Outcome; readonly error: SvcError }): string {
  const { outcome, error } = judged;
  if (outcome.kind === 'answer' && outcome.status !== 200) return `${label} answered ${outcome.status}`;
  if (error.code === 'timeout') return `${label} did not answer in time`;
  return error.code === 'network' ? `${label} could not be reached` : `${label} sent a damaged answer`;
}

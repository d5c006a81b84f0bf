import type { OnProgress } from '../domain.js';
import { type ErrorCode, SvcError } from '../errors.js';
import { buildBadAnswer, buildFailure, type Where, withFacts } from './failures.js';
import { assertKey, type Host } from './host.js';
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
export async function requestParsed<T>(where: Where, parse: Parse<T>, options: RequestOptions): Promise<T> {
  assertKey(where.host);
  for (let attempt = 1; ; attempt++) {
    const judged = await attemptOnce(where, parse, attempt, options);
    if (judged.kind === 'value') return judged.value;
    const heldMs = holdBack(where, judged.outcome, options);
    if (!judged.again || attempt >= options.attempts) throw judged.error;
    if (!where.host.limiter.takeRetry())
      throw withFacts(judged.error, where, { retries: 'shared budget spent' });
    where.host.tally.retries++;
    if (heldMs === null) await backOff(where, judged, attempt, options);
  }
}

async function attemptOnce<T>(
  where: Where,
  parse: Parse<T>,
  attempt: number,
  options: RequestOptions,
): Promise<Judged<T>> {
  const { host } = where;
  const call = { url: where.url, key: host.key };
  const { outcome, startedAt } = await host.limiter
    .run(async (startedAt) => {
      host.tally.requests++;
      const outcome = await fetchOnce(call, options.transport);
      observe(host, outcome, startedAt, options.clock);
      return { outcome, startedAt };
    }, options.transport.signal)
    .catch((error: unknown) => {
      // the reason of an interrupt stays itself
      throw error instanceof SvcError && error.code === 'wait_too_long' ? withFacts(error, where) : error;
    });
  const judged = judge(
    where,
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
  where: Where,
  outcome: Outcome,
  parse: (body: Uint8Array) => T,
  attempt: number,
  scrub: Scrub,
): Judged<T> {
  const verdict = classify(outcome);
  const fail = (code: ErrorCode): SvcError => buildFailure(code, outcome, where, attempt, scrub);
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
      error: buildBadAnswer(error, outcome, where, attempt, scrub),
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
function holdBack(where: Where, outcome: Outcome, options: RequestOptions): number | null {
  if (outcome.kind !== 'answer' || classify(outcome).kind !== 'retry') return null;
  const now = options.clock.now();
  const { date, retryAfter } = outcome.headers;
  const askedMs = parseRetryAfter(retryAfter, (date === null ? null : parseHttpDate(date, now)) ?? now);
  if (askedMs === null || askedMs === 0) return null;
  const { host } = where;
  const isNews = host.limiter.hold(askedMs);
  if (askedMs > options.maxWaitMs) {
    throw withFacts(waitTooLong({ host: where.url.host, ...options }, askedMs), where);
  }
  if (isNews) {
    const reason = `${host.label} answered ${outcome.status} and asked for it`;
    options.onProgress({ kind: 'wait', host: where.url.host, waitMs: askedMs, reason });
  }
  return askedMs;
}

async function backOff(
  where: Where,
  judged: { readonly outcome: Outcome; readonly error: SvcError },
  attempt: number,
  options: RequestOptions,
): Promise<void> {
  const waitMs = backoffMs(attempt, options.random);
  const reason = `${describe(where.host.label, judged)}; attempt ${attempt + 1} of ${options.attempts} follows`;
  options.onProgress({ kind: 'wait', host: where.url.host, waitMs, reason });
  await options.sleep(waitMs, options.transport.signal);
}

function describe(label: string, judged: { readonly outcome: Outcome; readonly error: SvcError }): string {
  const { outcome, error } = judged;
  if (outcome.kind === 'answer' && outcome.status !== 200) return `${label} answered ${outcome.status}`;
  if (error.code === 'timeout') return `${label} did not answer in time`;
  return error.code === 'network' ? `${label} could not be reached` : `${label} sent a damaged answer`;
}

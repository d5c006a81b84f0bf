import { setTimeout as delay } from 'node:timers/promises';
import type { LimitFunction } from 'p-limit';
import pLimit from 'p-limit';
import type { Clock } from '../domain.js';
import { SvcError } from '../errors.js';
import { at } from '../text/at.js';
import { formatDuration } from '../text/numbers.js';

export interface LimiterOptions {
  readonly host: string;
  readonly concurrency: number;
  readonly requestsPerSecond: number;
  /** Attempts of one request, including the first. */
  readonly attempts: number;
  /** Longest wait that is accepted; a longer one is an error. */
  readonly maxWaitMs: number;
  readonly clock: Clock;
  readonly sleep: Sleep;
}

/*
 * How the rate is kept, for a limit of 50 requests per second. Other limits work the same way; below one per second, the
 * window is longer than a second.
 *
 * | situation                     | rule                                                                           |
 * | ----------------------------- | ------------------------------------------------------------------------------ |
 * | requests are queued           | starts are 20.48 ms apart, which is 2.4 % slower than the limit                |
 * | timers fire late, work stalls | up to 200 ms are caught up, so that the average rate is kept                   |
 * | always                        | a request starts at least 1020 ms after the 50th one before it: if network     |
 * |                               | delays vary by less than 20 ms, the server never sees 51 in a second           |
 * | a new connection is opened    | its request counts from its response, because only then has it surely arrived; |
 * |                               | until then, from its start                                                     |
 * | the queue was empty, the host | no time is caught up; after a 429 the interval is doubled                      |
 * | asked to wait or sent a 429   |                                                                                |
 */
const SPACING = 1.024;
const MAX_CATCH_UP_MS = 200;
const GUARD_MS = 20;
/**
 * After a 429 the interval is doubled, up to this. Each success shortens it again, so that five successes offset one
 * 429, and a server that refuses one request in ten does not slow everything down.
 */
const MAX_INTERVAL_MS = 5000;
const RECOVERY = 0.85;
/** Fraction of a retry that each success returns to the budget. */
const REFUND = 0.5;

interface Turn {
  readonly startedAt: number;
  readonly place: number;
}

/** Limits requests to one host: concurrency, requests per second, and any Retry-After the host sent. */
export class HostLimiter {
  readonly #options: LimiterOptions;
  readonly #slots: LimitFunction;
  readonly #turns: LimitFunction = pLimit(1);
  readonly #baseIntervalMs: number;
  readonly #starts: Float64Array;
  readonly #windowMs: number;
  readonly #retryCapacity: number;
  #intervalMs: number;
  #oldest = 0;
  #pending = 0;
  #connections = 0;
  #nextAt = 0;
  #notBefore = 0;
  #slowedAt = 0;
  #lastStart = 0;
  #averageIntervalMs = 0;
  #retries: number;

  constructor(options: LimiterOptions) {
    this.#options = options;
    this.#slots = pLimit(options.concurrency);
    this.#baseIntervalMs = (1000 * SPACING) / options.requestsPerSecond;
    this.#intervalMs = this.#baseIntervalMs;
    this.#starts = new Float64Array(Math.ceil(options.requestsPerSecond)).fill(Number.NEGATIVE_INFINITY);
    this.#windowMs = (1000 * this.#starts.length) / options.requestsPerSecond + GUARD_MS;
    this.#retryCapacity = options.concurrency * (options.attempts - 1);
    this.#retries = this.#retryCapacity;
  }

  /**
   * Runs `task` once the limits allow it.
   *
   * @throws SvcError `wait_too_long`, the signal's reason
   */
  run<T>(task: (startedAt: number) => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#slots(async () => {
      if (this.#turns.activeCount + this.#turns.pendingCount === 0)
        this.#continueFrom(this.#options.clock.now());
      const turn = await this.#turns(() => this.#takeTurn(signal));
      return this.#send(turn, task);
    });
  }

  /** Starts no request for this time; returns true if that extends the current wait. */
  hold(waitMs: number): boolean {
    const until = this.#options.clock.now() + waitMs;
    if (until <= this.#notBefore) return false;
    this.#notBefore = until;
    this.#continueFrom(until);
    return true;
  }

  /** Slows down after a 429 to a request started at `startedAt`; once for all requests that were pending together. */
  slowDown(startedAt: number): void {
    if (startedAt <= this.#slowedAt) return;
    this.#slowedAt = this.#options.clock.now();
    this.#continueFrom(this.#slowedAt);
    const usual = Math.max(this.#intervalMs, this.#averageIntervalMs);
    this.#intervalMs = Math.max(this.#baseIntervalMs, Math.min(usual * 2, MAX_INTERVAL_MS));
  }

  /** Speeds up after a success of a request started at `startedAt`, unless it started before the last slowdown. */
  succeed(startedAt: number): void {
    if (startedAt > this.#slowedAt) {
      this.#intervalMs = Math.max(this.#baseIntervalMs, this.#intervalMs * RECOVERY);
    }
    this.#retries = Math.min(this.#retryCapacity, this.#retries + REFUND);
  }

  /** Takes a retry from the budget shared by all requests to the host; false if it is spent. */
  takeRetry(): boolean {
    if (this.#retries < 1) return false;
    this.#retries--;
    return true;
  }

  async #send<T>({ startedAt, place }: Turn, task: (startedAt: number) => Promise<T>): Promise<T> {
    this.#pending++;
    const connects = this.#pending > this.#connections;
    if (connects) this.#connections = this.#pending;
    try {
      return await task(startedAt);
    } finally {
      this.#pending--;
      if (connects) this.#starts[place] = this.#options.clock.now();
    }
  }

  async #takeTurn(signal: AbortSignal): Promise<Turn> {
    const { clock, sleep } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      const now = clock.now();
      const fullUntil = at(this.#starts, this.#oldest) + this.#windowMs;
      const waitMs = Math.max(this.#nextAt, this.#notBefore, fullUntil) - now;
      if (waitMs <= 0) {
        return { startedAt: now, place: this.#start(now) };
      }
      this.#assertNotTooLong(this.#notBefore - now);
      await sleep(waitMs, signal);
    }
  }

  /** Continues at the even rate from `at`, without catching up time before it. */
  #continueFrom(at: number): void {
    this.#nextAt = Math.max(this.#nextAt, at);
  }

  #start(now: number): number {
    const place = this.#oldest;
    this.#nextAt = Math.max(this.#nextAt, now - MAX_CATCH_UP_MS) + this.#intervalMs;
    this.#starts[place] = now;
    this.#oldest = (place + 1) % this.#starts.length;
    const sinceLast = now - this.#lastStart;
    this.#lastStart = now;
    if (sinceLast < 1000) this.#averageIntervalMs = this.#averageIntervalMs * 0.9 + sinceLast * 0.1;
    return place;
  }

  #assertNotTooLong(waitMs: number): void {
    if (waitMs <= this.#options.maxWaitMs) return;
    throw waitTooLong(this.#options, waitMs);
  }
}

/** The server asked for a longer wait than the user allows. */
export function waitTooLong(
  { host, maxWaitMs, clock }: Pick<LimiterOptions, 'host' | 'maxWaitMs' | 'clock'>,
  waitMs: number,
): SvcError {
  const duration = formatDuration(Math.ceil(waitMs / 1000) * 1000);
  const until = describeInstant(clock.now() + waitMs);
  return new SvcError(
    'wait_too_long',
    `${host} asked to wait ${duration}, until ${until}, before the next request.`,
    {
      hint: `Run the same command again after that time, or allow longer waits than ${formatDuration(maxWaitMs)} with http.maxWaitMs.`,
      facts: { host, waitMs },
    },
  );
}

function describeInstant(ms: number): string {
  const date = new Date(Math.min(ms, 8.64e15));
  return date
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
}

export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** A longer timer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const sleepForReal: Sleep = async (ms, signal) => {
  for (let rest = ms; rest > 0; rest -= MAX_TIMER_MS) {
    try {
      await delay(Math.min(rest, MAX_TIMER_MS), undefined, { signal });
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    }
  }
};

/** The wall clock at process start plus a monotonic clock, so that waits are not affected when the time is corrected. */
export const steadyClock: Clock = { now: () => performance.timeOrigin + performance.now() };

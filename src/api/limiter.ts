import pLimit, { type LimitFunction } from 'p-limit';
import { SvcError } from '../errors.js';
import type { Clock, Sleep } from './sleep.js';

export interface LimiterOptions {
  readonly host: string;
  readonly concurrency: number;
  readonly requestsPerSecond: number;
  /** Attempts of one request, the first included. */
  readonly attempts: number;
  /** Longest wait that is waited. */
  readonly maxWaitMs: number;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly signal: AbortSignal;
}

/**
 * Late timers are made up for by at most this, and requests are spaced by so much more than the limit asks
 * that no second ever holds one too many: `rate × interval ≥ 1000 + tolerance`.
 */
const TOLERANCE_MS = 15;
const SPACING = 1.02;
/**
 * After a 429 requests are spaced twice as far, at most this; each success brings them closer again, so that
 * five make up for one 429 and a server that refuses one request in ten is not slowed to a crawl.
 */
const WIDEST_INTERVAL_MS = 5000;
const RECOVERY = 0.85;
/** Part of a retry that each success gives back. */
const REFUND = 0.5;

/** Everything one host is spared: at most so many requests at once and per second, none before it said. */
export class HostLimiter {
  readonly #options: LimiterOptions;
  readonly #slots: LimitFunction;
  /** One request at a time waits for its turn; the others stand in line. */
  readonly #turns: LimitFunction = pLimit(1);
  readonly #baseIntervalMs: number;
  readonly #retryCapacity: number;
  #intervalMs: number;
  #nextAt = 0;
  #notBefore = 0;
  #slowedAt = 0;
  #startedAt = 0;
  #usualIntervalMs = 0;
  #retries: number;

  constructor(options: LimiterOptions) {
    this.#options = options;
    this.#slots = pLimit(options.concurrency);
    this.#baseIntervalMs = (1000 * SPACING) / options.requestsPerSecond;
    this.#intervalMs = this.#baseIntervalMs;
    // one full round of retries for everything under way: an outage costs this, then nothing more
    this.#retryCapacity = options.concurrency * (options.attempts - 1);
    this.#retries = this.#retryCapacity;
  }

  /**
   * Runs `task` when the host may be asked.
   *
   * @throws SvcError `wait_too_long`, the signal's reason
   */
  run<T>(task: (startedAt: number) => Promise<T>): Promise<T> {
    return this.#slots(async () => {
      const startedAt = await this.#turns(() => this.#takeTurn());
      return task(startedAt);
    });
  }

  /** Nobody asks this host for so long; true where that moved the end of the wait. */
  hold(waitMs: number): boolean {
    const until = this.#options.clock.now() + waitMs;
    if (until <= this.#notBefore) return false;
    this.#notBefore = until;
    return true;
  }

  /** The host answered 429 to a request started at `startedAt`; one burst slows down once. */
  slowDown(startedAt: number): void {
    if (startedAt <= this.#slowedAt) return;
    this.#slowedAt = this.#options.clock.now();
    const usual = Math.max(this.#intervalMs, this.#usualIntervalMs);
    this.#intervalMs = Math.max(this.#baseIntervalMs, Math.min(usual * 2, WIDEST_INTERVAL_MS));
  }

  /** The host answered a request started at `startedAt` well; one that began before the last 429 says nothing of the pace since. */
  succeed(startedAt: number): void {
    if (startedAt > this.#slowedAt) {
      this.#intervalMs = Math.max(this.#baseIntervalMs, this.#intervalMs * RECOVERY);
    }
    this.#retries = Math.min(this.#retryCapacity, this.#retries + REFUND);
  }

  /** Takes one retry from the budget all requests to the host share; false where it is spent. */
  takeRetry(): boolean {
    if (this.#retries < 1) return false;
    this.#retries--;
    return true;
  }

  async #takeTurn(): Promise<number> {
    const { clock, sleep, signal } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      const now = clock.now();
      const waitMs = Math.max(this.#nextAt, this.#notBefore) - now;
      if (waitMs <= 0) {
        this.#start(now);
        return now;
      }
      this.#assertBearable(this.#notBefore - now);
      await sleep(waitMs, signal);
    }
  }

  #start(now: number): void {
    this.#nextAt = Math.max(this.#nextAt, now - TOLERANCE_MS) + this.#intervalMs;
    const sinceLast = now - this.#startedAt;
    this.#startedAt = now;
    // longer pauses are idleness, not pace
    if (sinceLast < 1000) this.#usualIntervalMs = this.#usualIntervalMs * 0.9 + sinceLast * 0.1;
  }

  #assertBearable(waitMs: number): void {
    if (waitMs <= this.#options.maxWaitMs) return;
    throw waitTooLong(this.#options.host, waitMs, this.#options.maxWaitMs);
  }
}

/** The server asked for a longer wait than the user allows. */
export function waitTooLong(host: string, waitMs: number, maxWaitMs: number): SvcError {
  const seconds = Math.ceil(waitMs / 1000);
  return new SvcError('wait_too_long', `${host} asked to wait ${seconds} s before the next request.`, {
    hint: `Run the same command again after that time, or allow longer waits than ${maxWaitMs} ms with --max-wait or http.maxWaitMs.`,
    facts: { host, waitMs },
  });
}

import { setTimeout as delay } from 'node:timers/promises';
import type { LimitFunction } from 'p-limit';
import pLimit from 'p-limit';
import type { Clock } from '../domain.js';
import { SvcError } from '../errors.js';
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

/** How much of the time that late timers lose is made up. */
const CATCH_UP_MS = 20;
/**
 * Requests are spaced so that any n + 1 starts, for a limit of n per second, take a second and 4 ms at least: n intervals
 * are longer than a second by this.
 */
const SLACK_MS = 24;
/** Fraction of a retry that each success returns to the budget. */
const REFUND = 0.5;

/** Limits requests to one host: concurrency, requests per second, waits that the host asked for, and retries. */
export class HostLimiter {
  readonly #options: LimiterOptions;
  readonly #slots: LimitFunction;
  readonly #turns: LimitFunction = pLimit(1);
  readonly #intervalMs: number;
  readonly #maxRetries: number;
  #nextAt = 0;
  #heldUntil = 0;
  #retries: number;

  constructor(options: LimiterOptions) {
    const { concurrency, requestsPerSecond, attempts } = options;
    this.#options = options;
    this.#slots = pLimit(concurrency);
    this.#intervalMs = 1000 / requestsPerSecond + SLACK_MS / Math.ceil(requestsPerSecond);
    this.#maxRetries = concurrency * (attempts - 1);
    this.#retries = this.#maxRetries;
  }

  /**
   * Runs `task` once the limits allow it.
   *
   * @throws SvcError `wait_too_long`, the signal's reason
   */
  run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#slots(async () => {
      await this.#turns(() => this.#waitForTurn(signal));
      return await task();
    });
  }

  /** Starts no request for this time; returns true if that extends the current wait. */
  hold(waitMs: number): boolean {
    const until = this.#options.clock.now() + waitMs;
    if (until <= this.#heldUntil) return false;
    this.#heldUntil = until;
    return true;
  }

  /** Takes a retry from the budget shared by all requests to the host; false if it is spent. */
  takeRetry(): boolean {
    if (this.#retries < 1) return false;
    this.#retries--;
    return true;
  }

  succeed(): void {
    this.#retries = Math.min(this.#maxRetries, this.#retries + REFUND);
  }

  async #waitForTurn(signal: AbortSignal): Promise<void> {
    const { clock, sleep, maxWaitMs } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      const now = clock.now();
      const heldMs = this.#heldUntil - now;
      if (heldMs > maxWaitMs) throw waitTooLong(this.#options, heldMs);
      const waitMs = Math.max(this.#nextAt - now, heldMs);
      if (waitMs <= 0) {
        this.#nextAt = Math.max(this.#nextAt, now - CATCH_UP_MS) + this.#intervalMs;
        return;
      }
      await sleep(waitMs, signal);
    }
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
  return date.toISOString().replace(/T(.*)\.\d+Z$/, ' $1 UTC');
}

export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** A longer timer would fire at once; whoever waits checks the time again. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const sleepForReal: Sleep = async (ms, signal) => {
  try {
    await delay(Math.min(ms, MAX_TIMER_MS), undefined, { signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
};

/** The wall clock at process start plus a monotonic clock, so that waits are not affected when the time is corrected. */
export const steadyClock: Clock = { now: () => performance.timeOrigin + performance.now() };

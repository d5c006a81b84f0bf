import { setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { ApiKeys } from '../config/api-keys.js';
import type { Config, Endpoint } from '../config/config.js';
import type { Clock, Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import { comparableHost } from '../text/addresses.js';
import { must } from '../text/at.js';
import { formatDuration } from '../text/numbers.js';

export interface Host {
  readonly generation: Generation;
  readonly label: string;
  readonly endpoint: Endpoint;
  /** '' if only the other generation is read. */
  readonly key: string;
  readonly limiter: HostLimiter;
  /** The service's clock minus ours at its last response with a `Date` header, to the second; null before. */
  clockOffsetMs: number | null;
}

/** Builds the hosts: V3's regions, then V4. Endpoints on one host share a limiter with the lowest of their limits. */
export function buildHosts(
  config: Config,
  keys: ApiKeys,
  waits: Pick<LimiterOptions, 'attempts' | 'maxWaitMs' | 'clock' | 'sleep'>,
): Host[] {
  const { regions } = config.v3;
  const endpoints = [...regions, config.v4];
  const limiters = new Map<string, HostLimiter>();
  for (const endpoint of endpoints) {
    const host = hostOf(endpoint);
    const here = endpoints.filter((other) => hostOf(other) === host);
    const concurrency = Math.min(...here.map((other) => other.concurrency));
    const requestsPerSecond = Math.min(...here.map((other) => other.requestsPerSecond));
    limiters.set(host, new HostLimiter({ ...waits, host, concurrency, requestsPerSecond }));
  }
  return endpoints.map((endpoint) => {
    const isV4 = endpoint === config.v4;
    const { region } = endpoint;
    return {
      generation: isV4 ? 'v4' : 'v3',
      label: isV4 ? 'V4' : regions.length > 1 ? `V3 ${region}` : 'V3',
      endpoint,
      key: (isV4 ? keys.v4 : keys.v3.get(region)) ?? '',
      limiter: must(limiters.get(hostOf(endpoint))),
      clockOffsetMs: null,
    };
  });
}

function hostOf({ baseUrl }: Endpoint): string {
  return comparableHost(baseUrl) ?? baseUrl;
}

export interface LimiterOptions {
  readonly host: string;
  readonly concurrency: number;
  readonly requestsPerSecond: number;
  readonly attempts: number;
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

export class HostLimiter {
  readonly #options: LimiterOptions;
  readonly #slots;
  readonly #turns = pLimit(1);
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

  /** @throws SvcError `wait_too_long`, the signal's reason */
  run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#slots(async () => {
      await this.#turns(() => this.#waitForTurn(signal));
      return await task();
    });
  }

  /** Starts no request for this time; returns true if that extends the wait. @throws SvcError `wait_too_long` */
  hold(waitMs: number): boolean {
    const until = this.#options.clock.now() + waitMs;
    const isLonger = until > this.#heldUntil;
    if (isLonger) this.#heldUntil = until;
    this.#assertWait(waitMs);
    return isLonger;
  }

  #assertWait(waitMs: number): void {
    const { host, maxWaitMs, clock } = this.#options;
    if (waitMs <= maxWaitMs) return;
    const duration = formatDuration(Math.ceil(waitMs / 1000) * 1000);
    const until = new Date(Math.min(clock.now() + waitMs, 8.64e15)).toISOString();
    const text = `${host} asked to wait ${duration}, until ${until.replace(/T(.*)\.\d+Z$/, ' $1 UTC')}, before the next request.`;
    throw new SvcError('wait_too_long', text, {
      hint: `Run the same command again after that time, or allow longer waits than ${formatDuration(maxWaitMs)} with http.maxWaitMs.`,
      facts: { host, waitMs },
    });
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
    const { clock, sleep } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      const now = clock.now();
      const heldMs = this.#heldUntil - now;
      this.#assertWait(heldMs);
      const waitMs = Math.max(this.#nextAt - now, heldMs);
      if (waitMs <= 0) {
        this.#nextAt = Math.max(this.#nextAt, now - CATCH_UP_MS) + this.#intervalMs;
        return;
      }
      await sleep(waitMs, signal);
    }
  }
}

export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** A longer timer would fire at once; whoever waits checks the time again. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const realSleep: Sleep = async (ms, signal) => {
  try {
    await delay(Math.min(ms, MAX_TIMER_MS), undefined, { signal });
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  }
};

/** The wall clock at process start plus a monotonic clock, so that waits are not affected when the time is corrected. */
export const steadyClock: Clock = { now: () => performance.timeOrigin + performance.now() };

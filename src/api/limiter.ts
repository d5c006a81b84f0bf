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
  /** Told until when the host is left alone, ms since 1970. */
  readonly onHold?: (untilMs: number) => void;
}

/**
 * What keeps the rate, for a limit of 50 a second; others likewise, below one a second with a longer second.
 *
 * | what happens                  | what holds                                                                     |
 * | ----------------------------- | ------------------------------------------------------------------------------ |
 * | requests stand in line        | starts lie 20.48 ms apart: evenly, 2.4 % slower than asked                     |
 * | timers fire late, work stalls | up to 200 ms are made up for, so that the rate is kept                         |
 * | whatever happened before      | a start comes 1020 ms after the 50th before it, or later                       |
 * | requests arrive early or late | by less than these 20 ms: no second sees 51                                    |
 * | a connection is opened        | its request counts from its answer on, when it has surely arrived; until then  |
 * |                               | from its start                                                                 |
 * | nobody asks, or the host says | nothing is made up for: it goes on evenly, after a 429 at half the pace        |
 * | to wait, or answers 429       |                                                                                |
 */
const SPACING = 1.024;
const MADE_UP_MS = 200;
const GUARD_MS = 20;
/**
 * After a 429 requests are spaced twice as far, at most this; each success brings them closer again, so that
 * five make up for one 429 and a server that refuses one request in ten is not slowed to a crawl.
 */
const WIDEST_INTERVAL_MS = 5000;
const RECOVERY = 0.85;
/** Part of a retry that each success gives back. */
const REFUND = 0.5;

interface Turn {
  readonly startedAt: number;
  /** Its place among the last starts. */
  readonly place: number;
}

/** Limits requests to one host: concurrency, requests per second, and any Retry-After the host sent. */
export class HostLimiter {
  readonly #options: LimiterOptions;
  readonly #slots: LimitFunction;
  /** One request at a time waits for its turn; the others stand in line. */
  readonly #turns: LimitFunction = pLimit(1);
  readonly #baseIntervalMs: number;
  /** So many starts, the last ones, fit in so much time. */
  readonly #starts: Float64Array;
  readonly #windowMs: number;
  readonly #retryCapacity: number;
  #intervalMs: number;
  /** The place in `#starts` of the oldest, which the next takes. */
  #oldest = 0;
  #underWay = 0;
  /** As many as were ever under way at once. */
  #connections = 0;
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
    this.#starts = new Float64Array(Math.ceil(options.requestsPerSecond)).fill(Number.NEGATIVE_INFINITY);
    this.#windowMs = (1000 * this.#starts.length) / options.requestsPerSecond + GUARD_MS;
    // one full round of retries for everything under way: an outage costs this, then nothing more
    this.#retryCapacity = options.concurrency * (options.attempts - 1);
    this.#retries = this.#retryCapacity;
  }

  /**
   * Runs `task` when the host may be asked.
   *
   * @throws SvcError `wait_too_long`, the signal's reason
   */
  run<T>(task: (startedAt: number) => Promise<T>, signal: AbortSignal): Promise<T> {
    return this.#slots(async () => {
      if (this.#turns.activeCount + this.#turns.pendingCount === 0) this.#goOnFrom(this.#options.clock.now());
      const turn = await this.#turns(() => this.#takeTurn(signal));
      return this.#send(turn, task);
    });
  }

  /** Nobody asks this host for so long; true where that moved the end of the wait. */
  hold(waitMs: number): boolean {
    const until = this.#options.clock.now() + waitMs;
    if (until <= this.#notBefore) return false;
    this.#notBefore = until;
    this.#goOnFrom(until);
    this.#options.onHold?.(until);
    return true;
  }

  /** The host answered 429 to a request started at `startedAt`; one burst slows down once. */
  slowDown(startedAt: number): void {
    if (startedAt <= this.#slowedAt) return;
    this.#slowedAt = this.#options.clock.now();
    this.#goOnFrom(this.#slowedAt);
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

  async #send<T>({ startedAt, place }: Turn, task: (startedAt: number) => Promise<T>): Promise<T> {
    this.#underWay++;
    const connects = this.#underWay > this.#connections;
    if (connects) this.#connections = this.#underWay;
    try {
      return await task(startedAt);
    } finally {
      this.#underWay--;
      if (connects) this.#starts[place] = this.#options.clock.now();
    }
  }

  async #takeTurn(signal: AbortSignal): Promise<Turn> {
    const { clock, sleep } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      const now = clock.now();
      const fullUntil = (this.#starts[this.#oldest] ?? 0) + this.#windowMs;
      const waitMs = Math.max(this.#nextAt, this.#notBefore, fullUntil) - now;
      if (waitMs <= 0) {
        return { startedAt: now, place: this.#start(now) };
      }
      this.#assertNotTooLong(this.#notBefore - now);
      await sleep(waitMs, signal);
    }
  }

  /** What was not started before that moment is not made up for. */
  #goOnFrom(at: number): void {
    this.#nextAt = Math.max(this.#nextAt, at);
  }

  #start(now: number): number {
    const place = this.#oldest;
    this.#nextAt = Math.max(this.#nextAt, now - MADE_UP_MS) + this.#intervalMs;
    this.#starts[place] = now;
    this.#oldest = (place + 1) % this.#starts.length;
    const sinceLast = now - this.#startedAt;
    this.#startedAt = now;
    // longer pauses are idleness, not pace
    if (sinceLast < 1000) this.#usualIntervalMs = this.#usualIntervalMs * 0.9 + sinceLast * 0.1;
    return place;
  }

  #assertNotTooLong(waitMs: number): void {
    if (waitMs <= this.#options.maxWaitMs) return;
    throw waitTooLong(this.#options, waitMs);
  }
}

/** A wait that a host asked for, times in ms since 1970. */
export interface HostWait {
  readonly host: string;
  readonly askedAtMs: number;
  readonly untilMs: number;
}

/** The limiters of a process: one for each host, whichever API, phase or client asks it. */
export class HostLimits {
  readonly #limiters = new Map<string, HostLimiter>();
  readonly #earlier = new Map<string, HostWait>();
  readonly #asked = new Map<string, HostWait>();
  #save: ((wait: HostWait) => void) | null = null;

  /** The host's limiter, made with these options where there is none yet. */
  limiterOf(options: Omit<LimiterOptions, 'onHold'>): HostLimiter {
    const { host, clock } = options;
    const known = this.#limiters.get(host);
    if (known !== undefined) return known;
    const onHold = (untilMs: number): void => {
      const wait = { host, askedAtMs: clock.now(), untilMs };
      this.#asked.set(host, wait);
      this.#save?.(wait);
    };
    const limiter = new HostLimiter({ ...options, onHold });
    const wait = this.#earlier.get(host);
    if (wait !== undefined) limiter.hold(wait.untilMs - clock.now());
    this.#limiters.set(host, limiter);
    return limiter;
  }

  /** Holds hosts back that asked an earlier process to wait. Call before their limiters are made. */
  resume(waits: readonly HostWait[]): void {
    for (const wait of waits) this.#earlier.set(wait.host, wait);
  }

  /** Runs `work`; `save` is called with each wait as soon as a host asks for it. */
  async savingWith<T>(save: (wait: HostWait) => void, work: () => Promise<T>): Promise<T> {
    this.#save = save;
    try {
      return await work();
    } finally {
      this.#save = null;
    }
  }

  /** The waits that hosts asked for, the last of each. */
  waits(): readonly HostWait[] {
    return [...this.#asked.values()];
  }
}

/** The server asked for a longer wait than the user allows. */
export function waitTooLong(
  { host, maxWaitMs, clock }: Pick<LimiterOptions, 'host' | 'maxWaitMs' | 'clock'>,
  waitMs: number,
): SvcError {
  const seconds = Math.ceil(waitMs / 1000);
  const until = describeInstant(clock.now() + waitMs);
  return new SvcError(
    'wait_too_long',
    `${host} asked to wait ${seconds} s, until ${until}, before the next request.`,
    {
      hint: `Run the same command again after that time, or allow longer waits than ${maxWaitMs} ms with --max-wait or http.maxWaitMs.`,
      facts: { host, waitMs },
    },
  );
}

/** `2026-01-31 09:30:00 UTC`; a wait may end after the last date there is. */
function describeInstant(ms: number): string {
  const date = new Date(Math.min(ms, 8.64e15));
  return date
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
}

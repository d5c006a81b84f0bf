import { setTimeout as delay } from 'node:timers/promises';

/** Waits; rejects with the signal's reason when it aborts. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** Returns the time in ms since 1970. */
export interface Clock {
  now(): number;
}

/** A longer timer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Sleeps on real timers, for any duration. */
export const sleepForReal: Sleep = async (ms, signal) => {
  for (let left = ms; left > 0; left -= MAX_TIMER_MS) {
    try {
      await delay(Math.min(left, MAX_TIMER_MS), undefined, { signal });
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    }
  }
};

/** The wall clock at process start plus a monotonic clock, so that waits are not affected when the time is corrected. */
export const steadyClock: Clock = { now: () => performance.timeOrigin + performance.now() };

import { setTimeout as delay } from 'node:timers/promises';

/** Waits; rejects with the signal's reason as soon as it aborts. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** Tells the time in ms since 1970. */
export interface Clock {
  now(): number;
}

/** A timer set beyond this fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** `Sleep` on real timers, for any length. */
export const sleepForReal: Sleep = async (ms, signal) => {
  for (let left = ms; left > 0; left -= LONGEST_TIMER_MS) {
    try {
      await delay(Math.min(left, LONGEST_TIMER_MS), undefined, { signal });
    } catch (error) {
      throw signal.aborted ? signal.reason : error;
    }
  }
};

/** The wall clock of the start, moved on by a clock that never jumps: waits must survive a corrected time. */
export const steadyClock: Clock = { now: () => performance.timeOrigin + performance.now() };

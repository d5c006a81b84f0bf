import type { Sleep } from '../../../src/api/hosts.js';
import type { Clock } from '../../../src/domain.js';

interface Timer {
  readonly at: number;
  readonly wake: () => void;
}

/** A clock that stands still until somebody waits; then it jumps to whoever waits the shortest. */
export class VirtualTime {
  /** Every wait that was asked for, in ms. */
  readonly waits: number[] = [];
  #now: number;
  #timers: Timer[] = [];

  constructor(now = Date.parse('2026-01-01T00:00:00Z')) {
    this.#now = now;
  }

  readonly clock: Clock = { now: () => this.#now };

  readonly sleep: Sleep = (ms, signal) => {
    this.waits.push(ms);
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const stop = (): void => reject(signal.reason);
      signal.addEventListener('abort', stop, { once: true });
      const wake = (): void => {
        signal.removeEventListener('abort', stop);
        resolve();
      };
      this.#timers.push({ at: this.#now + ms, wake });
    });
  };

  /** What `work` comes to, while time passes only for those who wait on this clock. */
  async run<T>(work: Promise<T>): Promise<T> {
    let done = false;
    const settled = work.finally(() => {
      done = true;
    });
    settled.catch(() => {});
    while (!done) {
      await new Promise((resolve) => setImmediate(resolve));
      if (!done) this.#wakeNext();
    }
    return settled;
  }

  /** The machine is busy for so long: nobody who waits is woken meanwhile. */
  jump(ms: number): void {
    this.#now += ms;
  }

  /** Like `sleep`, for what a test's server or task takes. */
  pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.#timers.push({ at: this.#now + ms, wake: resolve }));
  }

  #wakeNext(): void {
    const next = this.#timers.reduce<Timer | null>((a, b) => (a !== null && a.at <= b.at ? a : b), null);
    if (next === null) return;
    this.#timers = this.#timers.filter((timer) => timer !== next);
    this.#now = Math.max(this.#now, next.at);
    next.wake();
  }
}

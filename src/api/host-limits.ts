import { HostLimiter, type LimiterOptions } from './limiter.js';

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

  /** The host's limiter, made with these options where there is none yet. */
  limiterOf(options: Omit<LimiterOptions, 'onHold'>): HostLimiter {
    const { host, clock } = options;
    const known = this.#limiters.get(host);
    if (known !== undefined) return known;
    const onHold = (untilMs: number): void =>
      void this.#asked.set(host, { host, askedAtMs: clock.now(), untilMs });
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

  /** The waits that hosts asked for, the last of each. */
  waits(): readonly HostWait[] {
    return [...this.#asked.values()];
  }
}

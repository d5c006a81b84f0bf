import type { Value } from './db/database.js';

export interface RowScope {
  readonly model: string | null;
  readonly region: string | null;
}

/**
 * What becomes of a value: the new value, or why there is none. `empty` and `not_ours` are no ids of the service; their
 * cells stay as they are. Other reasons are `status/reason` of the remap or `unknown/…`.
 */
export interface Verdict {
  readonly new: Value;
  readonly reason: string | null;
  /** Whether the limits of the gate accept that there is no V4 id. */
  readonly isAccepted: boolean;
}

/** Whether a value with this reason is an id without a V4 id, or cannot be known not to be one. */
export function isUnmapped(reason: string | null): boolean {
  return reason !== null && reason !== 'empty' && reason !== 'not_ours';
}

export function unknown(why: string): Verdict {
  return { new: null, reason: `unknown/${why}`, isAccepted: false };
}

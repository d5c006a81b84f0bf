import type { Value } from './db/database.js';

export interface RowScope {
  readonly model: string | null;
  readonly region: string | null;
}

/** A JSON document in which the paths select nothing. */
export const NO_ID_AT_PATH = 'no_id_at_path';

/**
 * What becomes of a value: the new value, or why there is none. `empty`, `not_ours` and `no_id_at_path` are no ids of the
 * service; their cells stay as they are. Other reasons are `status/reason` of the remap or `unknown/…`.
 */
export interface Verdict {
  readonly new: Value;
  readonly reason: string | null;
  /** Whether the limits of the gate accept that there is no V4 id. */
  readonly isAccepted: boolean;
  /** Positions of the paths that select nothing in this JSON document. */
  readonly nothingAt?: readonly number[];
}

/** Whether a value with this reason is an id without a V4 id, or cannot be known not to be one. */
export function isUnmapped(reason: string | null): boolean {
  return reason !== null && !['empty', 'not_ours', NO_ID_AT_PATH].includes(reason);
}

export function unknown(why: string): Verdict {
  return { new: null, reason: `unknown/${why}`, isAccepted: false };
}

import { blocks } from '../column-work.js';
import type { Note } from '../plan.js';

/** Smallest and largest of a 64-bit integer. */
export const INT64: readonly [bigint, bigint] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Integers that no row holds, one for each row that steps aside: `base ± n` with n from 1. */
export interface FreeIntegers {
  readonly base: bigint;
  readonly sign: '+' | '-';
}

/**
 * The free integers beyond those that are taken, in a column that takes `range`: above them, then below. Where ids
 * swap under a unique constraint, rows hold such a value for a moment.
 */
export function freeIntegers(
  range: readonly [bigint, bigint],
  taken: { readonly lowest: bigint; readonly highest: bigint },
  rows: bigint,
): FreeIntegers[] {
  const highest = taken.highest < 0n ? 0n : taken.highest;
  const lowest = taken.lowest > 0n ? 0n : taken.lowest;
  const found: FreeIntegers[] = [];
  if (highest + rows <= range[1]) found.push({ base: highest, sign: '+' });
  if (lowest - rows >= range[0]) found.push({ base: lowest, sign: '-' });
  return found;
}

/** What the plan says where no value is free. */
export function noRoomNote(column: string, type: string): Note {
  return blocks(
    'no_room',
    `${column} (${type}) is unique and has no free values for rows to hold while their ids swap: widen the column, or rewrite into a new one (without --in-place).`,
  );
}

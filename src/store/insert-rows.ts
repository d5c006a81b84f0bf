import type { Db } from './open.js';

/** Rows of one INSERT; larger batches are hardly faster. */
const BATCH = 32;

export type Value = string | number | bigint | Uint8Array | null;

/** Writes the values of row `at` from `values[to]` on. */
type WriteRow = (values: Value[], to: number, at: number) => void;

/**
 * Makes the function that inserts rows and returns how many were inserted. It inserts many rows with each statement,
 * which takes a third of the time.
 *
 * @param into the INSERT up to its VALUES
 * @param width values in a row
 */
export function prepareInsertRows(
  db: Db,
  into: string,
  width: number,
): (count: number, writeRow: WriteRow) => number {
  const row = `(${Array.from({ length: width }, () => '?').join(', ')})`;
  const many = db.prepare(`${into} VALUES ${Array.from({ length: BATCH }, () => row).join(', ')}`);
  const one = db.prepare(`${into} VALUES ${row}`);
  const ofMany: Value[] = Array.from({ length: width * BATCH }, () => null);
  const ofOne: Value[] = Array.from({ length: width }, () => null);
  return (count, writeRow) => {
    let inserted = 0;
    let at = 0;
    // spread, because binding an array is slower: it costs a sixth of the time
    for (; at + BATCH <= count; at += BATCH) {
      for (let i = 0; i < BATCH; i++) writeRow(ofMany, i * width, at + i);
      inserted += many.run(...ofMany).changes;
    }
    for (; at < count; at++) {
      writeRow(ofOne, 0, at);
      inserted += one.run(...ofOne).changes;
    }
    return inserted;
  };
}

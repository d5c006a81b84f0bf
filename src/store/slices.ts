import type { Db } from './open.js';

/** Rows of the remap in a verified block: a look-up reads and digests that many. */
export const ROWS_PER_BLOCK = 128;

/** Rows read by one statement on a part of a table, and how far the reading is. */
export interface Slice<Row> {
  readonly rows: readonly Row[];
  /** Bounds of the rowids, both included. */
  readonly from: bigint;
  readonly to: bigint;
  /** Slices read so far and in all. */
  readonly done: number;
  readonly total: number;
}

/**
 * Large enough that the statements cost little, small enough that each is done in a moment. Of the remap, slices begin
 * where verified blocks do.
 */
const ROWS = BigInt(400 * ROWS_PER_BLOCK);

/**
 * Runs one statement over a table slice by slice, so that nothing runs long and sorting stays in memory.
 * `sql` names the slice's bounds `@from` and `@to`; what it counts per slice the caller adds up.
 */
export function* readSlices<Row>(
  db: Db,
  table: 'remap' | 'record',
  sql: string,
  params: Readonly<Record<string, string>>,
): Generator<Slice<Row>> {
  const bounds = db
    .prepare<[], { first: bigint | null; last: bigint | null }>(
      `SELECT (SELECT min(rowid) FROM ${table}) AS first, (SELECT max(rowid) FROM ${table}) AS last`,
    )
    .get();
  if (bounds === undefined || bounds.first === null || bounds.last === null) return;
  const statement = db.prepare<[object], Row>(sql);
  const total = Number((bounds.last - bounds.first) / ROWS) + 1;
  for (let done = 1; done <= total; done += 1) {
    const from = bounds.first + BigInt(done - 1) * ROWS;
    const to = from + ROWS - 1n;
    yield { rows: statement.all({ ...params, from, to }), from, to, done, total };
  }
}

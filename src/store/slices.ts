import type { Db } from './open.js';

/** Rows of the remap in a digested block: a look-up reads and verifies that many. */
export const ROWS_PER_BLOCK = 128;

/** The result of a statement on a range of a table, and the progress. */
export interface Slice<Row> {
  readonly rows: readonly Row[];
  /** Range of rowids, inclusive. */
  readonly from: bigint;
  readonly to: bigint;
  /** Slices read so far, and their total number. */
  readonly done: number;
  readonly total: number;
}

/** Rows of a slice. A multiple of the block size, so that slices of the remap begin where blocks do. */
const ROWS = BigInt(400 * ROWS_PER_BLOCK);

/**
 * Runs a statement over a table slice by slice, so that no single statement takes long and sorting fits into memory.
 * `sql` uses `@from` and `@to` for the range of the slice; the caller combines the results.
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

import type { Db } from '../store/sqlite.js';

const ROWS_PER_BLOCK = 8192n;

/**
 * Creates a temporary table with the sums of blocks of rows, which a second sum makes whole: this is cheaper than one
 * sort of all rows.
 *
 * @param sums a statement over the rows whose id is above its first parameter and up to its second
 */
export function sumByBlocks(
  db: Db,
  { from, into, sums }: { readonly from: string; readonly into: `temp.${string}`; readonly sums: string },
  throwIfStopped: () => void,
): void {
  db.exec(`drop table if exists ${into}`);
  db.prepare(`create temp table ${into.slice('temp.'.length)} as ${sums}`).run(0n, 0n);
  const insert = db.prepare<[bigint, bigint]>(`insert into ${into} ${sums}`);
  const last = db.prepare<[], bigint>(`select ifnull(max(id), 0) from ${from}`).pluck().get() ?? 0n;
  for (let first = 0n; first < last; first += ROWS_PER_BLOCK) {
    throwIfStopped();
    insert.run(first, first + ROWS_PER_BLOCK);
  }
}

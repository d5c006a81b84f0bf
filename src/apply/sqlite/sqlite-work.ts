import { SvcError } from '../../errors.js';
import { quoteName } from '../sql-names.js';
import { notWritten } from '../tables/not-written.js';
import { isExactly } from './ledger.js';
import { parkingTerm } from './sqlite-parking.js';
import type { UserDb } from './user-db.js';

/**
 * A list of rows to change, all in one transaction: keys as they are (`k…`), values as they are (`o…`) and as they
 * shall be (`c…`), and whether this is the run's doing (`r…`: ids may map to themselves), one of each per column.
 * Lives in a temporary table.
 */
export interface WorkList {
  readonly table: string;
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** Columns under unique constraints: rows in each other's way step aside first. */
  readonly parked: readonly string[];
}

const WORK = 'temp.svc_migrate_work';

/** Makes the empty list; rows are inserted as `(k…, o…, c…, r…, parked)`. */
export function createWork(db: UserDb, { key, columns }: WorkList): void {
  const names = [
    ...key.map((_, at) => `k${at}`),
    ...columns.map((_, at) => `o${at}`),
    ...columns.map((_, at) => `c${at}`),
    ...columns.map((_, at) => `r${at}`),
  ];
  db.exec(`DROP TABLE IF EXISTS ${WORK}; CREATE TEMP TABLE svc_migrate_work(${names.join(', ')}, parked)`);
}

export function dropWork(db: UserDb): void {
  db.exec(`DROP TABLE IF EXISTS ${WORK}`);
}

/**
 * Changes every row of the list. Where a value is still held by another row of the list, that row first gets a
 * value nobody has.
 *
 * @throws SvcError where a row does not hold then what it shall; the caller rolls back
 */
export function changeWork(db: UserDb, work: WorkList, triggers: readonly string[]): void {
  const parking = parkRows(db, work);
  const set = work.columns.map((column, at) => `${quoteName(column)} = w.c${at}`).join(', ');
  const changed = db
    .prepare(
      `UPDATE ${quoteName(work.table)} AS t SET ${set} FROM ${WORK} AS w
       WHERE ${rowMatch(work, parking)}`,
    )
    .run().changes;
  const total = countWork(db);
  if (changed !== total || countHeld(db, work) !== total) throw notWritten(work.table, triggers);
}

/** Rows that hold what the list says; a trigger may have had its way with the others. */
function countHeld(db: UserDb, work: WorkList): number {
  const isThere = work.key.map((column, at) =>
    isExactly(`t.${quoteName(column)}`, newKeyTerm(work, column, at)),
  );
  const isHeld = work.columns.map((column, at) => `t.${quoteName(column)} IS w.c${at} COLLATE BINARY`);
  return Number(
    db
      .prepare(
        `SELECT count(*) FROM ${WORK} AS w JOIN ${quoteName(work.table)} AS t ON ${[...isThere, ...isHeld].join(' AND ')}`,
      )
      .pluck()
      .get(),
  );
}

/** Term for each parked column: the value a row of the list has while it stands aside. */
type Parking = ReadonlyMap<string, string>;

function parkRows(db: UserDb, work: WorkList): Parking {
  const parking = new Map<string, string>();
  for (const column of work.parked) {
    const at = work.columns.indexOf(column);
    if (at < 0) continue;
    const mark = `UPDATE ${WORK} SET parked = 1 WHERE o${at} IN (SELECT c${at} FROM ${WORK})`;
    if (db.prepare(mark).run().changes > 0) parking.set(column, termOf(db, work, column, at));
  }
  if (parking.size === 0) return parking;
  const set = [...parking].map(([column, term]) => `${quoteName(column)} = ${term}`).join(', ');
  db.exec(`UPDATE ${quoteName(work.table)} AS t SET ${set} FROM ${WORK} AS w
    WHERE w.parked = 1 AND ${rowMatch(work, new Map())}`);
  return parking;
}

function termOf(db: UserDb, { table }: WorkList, column: string, at: number): string {
  const largest = `SELECT max(c${at}) FROM ${WORK} WHERE typeof(c${at}) = 'integer'`;
  const highest = db.prepare<[], bigint | null>(largest).safeIntegers().pluck().get() ?? 0n;
  const term = parkingTerm(db, table, column, at, { highest, rows: BigInt(countWork(db)) });
  if (term !== null) return term;
  throw new SvcError('bad_input', `${column} has no free values for rows to hold while their ids swap.`, {
    hint: 'Rewrite into a new column (without --in-place).',
  });
}

/** Finds a row by its key; a key column that is parked has its parked value. */
function rowMatch({ key }: WorkList, parking: Parking): string {
  return key
    .map((column, at) => {
      const parked = parking.get(column);
      const value = parked === undefined ? `w.k${at}` : `iif(w.parked = 1, ${parked}, w.k${at})`;
      return isExactly(`t.${quoteName(column)}`, value);
    })
    .join(' AND ');
}

/** The key of a listed row after the change. */
export function newKeyTerm({ columns }: WorkList, keyColumn: string, at: number): string {
  const column = columns.indexOf(keyColumn);
  return column < 0 ? `w.k${at}` : `w.c${column}`;
}

function countWork(db: UserDb): number {
  return Number(db.prepare(`SELECT count(*) FROM ${WORK}`).pluck().get());
}

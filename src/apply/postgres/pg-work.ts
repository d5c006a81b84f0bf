import { SvcError } from '../../errors.js';
import { quoteName } from '../sql-names.js';
import { notWritten } from '../tables/not-written.js';
import type { TableColumn } from '../tables/table-facts.js';
import { parkingTerm } from './pg-parking.js';
import type { PgSession } from './pg-session.js';

/**
 * A list of rows to change, all in one transaction: keys as they are (`k…`), values as they are (`o…`) and as they
 * shall be (`c…`), whether this is the run's doing (`r…`: ids may map to themselves), a number (`n`) and whether the row steps aside first (`parked`). Lives in a temporary table.
 */
export interface WorkList {
  /** Schema and table, quoted. */
  readonly table: string;
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** Columns under unique constraints: rows in each other's way step aside first. */
  readonly parked: readonly TableColumn[];
}

export const WORK = 'pg_temp.svc_migrate_work';

/** Makes the list from a query of `k…, o…, c…, r…` in this order. */
export async function createWork(
  session: PgSession,
  { key, columns }: WorkList,
  query: string,
): Promise<void> {
  const names = [
    ...key.map((_, at) => `k${at}`),
    ...columns.map((_, at) => `o${at}`),
    ...columns.map((_, at) => `c${at}`),
    ...columns.map((_, at) => `r${at}`),
  ];
  await session.exec(
    `DROP TABLE IF EXISTS ${WORK};
     CREATE TEMP TABLE svc_migrate_work ON COMMIT DROP AS
       SELECT q.*, row_number() OVER () AS n, false AS parked FROM (${query}) AS q(${names.join(', ')});
     ANALYZE ${WORK}`,
  );
}

/**
 * Changes every row of the list. Where a value is still held by another row of the list, that row first gets a
 * value nobody has.
 *
 * @throws SvcError `bad_input` where there is no room to step aside, or a row does not hold then what it shall; the
 * caller rolls back
 */
export async function changeWork(
  session: PgSession,
  work: WorkList,
  triggers: readonly string[],
): Promise<void> {
  if (triggers.length > 0) await session.useUserPath();
  const parking = await parkRows(session, work);
  const set = work.columns.map((column, at) => `${quoteName(column)} = w.c${at}`).join(', ');
  const changed = await session.query(
    `UPDATE ${work.table} AS t SET ${set} FROM ${WORK} AS w WHERE ${rowMatch(work, parking)}`,
  );
  const total = Number(await session.one(`SELECT count(*) FROM ${WORK}`));
  if (changed.count !== total || (await countHeld(session, work)) !== total) {
    throw notWritten(work.table, triggers);
  }
}

/** Rows that hold what the list says; a trigger may have had its way with the others. */
async function countHeld(session: PgSession, work: WorkList): Promise<number> {
  const isThere = work.key.map((column, at) => `t.${quoteName(column)} = ${newKeyTerm(work, column, at)}`);
  const isHeld = work.columns.map(
    (column, at) => `t.${quoteName(column)}::text IS NOT DISTINCT FROM w.c${at}::text`,
  );
  const on = [...isThere, ...isHeld].join(' AND ');
  return Number(await session.one(`SELECT count(*) FROM ${WORK} AS w JOIN ${work.table} AS t ON ${on}`));
}

/** Term for each parked column: the value a row of the list has while it stands aside. */
type Parking = ReadonlyMap<string, string>;

async function parkRows(session: PgSession, work: WorkList): Promise<Parking> {
  const parking = new Map<string, string>();
  for (const column of work.parked) {
    const at = work.columns.indexOf(column.name);
    if (at < 0) continue;
    const marked = await session.query(
      `UPDATE ${WORK} SET parked = true WHERE o${at}::text IN (SELECT c${at}::text FROM ${WORK})`,
    );
    if (marked.count > 0) parking.set(column.name, await termOf(session, work, column, at));
  }
  if (parking.size === 0) return parking;
  const set = [...parking].map(([column, term]) => `${quoteName(column)} = ${term}`).join(', ');
  await session.exec(
    `UPDATE ${work.table} AS t SET ${set} FROM ${WORK} AS w WHERE w.parked AND ${rowMatch(work, new Map())}`,
  );
  return parking;
}

async function termOf(session: PgSession, work: WorkList, column: TableColumn, at: number): Promise<string> {
  const rows = BigInt((await session.one(`SELECT count(*) FROM ${WORK}`)) ?? '0');
  const largest = `SELECT coalesce(ceil(max(c${at}::numeric)), 0)::text FROM ${WORK}
    WHERE c${at}::numeric > '-Infinity' AND c${at}::numeric < 'Infinity'`;
  const highest = column.holds === 'integer' ? BigInt((await session.one(largest)) ?? '0') : 0n;
  const term = await parkingTerm(session, work.table, column, { highest, rows });
  if (term === null) throw noRoom(column);
  return term;
}

function noRoom({ name, type }: TableColumn): SvcError {
  return new SvcError('bad_input', `${name} (${type}) has no room for ids to step aside while they swap.`, {
    hint: 'Widen the column, or rewrite into a new one (without --in-place).',
  });
}

/** Finds a row by its key; a key column that is parked has its parked value. */
function rowMatch({ key }: WorkList, parking: Parking): string {
  return key
    .map((column, at) => {
      const parked = parking.get(column);
      const value = parked === undefined ? `w.k${at}` : `CASE WHEN w.parked THEN ${parked} ELSE w.k${at} END`;
      return `t.${quoteName(column)} = ${value}`;
    })
    .join(' AND ');
}

/** The key of a listed row after the change. */
export function newKeyTerm({ columns }: WorkList, keyColumn: string, at: number): string {
  const column = columns.indexOf(keyColumn);
  return column < 0 ? `w.k${at}` : `w.c${column}`;
}

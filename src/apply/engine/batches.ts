import { SvcError } from '../../errors.js';
import type { Engine } from './dialect.js';
import { keyMatch } from './ledger-entries.js';
import type { TableRun } from './ledger-tables.js';

/** Ledger entries that are carried out in one transaction: those after `from` up to `until`. */
export interface Batch {
  readonly from: number;
  readonly until: number;
}

/** What is carried out next of a run; null where all of it was. */
export function nextBatch(
  { done, last }: { readonly done: number; readonly last: number },
  batchRows: number,
): Batch | null {
  return done < last ? { from: done, until: Math.min(done + batchRows, last) } : null;
}

/** What is taken back of a run: all that was carried out, in the same order. */
export function undoBatches(
  { first, done }: { readonly first: number; readonly done: number },
  batchRows: number,
): Batch[] {
  const count = Math.ceil((done - first) / batchRows);
  return Array.from({ length: count }, (_, at) => {
    const from = first + at * batchRows;
    return { from, until: Math.min(from + batchRows, done) };
  });
}

/** The entries of one column in a batch. */
export interface BatchColumn {
  readonly run: TableRun;
  readonly batch: Batch;
  readonly col: number;
  readonly triggers: readonly string[];
}

/** What the statements about a batch's column have in common, as SQL. */
function describeColumn({ dialect }: Engine, { run, batch, col }: BatchColumn) {
  const column = run.target.ids[col]?.column ?? '';
  const table = `${dialect.tableSql(run.table)} AS t`;
  const isRow = keyMatch(dialect, run, 'e.row_key');
  const holds = (which: 'old' | 'new') => dialect.isSame(`t.${dialect.quote(column)}`, `e.${which}`);
  return {
    column,
    table,
    isRow,
    holds,
    entries: `${run.ledger.entry} AS e`,
    /** A condition that entry `e` is one of them. */
    isInBatch: `e.id > ${batch.from} AND e.id <= ${batch.until} AND e.unit = ${run.unit} AND e.col = ${col}`,
    rowHolds: (which: 'old' | 'new') => `EXISTS (SELECT 1 FROM ${table} WHERE ${isRow} AND ${holds(which)})`,
  };
}

/** Changes the rows of a batch, each only while it holds the guarded value; returns how many. */
async function changeRows(
  { session, dialect }: Engine,
  { run, col }: BatchColumn,
  { column, entries, isInBatch, isRow, holds }: ReturnType<typeof describeColumn>,
  guard: 'old' | 'new',
): Promise<number> {
  const value = guard === 'old' ? 'new' : 'old';
  const sql = dialect.updateFrom({
    table: run.table,
    set: [[column, dialect.fromEntry(`e.${value}`, run.types[col] ?? '')]],
    from: entries,
    where: `${isInBatch} AND ${isRow} AND ${holds(guard)}`,
  });
  return (await session.query(sql)).count;
}

/** Keeps others from changing the rows of a batch, so that several statements see the same of them. */
async function lockRows(
  { session, dialect }: Engine,
  { table, entries, isInBatch, isRow }: ReturnType<typeof describeColumn>,
): Promise<void> {
  if (dialect.lockRows === null) return;
  await session.one(
    `SELECT count(*) FROM (SELECT 1 AS one FROM ${entries} JOIN ${table} ON ${isRow} WHERE ${isInBatch} ${dialect.lockRows}) AS q`,
  );
}

/**
 * Changes every row of a batch; where one holds something else by now, its entry leaves the ledger and the row is not
 * touched. Returns how many are skipped so.
 *
 * @throws SvcError as `notWritten`
 */
export async function carryOutColumn(engine: Engine, batch: BatchColumn): Promise<number> {
  const { session } = engine;
  const { entry, skipped } = batch.run.ledger;
  const sql = describeColumn(engine, batch);
  const changesAll = async () => {
    const total = await session.one(`SELECT count(*) FROM ${sql.entries} WHERE ${sql.isInBatch}`);
    return (await changeRows(engine, batch, sql, 'old')) === Number(total);
  };
  await session.exec('SAVEPOINT svc_migrate_batch');
  if (await changesAll()) return 0;
  await session.exec('ROLLBACK TO SAVEPOINT svc_migrate_batch');
  await lockRows(engine, sql);
  const isOther = `${sql.isInBatch} AND NOT ${sql.rowHolds('old')}`;
  await session.exec(
    `INSERT INTO ${skipped} SELECT e.unit, e.col, e.row_key, e.old, e.new FROM ${sql.entries} WHERE ${isOther}`,
  );
  const { count } = await session.query(`DELETE FROM ${entry} AS e WHERE ${isOther}`);
  if (await changesAll()) return count;
  throw notWritten(batch.run.table, batch.triggers);
}

/**
 * Takes the rows of a batch back, with their entries; entries of rows that hold something else by now stay, and say so.
 *
 * @throws SvcError as `notWritten`
 */
export async function takeBackColumn(engine: Engine, batch: BatchColumn): Promise<void> {
  const { session, dialect } = engine;
  const sql = describeColumn(engine, batch);
  const back = dialect.temporary('svc_migrate_back');
  await lockRows(engine, sql);
  await session.exec(
    `DROP TABLE IF EXISTS ${back};
     CREATE TEMPORARY TABLE svc_migrate_back AS SELECT e.id FROM ${sql.entries} WHERE ${sql.isInBatch} AND ${sql.rowHolds('new')}`,
  );
  await changeRows(engine, batch, sql, 'new');
  const reverted = `SELECT 1 FROM ${sql.entries} JOIN ${back} AS b ON b.id = e.id WHERE NOT ${sql.rowHolds('old')} LIMIT 1`;
  if ((await session.one(reverted)) !== null) throw notWritten(batch.run.table, batch.triggers);
  await session.exec(
    `DELETE FROM ${batch.run.ledger.entry} WHERE id IN (SELECT id FROM ${back}); DROP TABLE ${back}`,
  );
}

/** Whether a row of the batch does not hold what was written to it, because a trigger changed it back. */
export async function isReverted(engine: Engine, batch: BatchColumn): Promise<boolean> {
  const { entries, isInBatch, rowHolds } = describeColumn(engine, batch);
  const sql = `SELECT 1 FROM ${entries} WHERE ${isInBatch} AND NOT ${rowHolds('new')} LIMIT 1`;
  return (await engine.session.one(sql)) !== null;
}

/** Rows that do not hold what was written to them a moment ago; the caller rolls back. */
export function notWritten(table: string, triggers: readonly string[]): SvcError {
  if (triggers.length === 0) {
    return new SvcError('internal', `Not every row of ${table} was found again by its key.`);
  }
  const names = triggers.join(', ');
  return new SvcError('bad_input', `Rows of ${table} did not keep the ids written to them: ${names}.`, {
    hint: `Put ${names} out of action while ids are rewritten.`,
    facts: { table, triggers: names },
  });
}

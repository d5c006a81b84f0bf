import { SvcError } from '../../errors.js';
import type { Engine } from './dialect.js';
import { keyMatch } from './ledger-entries.js';
import type { TableRun } from './ledger-tables.js';
import { writesPlatformId, writtenColumn } from './platform-ids.js';

/** Ledger entries handled in one transaction: ids above `from`, up to and including `until`. */
export interface Batch {
  readonly from: number;
  readonly until: number;
}

/** The next batch of a run; null if none is left. */
export function nextBatch(
  { done, last }: { readonly done: number; readonly last: number },
  batchRows: number,
): Batch | null {
  return done < last ? { from: done, until: Math.min(done + batchRows, last) } : null;
}

/** The batches to undo: every entry that was carried out, in the same order. */
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

/** One column of a batch. */
export interface BatchColumn {
  readonly run: TableRun;
  readonly batch: Batch;
  readonly col: number;
  readonly triggers: readonly string[];
}

/** SQL fragments that the statements on one column of a batch share. */
function describeColumn({ dialect }: Engine, { run, batch, col }: BatchColumn) {
  const id = run.target.ids[col];
  const isPlatformId = id !== undefined && writesPlatformId(id);
  const column = id === undefined ? '' : writtenColumn(id);
  /** The cell before and after. The entry of a platform_id has the id it belongs to as `old`. */
  const cells = { old: isPlatformId ? 'NULL' : 'e.old', new: 'e.new' };
  const table = `${dialect.tableSql(run.table)} AS t`;
  const isRow = keyMatch(dialect, run, 'e.row_key');
  const holds = (which: 'old' | 'new') => dialect.isSame(`t.${dialect.quote(column)}`, cells[which]);
  return {
    column,
    cells,
    table,
    isRow,
    holds,
    entries: `${run.ledger.entry} AS e`,
    /** A condition: entry `e` belongs to this column of the batch. */
    isInBatch: `e.id > ${batch.from} AND e.id <= ${batch.until} AND e.unit = ${run.unit} AND e.col = ${col}`,
    rowHolds: (which: 'old' | 'new') => `EXISTS (SELECT 1 FROM ${table} WHERE ${isRow} AND ${holds(which)})`,
  };
}

/** Changes each row of a batch that holds the guarded value; returns the number of rows changed. */
async function changeRows(
  { session, dialect }: Engine,
  { run, col }: BatchColumn,
  { column, cells, entries, isInBatch, isRow, holds }: ReturnType<typeof describeColumn>,
  guard: 'old' | 'new',
): Promise<number> {
  const value = cells[guard === 'old' ? 'new' : 'old'];
  const sql = dialect.updateFrom({
    table: run.table,
    set: [[column, dialect.fromEntry(value, run.types[col] ?? '')]],
    from: entries,
    where: `${isInBatch} AND ${isRow} AND ${holds(guard)}`,
  });
  return (await session.query(sql)).count;
}

/** Locks the rows of a batch, so that several statements see the same values. */
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
 * Changes every row of a batch. A row whose value changed since it was entered is skipped: it is not touched, and its
 * entry moves to the ledger's `skipped`. Returns the number of skipped rows.
 *
 * @throws SvcError as `notWritten`
 */
export async function carryOutColumn(engine: Engine, batch: BatchColumn): Promise<number> {
  const { session, dialect } = engine;
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
  const { count } = await session.query(dialect.deleteEntries(entry, isOther));
  if (await changesAll()) return count;
  throw notWritten(batch.run.table, batch.triggers);
}

/**
 * Restores the rows of a batch and deletes their entries. Rows whose value changed since are not touched and keep
 * their entries.
 *
 * @throws SvcError as `notWritten`
 */
export async function undoColumn(engine: Engine, batch: BatchColumn): Promise<void> {
  const { session, dialect } = engine;
  const sql = describeColumn(engine, batch);
  const back = dialect.temporary('svc_migrate_back');
  await lockRows(engine, sql);
  await session.exec(
    `${dialect.dropTemporary(back)};
     CREATE TEMPORARY TABLE svc_migrate_back(id ${dialect.ledgerTypes.number} PRIMARY KEY);
     INSERT INTO ${back} SELECT e.id FROM ${sql.entries} WHERE ${sql.isInBatch} AND ${sql.rowHolds('new')}`,
  );
  await changeRows(engine, batch, sql, 'new');
  const reverted = `SELECT 1 FROM ${sql.entries} JOIN ${back} AS b ON b.id = e.id WHERE ${sql.isInBatch} AND NOT ${sql.rowHolds('old')} LIMIT 1`;
  if ((await session.one(reverted)) !== null) throw notWritten(batch.run.table, batch.triggers);
  await session.exec(
    `${dialect.deleteEntries(batch.run.ledger.entry, `${sql.isInBatch} AND e.id IN (SELECT id FROM ${back})`)};
     ${dialect.dropTemporary(back)}`,
  );
}

/** Whether a trigger changed back a row of the batch. */
export async function isReverted(engine: Engine, batch: BatchColumn): Promise<boolean> {
  const { entries, isInBatch, rowHolds } = describeColumn(engine, batch);
  const sql = `SELECT 1 FROM ${entries} WHERE ${isInBatch} AND NOT ${rowHolds('new')} LIMIT 1`;
  return (await engine.session.one(sql)) !== null;
}

/** The error for rows that do not hold what was just written to them; the caller rolls back. */
export function notWritten(table: string, triggers: readonly string[]): SvcError {
  if (triggers.length === 0) {
    return new SvcError('internal', `Not every row of ${table} was found again by its key.`);
  }
  const names = triggers.join(', ');
  return new SvcError('bad_input', `Rows of ${table} did not keep the ids written to them: ${names}.`, {
    hint: `Disable ${names} while ids are rewritten.`,
    facts: { table, triggers: names },
  });
}

import type { Batch } from '../engine/batches.js';
import type { TableRun } from '../engine/ledger.js';
import { keyMatch } from '../engine/ledger.js';
import { notWritten } from '../engine/not-written.js';
import { quoteName } from '../sql-names.js';
import type { UserDb } from './sqlite-session.js';
import { SQLITE_TEXT } from './sqlite-text.js';

/** The entries of one column in a batch. */
export interface BatchColumn {
  readonly run: TableRun;
  readonly batch: Batch;
  readonly col: number;
  readonly triggers: readonly string[];
}

/** A condition that entry `e` is one of them. */
function isInBatch({ run, batch, col }: BatchColumn): string {
  return `e.id > ${batch.from} AND e.id <= ${batch.until} AND e.unit = ${run.unit} AND e.col = ${col}`;
}

/** A condition that the row of entry `e` holds its old or its new value. */
function rowHolds({ run, col }: BatchColumn, which: 'old' | 'new'): string {
  return `EXISTS (SELECT 1 FROM ${quoteName(run.table)} AS t WHERE ${rowMatch(run)}
    AND ${SQLITE_TEXT.isSame(cellOf(run, col), `e.${which}`)})`;
}

function rowMatch(run: TableRun): string {
  return keyMatch(SQLITE_TEXT, run, 'e.row_key');
}

function cellOf(run: TableRun, col: number): string {
  return `t.${columnName(run, col)}`;
}

function columnName({ target }: TableRun, col: number): string {
  return quoteName(target.ids[col]?.column ?? '');
}

/** Changes every row of a batch; where one holds something else by now, it is skipped first. Returns how many are. */
export function carryOut(db: UserDb, column: BatchColumn): number {
  if (changeAll(db, column)) return 0;
  const skipped = skipChanged(db, column);
  if (changeAll(db, column)) return skipped;
  throw notWritten(column.run.table, column.triggers);
}

/** Changes every row of a batch, or none and says so. */
function changeAll(db: UserDb, column: BatchColumn): boolean {
  db.exec('SAVEPOINT svc_migrate_batch');
  const entries = db
    .prepare(`SELECT count(*) FROM ${column.run.ledger.entry} AS e WHERE ${isInBatch(column)}`)
    .pluck()
    .get();
  const isAll = changeRows(db, column, 'old', 'new') === entries;
  if (!isAll) db.exec('ROLLBACK TO svc_migrate_batch');
  db.exec('RELEASE svc_migrate_batch');
  return isAll;
}

/** Changes the rows of a batch, each only while it holds the guarded value; returns how many. */
function changeRows(db: UserDb, column: BatchColumn, guard: 'old' | 'new', value: 'old' | 'new'): number {
  const { run, col } = column;
  return db
    .prepare(
      `UPDATE ${quoteName(run.table)} AS t SET ${columnName(run, col)} = e.${value} FROM ${run.ledger.entry} AS e
       WHERE ${isInBatch(column)} AND ${rowMatch(run)} AND ${SQLITE_TEXT.isSame(cellOf(run, col), `e.${guard}`)}`,
    )
    .run().changes;
}

/** Entries whose rows hold something else by now leave the ledger: those rows were not touched. */
function skipChanged(db: UserDb, column: BatchColumn): number {
  const { entry, skipped } = column.run.ledger;
  const isChanged = `${isInBatch(column)} AND NOT ${rowHolds(column, 'old')}`;
  db.exec(`INSERT INTO ${skipped} SELECT unit, col, row_key, old, new FROM ${entry} AS e WHERE ${isChanged}`);
  return db.prepare(`DELETE FROM ${entry} AS e WHERE ${isChanged}`).run().changes;
}

/** Entries of rows that hold something else by now stay, and say so. */
export function takeBack(db: UserDb, column: BatchColumn): void {
  const { run, triggers } = column;
  const { entry } = run.ledger;
  db.exec(`CREATE TEMP TABLE svc_migrate_back AS SELECT e.id FROM ${entry} AS e
    WHERE ${isInBatch(column)} AND ${rowHolds(column, 'new')}`);
  changeRows(db, column, 'new', 'old');
  const isSpoilt = `SELECT 1 FROM ${entry} AS e JOIN temp.svc_migrate_back AS b ON b.id = e.id WHERE NOT ${rowHolds(column, 'old')}`;
  if (db.prepare(isSpoilt).get() !== undefined) throw notWritten(run.table, triggers);
  db.exec(
    `DELETE FROM ${entry} WHERE id IN (SELECT id FROM temp.svc_migrate_back); DROP TABLE temp.svc_migrate_back`,
  );
}

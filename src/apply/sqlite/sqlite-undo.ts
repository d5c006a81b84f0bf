import { newColumnOf } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { type ApplyContext, NAMED_ROWS, type Undone } from '../context.js';
import { RowNames } from '../row-names.js';
import { quoteName } from '../sql-names.js';
import { type Batch, undoBatches } from '../tables/batches.js';
import { notWritten } from '../tables/not-written.js';
import { assertNoDependent } from '../tables/units.js';
import { compareFilled } from './compare-filled.js';
import { keyMatch, keySql, plain, readUnit, readUnits, type Unit } from './ledger.js';
import { changeRows } from './sqlite-batches.js';
import { readSqliteFacts } from './sqlite-facts.js';
import { hasColumn } from './sqlite-survey.js';
import { changeWork, createWork, dropWork, type WorkList } from './sqlite-work.js';
import { inTransaction, type UserDb } from './user-db.js';

/** Takes the batches of a unit back, in the order they came; entries leave the ledger with their change. */
export async function undoInBatches(context: ApplyContext, db: UserDb, unit: Unit): Promise<Undone> {
  await inTransaction(context, db, () => setState(db, unit, 'undoing'));
  const total = countEntries(db, unit.unit);
  for (const batch of undoBatches(unit, context.tuning.batchRows)) {
    await inTransaction(context, db, () => undoBatch(db, unit, batch));
    const name = `taking back ${unit.table}`;
    context.onProgress({ kind: 'step', name, done: batch.until - unit.first, total });
  }
  return inTransaction(context, db, () => finishUndo(db, unit, total));
}

function undoBatch(db: UserDb, unit: Unit, batch: Batch): void {
  for (const [col, { column }] of unit.target.ids.entries()) {
    // Entries of rows that hold something else by now stay, and say so.
    const match = keyMatch(unit.key, (name) => `t.${quoteName(name)}`, 'e.row_key');
    const isOurs = `EXISTS (SELECT 1 FROM ${quoteName(unit.table)} AS t WHERE ${match} AND t.${quoteName(column)} IS e.new COLLATE BINARY)`;
    db.exec(`CREATE TEMP TABLE svc_migrate_back AS SELECT e.id FROM svc_migrate_entry AS e
      WHERE e.id > ${batch.from} AND e.id <= ${batch.until} AND e.unit = ${unit.unit} AND e.col = ${col} AND ${isOurs}`);
    changeRows(db, unit, batch, { col, column, guard: 'new', value: 'old' });
    const isBack = `EXISTS (SELECT 1 FROM ${quoteName(unit.table)} AS t WHERE ${match} AND t.${quoteName(column)} IS e.old COLLATE BINARY)`;
    const isSpoilt = `SELECT 1 FROM svc_migrate_entry AS e JOIN temp.svc_migrate_back AS b ON b.id = e.id WHERE NOT ${isBack}`;
    if (db.prepare(isSpoilt).get() !== undefined) {
      throw notWritten(unit.table, readSqliteFacts(db, unit.table).triggers);
    }
    db.exec(
      'DELETE FROM svc_migrate_entry WHERE id IN (SELECT id FROM temp.svc_migrate_back); DROP TABLE temp.svc_migrate_back',
    );
  }
}

/** Takes several units back in one transaction, the last one first. */
export async function undoAtOnce(
  context: ApplyContext,
  db: UserDb,
  units: readonly Unit[],
): Promise<Undone[]> {
  return inTransaction(context, db, () => {
    db.pragma('defer_foreign_keys = ON');
    for (const unit of units) assertNoDependent(unit, readUnits(db, unit.table));
    return [...units].reverse().map((unit) => {
      const total = countEntries(db, unit.unit);
      undoTable(db, unit);
      return finishUndo(db, unit, total);
    });
  });
}

function undoTable(db: UserDb, unit: Unit): void {
  const facts = readSqliteFacts(db, unit.table);
  const columns = unit.target.ids.map((id) => id.column);
  const { key } = unit;
  const parked = columns.filter((column) => facts.uniques.some((unique) => unique.columns.includes(column)));
  const work: WorkList = { table: facts.table, key, columns, parked };
  createWork(db, work);
  const rowKey = keySql(key, (column) => plain(`t.${quoteName(column)}`));
  for (const col of columns.keys()) {
    db.exec(`CREATE TEMP TABLE svc_migrate_back_${col}(row_key PRIMARY KEY, old, new);
      INSERT INTO svc_migrate_back_${col} SELECT row_key, old, new FROM svc_migrate_entry WHERE unit = ${unit.unit} AND col = ${col}`);
  }
  const isOurs = (at: number, column: string) =>
    `(e${at}.row_key IS NOT NULL AND t.${quoteName(column)} IS e${at}.new COLLATE BINARY)`;
  const values = [
    ...key.map((column) => `t.${quoteName(column)}`),
    ...columns.map((column) => `t.${quoteName(column)}`),
    ...columns.map((column, at) => `iif(${isOurs(at, column)}, e${at}.old, t.${quoteName(column)})`),
    ...columns.map((column, at) => isOurs(at, column)),
    '0',
  ];
  const joins = columns.map(
    (_, at) => `LEFT JOIN temp.svc_migrate_back_${at} AS e${at} ON e${at}.row_key = ${rowKey}`,
  );
  db.exec(`INSERT INTO temp.svc_migrate_work SELECT ${values.join(', ')} FROM ${quoteName(facts.table)} AS t ${joins.join(' ')}
    WHERE ${columns.map((column, at) => isOurs(at, column)).join(' OR ')}`);
  changeWork(db, work, facts.triggers);
  forget(db, unit, work);
  for (const col of columns.keys()) db.exec(`DROP TABLE temp.svc_migrate_back_${col}`);
  dropWork(db);
}

/** Removes the entries of the rows that were taken back. */
function forget(db: UserDb, unit: Unit, work: WorkList): void {
  const places = new Map(work.key.map((column, at) => [column, at]));
  const rowKey = keySql(work.key, (column) => `w.k${places.get(column) ?? 0}`);
  for (const col of work.columns.keys()) {
    db.exec(`DELETE FROM svc_migrate_entry WHERE unit = ${unit.unit} AND col = ${col} AND row_key IN (
      SELECT ${rowKey} FROM temp.svc_migrate_work AS w WHERE w.r${col})`);
  }
}

function countEntries(db: UserDb, unit: number): number {
  return Number(
    db
      .prepare(
        `SELECT count(*) FROM svc_migrate_entry AS e JOIN svc_migrate_run AS r ON r.unit = e.unit
         WHERE e.unit = ? AND e.id <= r.done_entry`,
      )
      .pluck()
      .get(unit),
  );
}

function setState(db: UserDb, unit: Unit, state: Unit['state']): void {
  db.prepare('UPDATE svc_migrate_run SET state = ? WHERE unit = ?').run(state, unit.unit);
}

/**
 * What is left over are rows changed since: their entries stay, so that they are never rewritten again. Rows that
 * are gone are named once.
 */
function finishUndo(db: UserDb, unit: Unit, total: number): Undone {
  db.exec(`DELETE FROM svc_migrate_entry WHERE unit = ${unit.unit} AND id > ${unit.done}`);
  const left = countEntries(db, unit.unit);
  const match = keyMatch(unit.key, (name) => `t.${quoteName(name)}`, 'e.row_key');
  const isGone = `NOT EXISTS (SELECT 1 FROM ${quoteName(unit.table)} AS t WHERE ${match})`;
  const named = db
    .prepare<[number, number], string>(
      `SELECT 'row ' || CAST(row_key AS TEXT) || iif(${isGone}, ' (gone)', '') FROM svc_migrate_entry AS e
       WHERE unit = ? LIMIT ?`,
    )
    .pluck()
    .all(unit.unit, NAMED_ROWS);
  db.exec(`DELETE FROM svc_migrate_entry AS e WHERE unit = ${unit.unit} AND ${isGone}`);
  setState(db, unit, countEntries(db, unit.unit) === 0 ? 'undone' : 'done');
  return { target: unit.target.name, restored: total - left, changedSince: named, changedSinceCount: left };
}

/**
 * Takes new columns back by dropping them. A value that is not what the remap gives was put there by someone else:
 * then nothing is dropped and the rows are named.
 *
 * @throws SvcError `bad_input` where the remap is another one, so that this cannot be told
 */
export async function undoNewColumns(context: ApplyContext, db: UserDb, unit: Unit): Promise<Undone> {
  if (unit.remapSha256 !== context.facts.sha256) {
    throw new SvcError(
      'bad_input',
      `Run ${unit.run} used another remap: whether its new columns were changed cannot be told.`,
      {
        hint: `Drop ${unit.target.ids.map(newColumnOf).join(', ')} of ${unit.table} by hand.`,
      },
    );
  }
  return inTransaction(context, db, () => {
    const facts = readSqliteFacts(db, unit.table);
    // A column that was dropped by hand has nothing to take back.
    const ids = unit.target.ids.filter((id) => hasColumn(facts, newColumnOf(id)));
    const foreign = new RowNames();
    for (const id of ids) foreign.merge(compareFilled(context, db, unit, id).foreign);
    const base = {
      target: unit.target.name,
      changedSince: foreign.names,
      changedSinceCount: foreign.count,
    };
    if (foreign.count > 0) return { ...base, restored: 0 };
    const restored = ids.length === 0 ? 0 : readUnit(db, unit.unit).changed;
    for (const column of ids.map(newColumnOf)) {
      db.exec(`ALTER TABLE ${quoteName(unit.table)} DROP COLUMN ${quoteName(column)}`);
    }
    setState(db, unit, 'undone');
    return { ...base, restored };
  });
}

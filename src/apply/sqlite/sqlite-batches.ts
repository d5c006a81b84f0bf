import type { IdColumn } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { openColumn } from '../column-work.js';
import { type ApplyContext, NAMED_ROWS, type RunFacts, type Written } from '../context.js';
import type { TargetPlan } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { assertRecount } from '../tables/assert-agreed.js';
import { type Batch, nextBatch } from '../tables/batches.js';
import { notWritten } from '../tables/not-written.js';
import { watchFinals } from '../tables/table-plan.js';
import { isOpen } from '../tables/units.js';
import { buildCellJudge, judgeSql, KEEP_SQL, registerJudge, resultSql } from './cells.js';
import { ensureLedger, insertUnit, keyMatch, keySql, readUnit, readUnits, type Unit } from './ledger.js';
import { andWhere, type Found, unenteredRows } from './sqlite-survey.js';
import { inTransaction, type UserDb } from './user-db.js';

/**
 * Rewrites a table in place, in batches: enters all changes in the ledger in one transaction, then carries them
 * out, each batch with its progress in one transaction. A run that was stopped goes on where it was.
 *
 * @throws SvcError `bad_input` before anything is written, `apply_stopped`, `locked`, `interrupted`
 */
export async function writeInBatches(
  context: ApplyContext,
  db: UserDb,
  found: Found,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<Written> {
  const open = found.units.find(({ state }) => state === 'working');
  const unit = open?.unit ?? (await inTransaction(context, db, () => begin(context, db, found, agreed, run)));
  const { batchRows } = context.tuning;
  let at = readUnit(db, unit);
  for (let batch = nextBatch(at, batchRows); batch !== null; batch = nextBatch(at, batchRows)) {
    await carryOutBatch(context, db, at, batch, found.facts.triggers);
    at = readUnit(db, unit);
    const done = at.done - at.first;
    context.onProgress({ kind: 'step', name: `rewriting ${at.table}`, done, total: at.last - at.first });
  }
  await inTransaction(context, db, () => finishUnit(context, db, unit));
  return describeWritten(db, readUnit(db, unit));
}

/** Enters every change; checks on the way that the data are what was agreed to. */
function begin(context: ApplyContext, db: UserDb, found: Found, agreed: TargetPlan, run: RunFacts): number {
  ensureLedger(db);
  assertSameUnits(db, found);
  const { target, facts, judgement } = found;
  const { key, isAtomic } = judgement.handling;
  const unit = insertUnit(db, context, run, { target, table: facts.table, key, isAtomic });
  for (const [col, id] of target.ids.entries()) {
    if (isOpen(context, found, id)) enterColumn(context, db, found, agreed, run, { unit, col, id });
  }
  const last = db.prepare('SELECT ifnull(max(id), 0) FROM svc_migrate_entry').pluck().get();
  db.prepare('UPDATE svc_migrate_run SET last_entry = max(first_entry, ?) WHERE unit = ?').run(last, unit);
  return unit;
}

/** Another process may have begun meanwhile. */
export function assertSameUnits(db: UserDb, found: Found): void {
  const now = readUnits(db, found.facts.table).map(({ unit, state }) => `${unit} ${state}`);
  const before = found.units.map(({ unit, state }) => `${unit} ${state}`);
  if (now.join() === before.join()) return;
  throw new SvcError('locked', `Another svc-migrate is rewriting ${found.facts.table}.`, {
    hint: 'Wait until it has finished.',
  });
}

interface EnterWhat {
  readonly unit: number;
  readonly col: number;
  readonly id: IdColumn;
}

function enterColumn(
  context: ApplyContext,
  db: UserDb,
  found: Found,
  agreed: TargetPlan,
  run: RunFacts,
  { unit, col, id }: EnterWhat,
): void {
  const { facts, judgement, units } = found;
  const work = watchFinals(openColumn(context, id, context.policy), facts, 'in_place');
  registerJudge(db, 'svc_migrate_judge', buildCellJudge(work, 'in_place'));
  const rowKey = keySql(judgement.handling.key, (column) => `t.${quoteName(column)}`);
  // LIMIT keeps the subquery apart, so that each cell is judged, and counted, once.
  db.prepare(
    `INSERT INTO svc_migrate_entry(unit, col, row_key, old, new)
     SELECT ${unit}, ${col}, k, o, ${resultSql(id, 'n')} FROM (
       SELECT ${rowKey} AS k, t.${quoteName(id.column)} AS o, ${judgeSql('svc_migrate_judge', id, 't')} AS n
       FROM ${unenteredRows(facts, judgement.handling.key, units, id)} ${andWhere(units, id)} LIMIT -1
     ) WHERE n IS NOT ${KEEP_SQL}`,
  ).run();
  assertRecount(context, { agreed, run, work, table: { facts, handling: judgement.handling } });
}

async function carryOutBatch(
  context: ApplyContext,
  db: UserDb,
  unit: Unit,
  batch: Batch,
  triggers: readonly string[],
): Promise<void> {
  await inTransaction(context, db, () => {
    if (readUnit(db, unit.unit).done !== batch.from) {
      throw new SvcError('locked', `Another svc-migrate is carrying on run ${unit.run}.`, {
        hint: 'Wait until it has finished.',
      });
    }
    for (const [col, { column }] of unit.target.ids.entries()) {
      const change = { col, column, guard: 'old', value: 'new' } as const;
      if (changeAll(db, unit, batch, change)) continue;
      skipChanged(db, unit, batch, change);
      if (changeAll(db, unit, batch, change)) continue;
      throw notWritten(unit.table, triggers);
    }
    if (triggers.length > 0 && isSpoilt(db, unit, batch)) throw notWritten(unit.table, triggers);
    db.prepare('UPDATE svc_migrate_run SET done_entry = ? WHERE unit = ?').run(batch.until, unit.unit);
  });
}

/** Whether a row of a batch does not hold what was written to it: its triggers had their way. */
function isSpoilt(db: UserDb, unit: Unit, batch: Batch): boolean {
  const match = keyMatch(unit.key, (name) => `t.${quoteName(name)}`, 'e.row_key');
  return unit.target.ids.some(({ column }, col) => {
    const sql = `SELECT 1 FROM svc_migrate_entry AS e WHERE e.id > ? AND e.id <= ? AND e.unit = ? AND e.col = ?
      AND NOT EXISTS (SELECT 1 FROM ${quoteName(unit.table)} AS t
        WHERE ${match} AND t.${quoteName(column)} IS e.new COLLATE BINARY) LIMIT 1`;
    return db.prepare(sql).get(batch.from, batch.until, unit.unit, col) !== undefined;
  });
}

interface ChangeWhat {
  readonly col: number;
  readonly column: string;
  /** Only rows that hold this are changed. */
  readonly guard: 'old' | 'new';
  readonly value: 'old' | 'new';
}

/** Changes every row of a batch, or none and says so. */
function changeAll(db: UserDb, unit: Unit, batch: Batch, what: ChangeWhat): boolean {
  db.exec('SAVEPOINT svc_migrate_batch');
  const isAll = changeRows(db, unit, batch, what);
  if (!isAll) db.exec('ROLLBACK TO svc_migrate_batch');
  db.exec('RELEASE svc_migrate_batch');
  return isAll;
}

/** Changes the rows of a batch, each only while it holds the guarded value; true where that was all of them. */
export function changeRows(db: UserDb, unit: Unit, batch: Batch, what: ChangeWhat): boolean {
  const { col, guard, value } = what;
  const range = [batch.from, batch.until, unit.unit, col];
  const entries = db
    .prepare('SELECT count(*) FROM svc_migrate_entry WHERE id > ? AND id <= ? AND unit = ? AND col = ?')
    .pluck()
    .get(...range);
  const column = quoteName(what.column);
  const changed = db
    .prepare(
      `UPDATE ${quoteName(unit.table)} AS t SET ${column} = e.${value} FROM svc_migrate_entry AS e
       WHERE e.id > ? AND e.id <= ? AND e.unit = ? AND e.col = ?
         AND ${keyMatch(unit.key, (name) => `t.${quoteName(name)}`, 'e.row_key')}
         AND t.${column} IS e.${guard} COLLATE BINARY`,
    )
    .run(...range);
  return changed.changes === entries;
}

/** Entries whose rows hold something else by now leave the ledger: those rows were not touched. */
function skipChanged(
  db: UserDb,
  unit: Unit,
  batch: Batch,
  { col, column }: Pick<ChangeWhat, 'col' | 'column'>,
): void {
  const match = keyMatch(unit.key, (name) => `t.${quoteName(name)}`, 'e.row_key');
  const changed = `e.id > ? AND e.id <= ? AND e.unit = ? AND e.col = ? AND NOT EXISTS (
    SELECT 1 FROM ${quoteName(unit.table)} AS t WHERE ${match} AND t.${quoteName(column)} IS e.old COLLATE BINARY)`;
  const range = [batch.from, batch.until, unit.unit, col];
  db.prepare(
    `INSERT INTO svc_migrate_skipped SELECT unit, col, row_key, old, new FROM svc_migrate_entry AS e WHERE ${changed}`,
  ).run(...range);
  db.prepare(`DELETE FROM svc_migrate_entry AS e WHERE ${changed}`).run(...range);
}

/** Marks a unit as done and counts what it did. Call inside a transaction. */
export function finishUnit({ now }: Pick<ApplyContext, 'now'>, db: UserDb, unit: number): void {
  db.prepare(
    `UPDATE svc_migrate_run SET state = 'done', finished_at = ?,
       changed = (SELECT count(*) FROM svc_migrate_entry AS e WHERE e.unit = svc_migrate_run.unit),
       skipped = (SELECT count(*) FROM svc_migrate_skipped AS s WHERE s.unit = svc_migrate_run.unit)
     WHERE unit = ? AND state = 'working'`,
  ).run(new Date(now()).toISOString(), unit);
}

export function describeWritten(db: UserDb, unit: Unit): Written {
  const skipped = db
    .prepare<[number, number], string>(
      `SELECT CAST(row_key AS TEXT) FROM svc_migrate_skipped WHERE unit = ? LIMIT ?`,
    )
    .pluck()
    .all(unit.unit, NAMED_ROWS);
  return {
    target: unit.target.name,
    run: unit.run,
    changed: unit.changed,
    skipped: skipped.map((key) => `row ${key}`),
    skippedCount: unit.skipped,
    alreadyDone: false,
  };
}

import { columnLabel } from '../../config/apply-targets.js';
import { type ColumnWork, openColumn } from '../column-work.js';
import type { ApplyContext, RunFacts, Written } from '../context.js';
import type { TargetPlan } from '../plan.js';
import { quoteName } from '../sql-names.js';
import { assertRecount } from '../tables/assert-agreed.js';
import { watchFinals } from '../tables/table-plan.js';
import { isOpen } from '../tables/units.js';
import { buildCellJudge, judgeSql, KEEP_SQL, registerJudge, resultSql } from './cells.js';
import { ensureLedger, enteredRows, insertUnit, keySql, plain, readUnit } from './ledger.js';
import { assertSameUnits, describeWritten, finishUnit } from './sqlite-batches.js';
import type { Found } from './sqlite-survey.js';
import { changeWork, createWork, dropWork, newKeyTerm, type WorkList } from './sqlite-work.js';
import { inTransaction, type UserDb } from './user-db.js';

/** A table with what was agreed for it. */
export interface Agreed {
  readonly found: Found;
  readonly agreed: TargetPlan;
}

/**
 * Rewrites tables in place in one transaction: all of them or none. Foreign keys are checked at its end.
 *
 * @throws SvcError `bad_input`, `locked`, `interrupted`; nothing was written then
 */
export async function writeAtOnce(
  context: ApplyContext,
  db: UserDb,
  tables: readonly Agreed[],
  run: RunFacts,
): Promise<Written[]> {
  const units = await inTransaction(context, db, () => {
    db.pragma('defer_foreign_keys = ON');
    ensureLedger(db);
    return tables.map((table) => writeTable(context, db, table, run));
  });
  return units.map((unit) => describeWritten(db, readUnit(db, unit)));
}

function writeTable(context: ApplyContext, db: UserDb, { found, agreed }: Agreed, run: RunFacts): number {
  assertSameUnits(db, found);
  const { target, facts, judgement } = found;
  const { key, isAtomic } = judgement.handling;
  const unit = insertUnit(db, context, run, { target, table: facts.table, key, isAtomic });
  const work = {
    table: facts.table,
    key,
    columns: target.ids.map((id) => id.column),
    parked: judgement.handling.parked,
  };
  createWork(db, work);
  const works = target.ids.map((id) =>
    watchFinals(openColumn(context, id, context.policy), facts, 'in_place'),
  );
  listRows(context, db, found, works);
  for (const one of works) {
    if (!isOpen(context, found, one.column)) continue;
    assertRecount(context, { agreed, run, work: one, table: { facts, handling: judgement.handling } });
  }
  changeWork(db, work, facts.triggers);
  enterRows(db, unit, work);
  finishUnit(context, db, unit);
  dropWork(db);
  return unit;
}

/** Fills the list with every row of which a cell changes. */
function listRows(context: ApplyContext, db: UserDb, found: Found, works: readonly ColumnWork[]): void {
  const { facts, judgement, units } = found;
  const { key } = judgement.handling;
  const rowKey = keySql(key, (column) => plain(`t.${quoteName(column)}`));
  const joins: string[] = [];
  const results = works.map((work, at) => {
    const id = work.column;
    registerJudge(db, `svc_migrate_judge_${at}`, buildCellJudge(work, 'in_place'));
    if (!isOpen(context, found, id)) return KEEP_SQL;
    const entered = enteredRows(units, columnLabel(id));
    const call = judgeSql(`svc_migrate_judge_${at}`, id, 't');
    if (entered === null) return call;
    joins.push(`LEFT JOIN ${entered} AS e${at} ON e${at}.row_key = ${rowKey}`);
    return `iif(e${at}.row_key IS NULL, ${call}, ${KEEP_SQL})`;
  });
  const inner = [
    ...key.map((column, at) => `t.${quoteName(column)} AS k${at}`),
    ...works.map((work, at) => `t.${quoteName(work.column.column)} AS o${at}`),
    ...results.map((result, at) => `${result} AS n${at}`),
  ];
  const outer = [
    ...key.map((_, at) => `k${at}`),
    ...works.map((_, at) => `o${at}`),
    ...works.map((work, at) => `iif(n${at} IS ${KEEP_SQL}, o${at}, ${resultSql(work.column, `n${at}`)})`),
    ...works.map((_, at) => `n${at} IS NOT ${KEEP_SQL}`),
    '0',
  ];
  const isChanged = works.map((_, at) => `n${at} IS NOT ${KEEP_SQL}`).join(' OR ');
  db.prepare(
    `INSERT INTO temp.svc_migrate_work SELECT ${outer.join(', ')} FROM (
       SELECT ${inner.join(', ')} FROM ${quoteName(facts.table)} AS t ${joins.join(' ')} LIMIT -1
     ) WHERE ${isChanged}`,
  ).run();
}

/** Enters the changes under the keys the rows have now. */
function enterRows(db: UserDb, unit: number, work: WorkList): void {
  const places = new Map(work.key.map((column, at) => [column, at]));
  const rowKey = keySql(work.key, (column) => newKeyTerm(work, column, places.get(column) ?? 0));
  for (const at of work.columns.keys()) {
    db.exec(
      `INSERT INTO svc_migrate_entry(unit, col, row_key, old, new)
       SELECT ${unit}, ${at}, ${rowKey}, w.o${at}, w.c${at} FROM temp.svc_migrate_work AS w WHERE w.r${at}`,
    );
  }
  db.exec(
    `UPDATE svc_migrate_run SET last_entry = max(first_entry, (SELECT ifnull(max(id), 0) FROM svc_migrate_entry)),
       done_entry = max(first_entry, (SELECT ifnull(max(id), 0) FROM svc_migrate_entry)) WHERE unit = ${unit}`,
  );
}

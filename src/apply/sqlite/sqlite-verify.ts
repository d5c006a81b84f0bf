import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import { type ApplyContext, NAMED_ROWS, type Verified } from '../context.js';
import { quoteName } from '../sql-names.js';
import { lostSource } from '../tables/twice.js';
import { buildCellJudge, judgeSql, KEEP_SQL, registerJudge, resultSql } from './cells.js';
import { keyMatch, readUnits, type Unit } from './ledger.js';
import { findForeign } from './sqlite-undo.js';
import type { UserDb } from './user-db.js';

/** Recomputes a finished unit: every entry from the remap, every row from its entry. */
export function verifyUnit(context: ApplyContext, db: UserDb, unit: Unit): Verified {
  const base = { target: unit.target.name, run: unit.run };
  const notChecked = lostSource(unit, readUnits(db, unit.table));
  if (notChecked !== null) {
    return { ...base, checked: 0, wrong: [], wrongCount: 0, changedSinceCount: 0, notChecked };
  }
  const checks = unit.target.ids.map((id, col) =>
    unit.mode === 'new' ? verifyNewColumn(context, db, unit, id) : verifyColumn(context, db, unit, id, col),
  );
  const sum = (pick: (check: Check) => number) => checks.reduce((total, check) => total + pick(check), 0);
  return {
    ...base,
    notChecked,
    checked: sum((check) => check.checked),
    wrong: checks.flatMap((check) => check.wrong).slice(0, NAMED_ROWS),
    wrongCount: sum((check) => check.wrongCount),
    changedSinceCount: sum((check) => check.changedSince),
  };
}

interface Check {
  readonly checked: number;
  readonly wrong: readonly string[];
  readonly wrongCount: number;
  readonly changedSince: number;
}

function verifyNewColumn(context: ApplyContext, db: UserDb, unit: Unit, id: IdColumn): Check {
  const { named, count } = findForeign(context, db, unit, id);
  const sql = `SELECT count(*) FROM ${quoteName(unit.table)} WHERE ${quoteName(newColumnOf(id))} IS NOT NULL`;
  return { checked: Number(db.prepare(sql).pluck().get()), wrong: named, wrongCount: count, changedSince: 0 };
}

interface EntryRow {
  readonly row_key: string;
  readonly verdict: 'remap' | 'undone' | 'changed' | 'gone' | 'right';
}

/** Model, region and company come from the row of now: where it is gone, only targets without them can be checked. */
function verifyColumn(context: ApplyContext, db: UserDb, unit: Unit, id: IdColumn, col: number): Check {
  const policy = { ...context.policy, ...unit.policy };
  registerJudge(db, 'svc_migrate_judge', buildCellJudge(openColumn(context, id, policy), 'in_place'));
  const cell = `t.${quoteName(id.column)}`;
  const match = keyMatch(unit.key, (name) => `t.${quoteName(name)}`, 'e.row_key');
  const rows = db
    .prepare<[], EntryRow>(
      `SELECT CAST(row_key AS TEXT) AS row_key, CASE
           WHEN isGone THEN 'gone'
           WHEN n IS ${KEEP_SQL} OR new IS NOT ${resultSql(id, 'n')} THEN 'remap'
           WHEN now IS new THEN 'right' WHEN now IS old THEN 'undone' ELSE 'changed' END AS verdict
       FROM (
         SELECT e.row_key, e.old, e.new, ${cell} AS now, t.${quoteName(unit.key[0] ?? '')} IS NULL AS isGone,
           ${judgeSql('svc_migrate_judge', id, 't', 'e.old')} AS n
         FROM svc_migrate_entry AS e LEFT JOIN ${quoteName(unit.table)} AS t ON ${match}
         WHERE e.unit = ${unit.unit} AND e.col = ${col} AND e.id <= ${unit.done} LIMIT -1
       )`,
    )
    .iterate();
  return countVerdicts(rows);
}

const SAYS = {
  remap: 'the remap gives another id',
  undone: 'holds its old id again',
} as const;

function countVerdicts(rows: Iterable<EntryRow>): Check {
  const wrong: string[] = [];
  let checked = 0;
  let wrongCount = 0;
  let changedSince = 0;
  for (const { row_key: key, verdict } of rows) {
    checked += 1;
    if (verdict === 'changed' || verdict === 'gone') changedSince += 1;
    if (verdict !== 'remap' && verdict !== 'undone') continue;
    wrongCount += 1;
    if (wrong.length < NAMED_ROWS) wrong.push(`row ${key}: ${SAYS[verdict]}`);
  }
  return { checked, wrong, wrongCount, changedSince };
}

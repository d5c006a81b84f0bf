import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { ApplyContext, Verified } from '../context.js';
import { quoteName } from '../sql-names.js';
import { EntryChecks, type EntryVerdict } from '../tables/entry-checks.js';
import { lostSource } from '../tables/twice.js';
import { buildCellJudge, judgeSql, KEEP_SQL, registerJudge, resultSql } from './cells.js';
import { compareFilled } from './compare-filled.js';
import { keyMatch, readUnits, type Unit } from './ledger.js';
import { readSqliteFacts } from './sqlite-facts.js';
import { hasColumn } from './sqlite-survey.js';
import type { UserDb } from './user-db.js';

/** Recomputes a finished unit: every entry from the remap, every row from its entry. */
export function verifyUnit(context: ApplyContext, db: UserDb, unit: Unit): Verified {
  const checks = new EntryChecks();
  const notChecked = lostSource(unit, readUnits(db, unit.table));
  if (notChecked === null) {
    for (const [col, id] of unit.target.ids.entries()) {
      if (unit.mode === 'new') verifyNewColumn(context, db, unit, id, checks);
      else verifyColumn(context, db, unit, { id, col, checks });
    }
  }
  return { target: unit.target.name, run: unit.run, notChecked, ...checks.result() };
}

function verifyNewColumn(
  context: ApplyContext,
  db: UserDb,
  unit: Unit,
  id: IdColumn,
  checks: EntryChecks,
): void {
  const isThere = hasColumn(readSqliteFacts(db, unit.table), newColumnOf(id));
  if (isThere) checks.addFilled(compareFilled(context, db, unit, id));
  else checks.addWrong(`column ${newColumnOf(id)} is gone`);
}

interface EntryRow {
  readonly row_key: string;
  readonly verdict: EntryVerdict;
}

interface VerifyWhat {
  readonly id: IdColumn;
  readonly col: number;
  readonly checks: EntryChecks;
}

/** Model, region and company come from the row of now: where it is gone, only targets without them can be checked. */
function verifyColumn(context: ApplyContext, db: UserDb, unit: Unit, { id, col, checks }: VerifyWhat): void {
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
  for (const { row_key: key, verdict } of rows) checks.addEntry(key, verdict);
}

import type { IdColumn } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { ApplyContext, Verified } from '../context.js';
import { quoteName } from '../sql-names.js';
import { EntryChecks, type EntryVerdict } from '../tables/entry-checks.js';
import { lostSource } from '../tables/twice.js';
import { buildGroupJudge, type GroupJudge, groupTerms, judgeGroup } from './pg-groups.js';
import { keyMatch, readUnits, type Unit } from './pg-ledger.js';
import { BEGIN_READ_ONLY, type Cells, type PgSession } from './pg-session.js';
import { compareAllFilled } from './pg-undo.js';

/** Recomputes a finished unit: every entry from the remap, every row from its entry. */
export async function verifyUnit(context: ApplyContext, session: PgSession, unit: Unit): Promise<Verified> {
  const units = await session.retry(() => readUnits(session, unit.target.ledgerSchema, unit.table));
  const notChecked = lostSource(unit, units);
  const checks = new EntryChecks();
  if (notChecked === null && unit.mode === 'new') {
    const { compared, gone } = await compareAllFilled(context, session, unit);
    for (const one of compared) checks.addFilled(one);
    for (const name of gone) checks.addWrong(`column ${name} is gone`);
  } else if (notChecked === null) {
    for (const [col, id] of unit.target.ids.entries()) {
      await session.transaction(BEGIN_READ_ONLY, () =>
        verifyColumn(context, session, unit, { id, col, checks }),
      );
    }
  }
  return { target: unit.target.name, run: unit.run, notChecked, ...checks.result() };
}

/** Model, region and company come from the row of now. */
async function verifyColumn(
  context: ApplyContext,
  session: PgSession,
  unit: Unit,
  { id, col, checks }: { readonly id: IdColumn; readonly col: number; readonly checks: EntryChecks },
): Promise<void> {
  const judge = buildGroupJudge(openColumn(context, id, { ...context.policy, ...unit.policy }), 'in_place');
  const scopes = groupTerms(id, 't').slice(1);
  const match = keyMatch(unit.key, unit.keyTypes, (part) => `t.${quoteName(part)}`, 'e.row_key');
  const sql = `SELECT array_to_string(e.row_key, ', '), e.new, t.${quoteName(id.column)}::text,
      t.${quoteName(unit.key[0] ?? '')} IS NULL, e.old${scopes.map((term) => `, ${term}`).join('')}, 1
    FROM ${quoteName(unit.target.ledgerSchema)}.entry AS e LEFT JOIN ${unit.table} AS t ON ${match}
    WHERE e.unit = ${unit.unit} AND e.col = ${col} AND e.id <= ${unit.done}`;
  for await (const rows of session.read(sql)) {
    for (const [key, ...row] of rows) checks.addEntry(key ?? '', judgeEntry(judge, row));
  }
}

function judgeEntry(judge: GroupJudge, [written, now, isGone, ...group]: Cells): EntryVerdict {
  if (isGone === 't') return 'gone';
  if (judgeGroup(judge, group) !== written) return 'remap';
  if (now === written) return 'right';
  return now === group[0] ? 'undone' : 'changed';
}

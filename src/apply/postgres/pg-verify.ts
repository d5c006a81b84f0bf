import type { IdColumn } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import { type ApplyContext, NAMED_ROWS, type Verified } from '../context.js';
import { quoteName } from '../sql-names.js';
import { lostSource } from '../tables/twice.js';
import { buildGroupJudge, groupTerms, judgeGroup } from './pg-groups.js';
import { keyMatch, readUnits, type Unit } from './pg-ledger.js';
import { BEGIN_READ_ONLY, type PgSession } from './pg-session.js';
import { findAllForeign } from './pg-undo.js';

/** Recomputes a finished unit: every entry from the remap, every row from its entry. */
export async function verifyUnit(context: ApplyContext, session: PgSession, unit: Unit): Promise<Verified> {
  const units = await session.retry(() => readUnits(session, unit.target.ledgerSchema, unit.table));
  const notChecked = lostSource(unit, units);
  const base = { target: unit.target.name, run: unit.run, notChecked };
  if (notChecked !== null) return { ...base, checked: 0, wrong: [], wrongCount: 0, changedSinceCount: 0 };
  if (unit.mode === 'new') {
    const { named, count, checked } = await findAllForeign(context, session, unit);
    return { ...base, checked, wrong: named, wrongCount: count, changedSinceCount: 0 };
  }
  const found: Found = { checked: 0, wrong: [], wrongCount: 0, changedSinceCount: 0 };
  for (const [col, id] of unit.target.ids.entries()) {
    await session.transaction(BEGIN_READ_ONLY, () =>
      verifyColumn(context, session, unit, { id, col, found }),
    );
  }
  return { ...base, ...found };
}

interface Found {
  checked: number;
  readonly wrong: string[];
  wrongCount: number;
  changedSinceCount: number;
}

/** Model, region and company come from the row of now. */
async function verifyColumn(
  context: ApplyContext,
  session: PgSession,
  unit: Unit,
  { id, col, found }: { readonly id: IdColumn; readonly col: number; readonly found: Found },
): Promise<void> {
  const judge = buildGroupJudge(openColumn(context, id, { ...context.policy, ...unit.policy }), 'in_place');
  const scopes = groupTerms(id, 't').slice(1);
  const match = keyMatch(unit.key, unit.keyTypes, (part) => `t.${quoteName(part)}`, 'e.row_key');
  const sql = `SELECT array_to_string(e.row_key, ', '), e.new, t.${quoteName(id.column)}::text,
      t.${quoteName(unit.key[0] ?? '')} IS NULL, e.old${scopes.map((term) => `, ${term}`).join('')}, 1
    FROM ${quoteName(unit.target.ledgerSchema)}.entry AS e LEFT JOIN ${unit.table} AS t ON ${match}
    WHERE e.unit = ${unit.unit} AND e.col = ${col} AND e.id <= ${unit.done}`;
  for await (const rows of session.read(sql)) {
    for (const [key, now, value, isGone, ...group] of rows) {
      found.checked += 1;
      if (isGone === 't') found.changedSinceCount += 1;
      else if (judgeGroup(judge, group) !== now) name(found, `row ${key}: the remap gives another id`);
      else if (value === now) continue;
      else if (value === group[0]) name(found, `row ${key}: holds its old id again`);
      else found.changedSinceCount += 1;
    }
  }
}

function name(found: Found, text: string): void {
  found.wrongCount += 1;
  if (found.wrong.length < NAMED_ROWS) found.wrong.push(text);
}

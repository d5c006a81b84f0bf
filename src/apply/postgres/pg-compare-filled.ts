import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { RowNames } from '../row-names.js';
import { quoteName } from '../sql-names.js';
import { type FilledColumn, nameUnfilled } from '../tables/entry-checks.js';
import { keyOf, type OnLeft, tellRow } from '../tables/left-cells.js';
import { buildGroupJudge, groupTerms, judgeGroup } from './pg-groups.js';
import type { Unit } from './pg-ledger.js';
import type { PgSession } from './pg-session.js';

interface Listing {
  /** Columns that name a row. */
  readonly key: readonly string[];
  readonly onLeft: OnLeft | undefined;
}

/**
 * Compares a column that a run filled with what the remap gives for the column beside it: by kinds of rows, or row by
 * row where they are to be listed. Call inside a transaction.
 */
export async function compareFilled(
  context: ApplyContext,
  session: PgSession,
  unit: Unit,
  id: IdColumn,
  { key, onLeft }: Listing = { key: [], onLeft: undefined },
): Promise<FilledColumn> {
  const judge = buildGroupJudge(openColumn(context, id, { ...context.policy, ...unit.policy }), 'new');
  const terms = groupTerms(id, 't');
  const [foreign, unfilled] = [new RowNames(), new RowNames()];
  let checked = 0;
  for await (const rows of session.read(compareSql(unit, id, onLeft === undefined ? null : key))) {
    for (const [fresh = null, ...cells] of rows) {
      const group = cells.slice(0, terms.length + 1);
      const count = Number(group.at(-1));
      const expected = judgeGroup(judge, group) ?? null;
      if (fresh !== null) checked += count;
      if (fresh === expected) continue;
      const row = { value: group[0] ?? '', key: keyOf(key, cells.slice(terms.length + 1)) };
      if (fresh === null) {
        unfilled.add(nameUnfilled(id, group[0] ?? ''), count);
        tellRow(onLeft, unit.target.name, id, { kind: 'came_since', reason: 'mapped', ...row });
      } else {
        foreign.add(`${newColumnOf(id)} ${fresh}`, count);
        tellRow(onLeft, unit.target.name, id, { kind: 'changed_since', reason: 'changed', ...row });
      }
    }
  }
  return { checked, foreign, unfilled };
}

/** The new cell, the old one with its scope, how many rows, and the key of the row. */
function compareSql(unit: Unit, id: IdColumn, key: readonly string[] | null): string {
  const fresh = `t.${quoteName(newColumnOf(id))}`;
  const terms = [`${fresh}::text`, ...groupTerms(id, 't')];
  const count = key === null ? ['count(*)'] : ["'1'", ...key.map((name) => `t.${quoteName(name)}::text`)];
  const groups = key === null ? `GROUP BY ${terms.map((_, at) => at + 1).join(', ')}` : '';
  return `SELECT ${[...terms, ...count].join(', ')} FROM ${unit.table} AS t
    WHERE ${fresh} IS NOT NULL OR t.${quoteName(id.column)} IS NOT NULL ${groups}`;
}

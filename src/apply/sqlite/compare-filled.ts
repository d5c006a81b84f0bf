import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { RowNames } from '../row-names.js';
import { quoteName } from '../sql-names.js';
import { type FilledColumn, nameUnfilled } from '../tables/entry-checks.js';
import { keyOf, type OnLeft, tellRow } from '../tables/left-cells.js';
import { buildCellJudge, judgeSql, KEEP_SQL, registerJudge, resultSql } from './cells.js';
import type { Unit } from './ledger.js';
import type { UserDb } from './user-db.js';

interface Listing {
  /** Columns that name a row. */
  readonly key: readonly string[];
  readonly onLeft: OnLeft | undefined;
}

/** Compares a column that a run filled with what the remap gives for the column beside it. */
export function compareFilled(
  context: ApplyContext,
  db: UserDb,
  unit: Unit,
  id: IdColumn,
  { key, onLeft }: Listing = { key: [], onLeft: undefined },
): FilledColumn {
  const policy = { ...context.policy, ...unit.policy };
  registerJudge(db, 'svc_migrate_judge', buildCellJudge(openColumn(context, id, policy), 'new'));
  const [foreign, unfilled] = [new RowNames(), new RowNames()];
  let checked = 0;
  const rows = db
    .prepare<[], (string | number | null)[]>(compareSql(unit, id, key))
    .raw()
    .iterate();
  for (const [fresh = null, cell, isRight, isFillable, ...values] of rows) {
    const row = { value: String(cell), key: keyOf(key, values) };
    if (fresh !== null) checked += 1;
    if (fresh === null && isFillable === 1) {
      unfilled.add(nameUnfilled(id, String(cell)));
      tellRow(onLeft, unit.target.name, id, { kind: 'came_since', reason: 'mapped', ...row });
    } else if (fresh !== null && isRight === 0) {
      foreign.add(`${newColumnOf(id)} ${fresh}`);
      tellRow(onLeft, unit.target.name, id, { kind: 'changed_since', reason: 'changed', ...row });
    }
  }
  return { checked, foreign, unfilled };
}

/** The new cell, the old one, whether the new one is what the remap gives, whether it gives anything, and the key. */
function compareSql(unit: Unit, id: IdColumn, key: readonly string[]): string {
  const fresh = `t.${quoteName(newColumnOf(id))}`;
  const cell = `t.${quoteName(id.column)}`;
  const keys = key.map((name, at) => `t.${quoteName(name)} AS k${at}`);
  const names = key.map((_, at) => `CAST(k${at} AS TEXT)`);
  const outer = [
    'CAST(f AS TEXT)',
    'CAST(c AS TEXT)',
    `n IS NOT ${KEEP_SQL} AND f IS ${resultSql(id, 'n')}`,
    `n IS NOT ${KEEP_SQL} AND n IS NOT NULL`,
    ...names,
  ];
  const inner = [`${fresh} AS f`, `${cell} AS c`, `${judgeSql('svc_migrate_judge', id, 't')} AS n`, ...keys];
  return `SELECT ${outer.join(', ')} FROM (
    SELECT ${inner.join(', ')} FROM ${quoteName(unit.table)} AS t
    WHERE ${fresh} IS NOT NULL OR ${cell} IS NOT NULL LIMIT -1)`;
}

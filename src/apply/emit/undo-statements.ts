import { type EmitScript, type EmitTable, isOwnRun, isRecorded, keyOf } from './emit-script.js';
import { fillList, type ListedColumn } from './rewrite-statements.js';
import { anyFailed, type Check, countOtherRuns } from './script-checks.js';

/** What must hold before a run is undone: it is done, no later run builds on it, and its cells hold what it wrote. */
export function undoChecks(script: EmitScript, { found }: EmitTable): Check[] {
  const { engine, run } = script;
  const { dialect, context } = engine;
  const { target, facts } = found;
  const checks = [
    {
      problem: `${target.name}: run ${run} is not in the ledger as done`,
      count: `CASE WHEN ${isRecorded(script, found, "= 'done'")} THEN 0 ELSE 1 END`,
    },
    {
      problem: `${target.name}: a later run is in the ledger for this table`,
      count: countOtherRuns(script, found),
    },
  ];
  if (context.policy.mode === 'new') return checks;
  const rowKey = rowKeySql(script, found);
  const changed = target.ids.map(({ column }, at) => ({
    problem: `${target.name}: ${column} was changed since the run; svc-migrate undo ${run} leaves such rows alone`,
    count: `(SELECT count(*) FROM ${dialect.tableSql(facts.table)} AS t JOIN ${entriesOf(script, found, at)} AS e ON e.row_key = ${rowKey}
  WHERE NOT ${dialect.isSame(`t.${dialect.quote(column)}`, 'e.new')})`,
  }));
  return [...checks, ...changed];
}

/** The key of row `t` as the ledger keeps it. */
function rowKeySql({ engine: { dialect } }: EmitScript, found: EmitTable['found']): string {
  return dialect.keySql(keyOf(found).map((name) => `t.${dialect.quote(name)}`));
}

/** A subquery of the run's entries for a column. */
function entriesOf(script: EmitScript, found: EmitTable['found'], at: number): string {
  const { entry, run } = found.ledger;
  return `(SELECT x.unit, x.row_key, x.old, x.new FROM ${entry} AS x JOIN ${run} AS u ON u.unit = x.unit
    WHERE ${isOwnRun(script, found, "= 'done'", 'u.')} AND x.col = ${at})`;
}

/** Lists the rows to restore. */
export function undoListSql(script: EmitScript, table: EmitTable): string {
  const { found } = table;
  const columns = found.target.ids.map(
    (id, at): ListedColumn => ({
      id,
      join: `${entriesOf(script, found, at)} AS e${at} ON e${at}.row_key = ${rowKeySql(script, found)}`,
      changed: `e${at}.unit`,
      value: `e${at}.old`,
    }),
  );
  return fillList(script, table, columns, [`NOT ${anyFailed(script)}`]);
}

/** Deletes the run's entries and marks it as undone. */
export function undoneSql(script: EmitScript, { found }: EmitTable): string[] {
  const { ledger } = found;
  const isOwn = isOwnRun(script, found, "= 'done'");
  const isRight = `NOT ${anyFailed(script)}`;
  return [
    `DELETE FROM ${ledger.entry} WHERE unit IN (SELECT unit FROM ${ledger.run} WHERE ${isOwn}) AND ${isRight}`,
    `UPDATE ${ledger.run} SET state = 'undone' WHERE ${isOwn} AND ${isRight}`,
  ];
}

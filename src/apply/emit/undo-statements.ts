import { type EmitScript, type EmitTable, isRecorded } from './emit-script.js';
import type { Check } from './script-checks.js';

/** What must hold before a run is taken back: it is done, no later run builds on it, and its cells hold what it wrote. */
export function undoChecks(script: EmitScript, { found }: EmitTable): Check[] {
  const { engine, text, run } = script;
  const { dialect, context } = engine;
  const { target, facts, ledger, judgement } = found;
  const others = dialect.isTableOfRun.replace('$1', text.literal(facts.table));
  const checks = [
    {
      problem: `${target.name}: run ${run} is not in the ledger as done`,
      count: `CASE WHEN ${isRecorded(script, found, "= 'done'")} THEN 0 ELSE 1 END`,
    },
    {
      problem: `${target.name}: a later run is in the ledger for this table`,
      count: `(SELECT count(*) FROM ${ledger.run} WHERE ${others} AND state <> 'undone' AND run <> ${text.literal(run)})`,
    },
  ];
  if (context.policy.mode === 'new') return checks;
  const rowKey = dialect.keySql(judgement.handling.key.map((name) => `t.${dialect.quote(name)}`));
  const changed = target.ids.map(({ column }, at) => ({
    problem: `${target.name}: ${column} was changed since the run; svc-migrate undo ${run} leaves such rows alone`,
    count: `(SELECT count(*) FROM ${dialect.tableSql(facts.table)} AS t JOIN ${entriesOf(script, found, at)} AS e ON e.row_key = ${rowKey}
  WHERE NOT ${dialect.isSame(`t.${dialect.quote(column)}`, 'e.new')})`,
  }));
  return [...checks, ...changed];
}

/** A subquery of the run's entries for a column. */
function entriesOf({ text, run }: EmitScript, { target, ledger }: EmitTable['found'], at: number): string {
  return `(SELECT x.unit, x.row_key, x.old, x.new FROM ${ledger.entry} AS x JOIN ${ledger.run} AS u ON u.unit = x.unit
    WHERE u.run = ${text.literal(run)} AND u.target = ${text.literal(target.name)} AND u.state = 'done' AND x.col = ${at})`;
}

/** Lists the rows to restore. */
export function undoListSql(script: EmitScript, { found, list }: EmitTable): string {
  const { dialect } = script.engine;
  const { key } = found.judgement.handling;
  const cell = (name: string) => `t.${dialect.quote(name)}`;
  const { ids } = found.target;
  const names = [...key.map((_, at) => `k${at}`), ...ids.flatMap((_, at) => [`o${at}`, `c${at}`, `r${at}`])];
  const terms = ids.flatMap(({ column }, at) => {
    const old = dialect.asEntry(cell(column));
    const isOurs = `CASE WHEN e${at}.unit IS NULL THEN`;
    return [old, `${isOurs} ${old} ELSE e${at}.old END`, `${isOurs} 0 ELSE 1 END`];
  });
  const joins = ids.map(
    (_, at) =>
      `LEFT JOIN ${entriesOf(script, found, at)} AS e${at} ON e${at}.row_key = ${dialect.keySql(key.map(cell))}`,
  );
  return `INSERT INTO ${list}(${names.join(', ')})
SELECT ${[...key.map(cell), ...terms].join(',\n  ')}
FROM ${dialect.tableSql(found.facts.table)} AS t
  ${joins.join('\n  ')}
WHERE (${ids.map((_, at) => `e${at}.unit IS NOT NULL`).join(' OR ')})
  AND NOT EXISTS (SELECT 1 FROM ${script.checks} WHERE failed > 0)`;
}

/** Takes the run out of the ledger. */
export function undoneSql({ text, run, checks }: EmitScript, { found }: EmitTable): string[] {
  const { ledger, target } = found;
  const isOwn = `run = ${text.literal(run)} AND target = ${text.literal(target.name)} AND state = 'done'`;
  const isRight = `NOT EXISTS (SELECT 1 FROM ${checks} WHERE failed > 0)`;
  return [
    `DELETE FROM ${ledger.entry} WHERE unit IN (SELECT unit FROM ${ledger.run} WHERE ${isOwn}) AND ${isRight}`,
    `UPDATE ${ledger.run} SET state = 'undone' WHERE ${isOwn} AND ${isRight}`,
  ];
}

import { newColumnOf } from '../../config/apply-targets.js';
import type { FoundTable } from '../engine/found-table.js';
import { columnOf } from '../engine/table-facts.js';
import { type EmitScript, type EmitTable, isRecorded, keyOf, mapMatch, newKey } from './emit-script.js';
import { isOurs } from './read-crosswalk.js';

/** A precondition: the rows that `count` counts must be none. */
export interface Check {
  readonly problem: string;
  readonly count: string;
}

/** What must hold before anything changes. */
export function checksOf(script: EmitScript, { found, maps }: EmitTable): Check[] {
  const { engine, text, run } = script;
  const { dialect, context } = engine;
  const { target, facts, ledger } = found;
  const table = facts.table;
  const from = `${dialect.tableSql(table)} AS t`;
  const others = dialect.isTableOfRun.replace('$1', text.literal(table));
  const there = [...new Set([...keyOf(found), ...target.ids.map(({ column }) => column)])];
  const isThere = there.map((name): Check => {
    const type = columnOf(facts, name)?.type ?? '';
    const count = `1 - ${text.countColumns({ table, name, type })}`;
    return { problem: `${target.name}: column ${name} is missing or is not ${type} any more`, count };
  });
  const isNew = context.policy.mode === 'new' ? target.ids.map(newColumnOf) : [];
  return [
    ...isThere,
    ...isNew.map((name) => ({
      problem: `${target.name}: there is a column ${name} already`,
      count: text.countColumns({ table, name, type: null }),
    })),
    {
      problem: `${target.name}: another run is in the ledger for this table`,
      count: `(SELECT count(*) FROM ${ledger.run} WHERE ${others} AND state <> 'undone' AND run <> ${text.literal(run)})`,
    },
    ...target.ids.map((id, at) => ({
      problem: `${target.name}: ${id.column} has values that the plan did not see`,
      count: `(SELECT count(*) FROM ${from} LEFT JOIN ${maps[at]} AS m ON ${mapMatch(engine, id, 'm')}
  WHERE ${isOurs(engine, text.literal, id)} AND m.old IS NULL)`,
    })),
  ];
}

/** Records a check; counts nothing if the run is recorded already. */
export function checkSql(script: EmitScript, { problem, count }: Check, found: FoundTable): string {
  const isBegun = isRecorded(script, found, "<> 'undone'");
  return `INSERT INTO ${script.checks}(problem, failed)\nSELECT ${script.text.literal(problem)}, CASE WHEN ${isBegun} THEN 0 ELSE ${count} END`;
}

/** Values that rows would hold while their ids swap, but that the column holds already. */
export function parkingChecks({ engine }: EmitScript, { found, list, parking }: EmitTable): Check[] {
  const { dialect } = engine;
  return [...parking].map(([column, term]) => ({
    problem: `${found.target.name}: ${column} holds values that ids need while they swap`,
    count: `(SELECT count(*) FROM ${list} AS w JOIN ${dialect.tableSql(found.facts.table)} AS t ON t.${dialect.quote(column)} = ${term})`,
  }));
}

/** Listed rows that do not hold their new values after the change. */
export function writtenCheck({ engine }: EmitScript, { found, list }: EmitTable): Check {
  const { dialect } = engine;
  const cell = (name: string) => `t.${dialect.quote(name)}`;
  const keys = newKey(engine, found).map((term, at) => dialect.isKey(cell(keyOf(found)[at] ?? ''), term));
  const holds = found.target.ids.map(({ column }, at) => dialect.isSame(cell(column), `w.c${at}`));
  return {
    problem: `${found.target.name}: rows did not keep their new ids`,
    count: `(SELECT count(*) FROM ${list} AS w LEFT JOIN ${dialect.tableSql(found.facts.table)} AS t
  ON ${[...keys, ...holds].join('\n  AND ')} WHERE ${cell(keyOf(found)[0] ?? '')} IS NULL)`,
  };
}

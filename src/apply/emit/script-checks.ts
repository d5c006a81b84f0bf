import { newColumnOf } from '../../config/apply-targets.js';
import { isWritten } from '../engine/change-list.js';
import { holdsMapped, mapMatch } from '../engine/id-maps.js';
import { writesPlatformId } from '../engine/platform-ids.js';
import { columnOf, type FoundTable } from '../engine/table-facts.js';
import { mustBeListed } from './crosswalk.js';
import { changeListOf, type EmitScript, type EmitTable, isRecorded } from './emit-script.js';

/** What must hold for a script to go on. */
export interface Check {
  /** What is wrong if it does not hold. */
  readonly problem: string;
  /** A term: rows that break it. */
  readonly count: string;
}

/** Creates the table that checks are recorded in. */
export function createChecks({ checks, text }: EmitScript): string[] {
  return [
    `DROP TABLE IF EXISTS ${checks}`,
    `CREATE TABLE ${checks}(problem ${text.types.text} NOT NULL UNIQUE, failed bigint)`,
  ];
}

/** A condition: a check failed. It guards statements that a client sends although an earlier one failed. */
export function anyFailed({ checks }: EmitScript): string {
  return `EXISTS (SELECT 1 FROM ${checks} WHERE failed > 0)`;
}

/** What must hold before anything changes. */
export function checksOf(script: EmitScript, { found, maps }: EmitTable): Check[] {
  const { engine, text } = script;
  const { dialect, context } = engine;
  const { target, facts } = found;
  const { table } = facts;
  const check = (problem: string, count: string): Check => ({ problem: `${target.name}: ${problem}`, count });
  const columns = [...new Set([...found.handling.key, ...target.ids.map(({ column }) => column)])];
  const added = context.policy.mode === 'new' ? target.ids.map(newColumnOf) : [];
  return [
    ...columns.map((name) => {
      const type = columnOf(facts, name)?.type ?? '';
      const count = text.countColumns({ table, name, type });
      return check(`column ${name} is missing or is not ${type} any more`, `1 - ${count}`);
    }),
    ...added.map((name) =>
      check(`column ${name} exists already`, text.countColumns({ table, name, type: null })),
    ),
    check('another run is in the ledger for this table', countOtherRuns(script, found)),
    ...target.ids.flatMap((id, at) => {
      const map = maps[at];
      if (map === undefined || writesPlatformId(id)) return [];
      const unseen = `(SELECT count(*) FROM ${dialect.tableSql(table)} AS t LEFT JOIN ${map.table} AS m ON ${mapMatch(dialect, map, 'm')}
  WHERE ${mustBeListed(engine, text.literal, id)} AND m.old IS NULL)`;
      return [check(`${id.column} has values that the plan did not see`, unseen)];
    }),
  ];
}

/** Checks and records the result. */
export function checkSql({ checks, text }: EmitScript, { problem, count }: Check): string {
  return `INSERT INTO ${checks}(problem, failed)\nSELECT ${text.literal(problem)}, ${count}`;
}

/** As `checkSql`, for what holds only before the run: passes if the run is recorded already. */
export function checkOnce(script: EmitScript, { problem, count }: Check, found: FoundTable): string {
  const isBegun = isRecorded(script, found, "<> 'undone'");
  return checkSql(script, { problem, count: `CASE WHEN ${isBegun} THEN 0 ELSE ${count} END` });
}

/** A term: other runs in the ledger that changed the table and were not undone. */
export function countOtherRuns({ engine, text, run }: EmitScript, { facts, ledger }: FoundTable): string {
  const isTable = engine.dialect.isTableOfRun.replace('$1', text.literal(facts.table));
  return `(SELECT count(*) FROM ${ledger.run} WHERE ${isTable} AND state <> 'undone' AND run <> ${text.literal(run)})`;
}

/** Checks that no row of the column holds a temporary value that ids need while they swap. */
export function parkingChecks({ engine }: EmitScript, { found, list, parking }: EmitTable): Check[] {
  const { dialect } = engine;
  return [...parking].map(([column, term]) => ({
    problem: `${found.target.name}: ${column} holds values that ids need while they swap`,
    count: `(SELECT count(*) FROM ${list} AS w JOIN ${dialect.tableSql(found.facts.table)} AS t ON t.${dialect.quote(column)} = ${term})`,
  }));
}

/** A term: rows of a new column that do not hold what the crosswalk says. `isFilled`: only rows with a value. */
export function countWrong(
  { engine }: EmitScript,
  { found, maps }: EmitTable,
  at: number,
  isFilled: boolean,
): string {
  const { dialect } = engine;
  const map = maps[at];
  if (map === undefined) return '0';
  const name = newColumnOf(map.id);
  const value = `t.${dialect.quote(name)}`;
  const isWrong = `CASE WHEN m.new IS NULL THEN ${value} IS NOT NULL ELSE ${value} IS NULL OR NOT (${holdsMapped(dialect, map, name)}) END`;
  return `(SELECT count(*) FROM ${dialect.tableSql(found.facts.table)} AS t JOIN ${map.table} AS m ON ${mapMatch(dialect, map, 'm')}
  WHERE ${isFilled ? `${value} IS NOT NULL AND ` : ''}${isWrong})`;
}

/** Checks the new columns right after they were filled. */
export function filledChecks(script: EmitScript, table: EmitTable): string[] {
  const { found } = table;
  return found.target.ids.map((id, at) =>
    checkSql(script, {
      problem: `${found.target.name}: ${newColumnOf(id)} did not keep its new ids`,
      count: `CASE WHEN ${isRecorded(script, found, "= 'working'")} THEN ${countWrong(script, table, at, false)} ELSE 0 END`,
    }),
  );
}

/** Checks after the change that every listed row holds its new values. */
export function writtenCheck({ engine }: EmitScript, { found, list }: EmitTable): Check {
  const { dialect } = engine;
  return {
    problem: `${found.target.name}: rows did not keep their new ids`,
    count: `(SELECT count(*) FROM ${list} AS w LEFT JOIN ${dialect.tableSql(found.facts.table)} AS t
  ON ${isWritten(engine, changeListOf(found)).join('\n  AND ')} WHERE t.${dialect.quote(found.handling.key[0] ?? '')} IS NULL)`,
  };
}

import { type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { RunFacts } from '../context.js';
import { type Agreed, assertAgreed, openTableColumn } from '../engine/column-plans.js';
import type { compileRewrite, Parking } from '../engine/compile.js';
import type { Cell, Cells, Dialect, Engine, IdMap } from '../engine/dialect.js';
import { addedColumns, sourceColumns, writesPlatformId } from '../engine/id-columns.js';
import { holdsMapped, isLongMap, mapKey, mapMatch } from '../engine/id-maps.js';
import { judgeCells, scopeTerms } from '../engine/judge-cells.js';
import { integerSql } from '../engine/move-rows.js';
import { columnOf, type FoundTable } from '../engine/table-facts.js';
import type { Mode } from '../plan.js';

/** What the statements of a script share. */
export interface Script {
  readonly dialect: Dialect;
  readonly mode: Mode;
  readonly run: RunFacts;
  /** The staging table of the checks. */
  readonly checks: string;
}

/** One table of a script. */
export interface ScriptTable {
  readonly found: FoundTable;
  readonly suffix: string;
  /** By id column. */
  readonly maps: readonly IdMap[];
  readonly crosswalks: readonly (readonly CrosswalkRow[])[];
  readonly parking: Parking;
  /** What changes rows in place, and what changes them back. */
  readonly forth: ReturnType<typeof compileRewrite>;
  readonly back: ReturnType<typeof compileRewrite>;
}

/** What must hold for a script to go on. */
export interface Check {
  /** What is wrong if it does not hold. */
  readonly problem: string;
  /** A term: rows that break it. */
  readonly count: string;
}

/** A condition on a row of the ledger's `run`: it is this script's run of the target. `state`: a comparison for its state. */
export function isOwnRun(
  { dialect, run }: Script,
  { target }: Pick<FoundTable, 'target'>,
  state: string,
): string {
  return `run = ${dialect.literal(run.run)} AND target = ${dialect.literal(target.name)} AND state ${state}`;
}

/** A condition: the ledger holds this script's run of the target. */
export function isRecorded(
  script: Script,
  found: Pick<FoundTable, 'target' | 'ledger'>,
  state: string,
): string {
  return `EXISTS (SELECT 1 FROM ${found.ledger.run} WHERE ${isOwnRun(script, found, state)})`;
}

/** A condition: a check failed. It guards statements that a client sends although an earlier one failed. */
export function anyFailed({ checks }: Script): string {
  return `EXISTS (SELECT 1 FROM ${checks} WHERE failed > 0)`;
}

/** Checks and records the result. */
export function checkSql({ checks, dialect }: Script, { problem, count }: Check): string {
  return `INSERT INTO ${checks}(problem, failed)\nSELECT ${dialect.literal(problem)}, ${count}`;
}

/** What must hold before anything changes. It held once where the run is recorded already. */
export function upChecks(script: Script, { found, maps }: ScriptTable): Check[] {
  const { dialect, mode } = script;
  const { target, facts, handling } = found;
  const { table } = facts;
  const columns = new Set([...handling.key, ...sourceColumns(target.ids).map(({ column }) => column)]);
  const typed = [...columns].map((name): Check => {
    const type = columnOf(facts, name)?.type ?? '';
    const count = `1 - ${dialect.emit.countColumns(table, name, type)}`;
    return { problem: `column ${name} is missing or is not ${type} any more`, count };
  });
  const added = addedColumns(mode, target.ids).map((name): Check => {
    const count = dialect.emit.countColumns(table, name, null);
    return { problem: `column ${name} exists already`, count };
  });
  const seen = maps.flatMap((map): Check[] => {
    if (writesPlatformId(map.id)) return [];
    const count = `(SELECT count(*) FROM ${dialect.tableSql(table)} AS t LEFT JOIN ${map.table} AS m ON ${mapMatch(dialect, map, 'm')}
  WHERE ${mustBeListed(dialect, map.id)} AND m.old IS NULL)`;
    return [{ problem: `${map.id.column} has values that the plan did not see`, count }];
  });
  const isBegun = isRecorded(script, found, "<> 'undone'");
  return [...typed, ...added, noOtherRun(script, found, 'another run'), ...seen].map(
    ({ problem, count }) => ({
      problem: `${target.name}: ${problem}`,
      count: `CASE WHEN ${isBegun} THEN 0 ELSE ${count} END`,
    }),
  );
}

function noOtherRun({ dialect, run }: Script, { facts, ledger }: FoundTable, what: string): Check {
  const isTable = `table_name = ${dialect.literal(facts.table)}`;
  const count = `(SELECT count(*) FROM ${ledger.run} WHERE ${isTable} AND state <> 'undone' AND run <> ${dialect.literal(run.run)})`;
  return { problem: `${what} is in the ledger for this table`, count };
}

/** What must hold before a run is undone: it is done, no later run builds on it, and its rows hold what it wrote. */
export function downChecks(script: Script, table: ScriptTable): Check[] {
  const { run, mode } = script;
  const { found, back } = table;
  const { name } = found.target;
  const later = noOtherRun(script, found, 'a later run');
  return [
    {
      problem: `${name}: run ${run.run} is not in the ledger as done`,
      count: `CASE WHEN ${isRecorded(script, found, "= 'done'")} THEN 0 ELSE 1 END`,
    },
    { ...later, problem: `${name}: ${later.problem}` },
    ...(mode === 'new'
      ? []
      : [
          {
            problem: `${name}: rows were changed since the run, svc-migrate apply undo ${run.run} leaves such rows alone`,
            count: `(${back.countWrong})`,
          },
        ]),
  ];
}

/** Checks that no row of the table holds a temporary value that ids need while they swap. */
export function parkingChecks({ dialect }: Script, { found, forth, parking }: ScriptTable): Check[] {
  return [...parking].map(([column, term]) => ({
    problem: `${found.target.name}: ${column} holds values that ids need while they swap`,
    count: `(SELECT count(*) FROM ${forth.list} AS w JOIN ${dialect.tableSql(found.facts.table)} AS t ON t.${dialect.quote(column)} = ${term})`,
  }));
}

/** A term: rows of a new column that do not hold what the crosswalk says. `isFilled`: only rows with a value. */
export function countWrong(
  { dialect }: Script,
  { found }: ScriptTable,
  map: IdMap,
  isFilled: boolean,
): string {
  const name = newColumnOf(map.id);
  const value = `t.${dialect.quote(name)}`;
  const isWrong = `CASE WHEN m.new IS NULL THEN ${value} IS NOT NULL ELSE ${value} IS NULL OR NOT (${holdsMapped(dialect, map, name)}) END`;
  return `(SELECT count(*) FROM ${dialect.tableSql(found.facts.table)} AS t JOIN ${map.table} AS m ON ${mapMatch(dialect, map, 'm')}
  WHERE ${isFilled ? `${value} IS NOT NULL AND ` : ''}${isWrong})`;
}

/** A term: the number of cells in the new columns that hold an id. */
export function countFilled({ dialect }: Script, { target, facts }: FoundTable): string {
  return target.ids
    .map((id) => `(SELECT count(${dialect.quote(newColumnOf(id))}) FROM ${dialect.tableSql(facts.table)})`)
    .join(' + ');
}

/** One stored value, and its V4 id: null if the cell is emptied, undefined if it keeps its value. */
export interface CrosswalkRow {
  /** The value as `exactText` of its `exact` form. */
  readonly old: string;
  /** Model, region and company of the row, where other columns name them. */
  readonly scope: Cells;
  readonly result: string | null | undefined;
}

/** Values of the model column that the target maps to null: such rows hold no ids of the service. */
function foreignModels({ models }: IdColumn): string[] {
  return Object.entries(models ?? {}).flatMap(([word, model]) =>
    model === null && word !== '' ? [word] : [],
  );
}

/** A condition: the cell of row `t` holds a value that the crosswalk must list. */
function mustBeListed({ quote, asText, literal }: Dialect, id: IdColumn): string {
  const cell = `t.${quote(id.column)}`;
  const words = foreignModels(id).map(literal).join(', ');
  const kind = id.modelColumn === undefined ? '' : asText(`t.${quote(id.modelColumn)}`);
  const isForeign = words === '' ? '' : ` AND (${kind} IS NULL OR ${kind} NOT IN (${words}))`;
  return `${cell} IS NOT NULL AND ${asText(cell)} <> ''${isForeign}`;
}

/**
 * Looks up every distinct value of a column, once for each model, region and company that its rows name. Sorted, so that
 * the same data give the same script. Call inside a transaction.
 *
 * @throws SvcError `bad_input` if the data are not as planned, or no index takes one of the values
 */
export async function readCrosswalk(
  engine: Engine,
  found: FoundTable,
  map: IdMap,
  agreed: Agreed,
): Promise<CrosswalkRow[]> {
  const { context, dialect } = engine;
  const { facts, target } = found;
  const { id } = map;
  const cell = `t.${dialect.quote(id.column)}`;
  const scopes = scopeTerms(dialect, id).length;
  const foreign = new Set<Cell | undefined>(foreignModels(id));
  const rows = new Map<string, CrosswalkRow>();
  const work = openTableColumn(engine, id, facts);
  const judged = judgeCells(engine, {
    work,
    mode: context.policy.mode,
    from: `${dialect.tableSql(facts.table)} AS t`,
    extra: [dialect.exactText(dialect.exact(cell, columnOf(facts, id.column) ?? { type: '' }))],
    isGrouped: true,
  });
  for await (const cells of judged) {
    for (const { group, result, extra } of cells) {
      const isForeign = id.modelColumn !== undefined && foreign.has(group[1]);
      if (group[0] === null || group[0] === '' || isForeign) continue;
      const scope = group.slice(1, 1 + scopes).map(String);
      const old = extra[0] ?? '';
      if (!isLongMap(map) && Buffer.byteLength(old) - 1 > MAX_OLD_BYTES) {
        const text = `Target ${target.name}: a value is longer than ${MAX_OLD_BYTES} bytes; no SQL was written.`;
        throw new SvcError('bad_input', text, { hint: 'Use apply write for this target.' });
      }
      rows.set(JSON.stringify([old, ...scope]), { old, scope, result });
    }
  }
  assertAgreed(context, agreed, work, found);
  return [...rows].sort(([a], [b]) => compareKeys(a, b)).map(([, row]) => row);
}

/** Orders by length, then by text, which sorts digits by number. */
function compareKeys(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

/** The most bytes of a value of a crosswalk that every database can index. */
const MAX_OLD_BYTES = 255;

const ROWS_PER_INSERT = 500;

/** Statements that create a crosswalk with its rows. */
export function crosswalkSql(dialect: Dialect, map: IdMap, rows: readonly CrosswalkRow[]): string[] {
  const { literal } = dialect;
  const literalOf = (marked: string) => {
    const value = marked.slice(1);
    if (marked.startsWith('i')) return integerSql(BigInt(value));
    return marked.startsWith('b') ? `x'${value}'` : literal(value);
  };
  const values = rows.map(({ old, scope, result }) => {
    const type = old.startsWith('i') && !writesPlatformId(map.id) ? 'i' : 't';
    const fresh = result === undefined || result === null ? 'NULL' : literalOf(type + result);
    const words = scope.map((word) => literal(String(word)));
    return `(${[literalOf(old), ...words, fresh, result === undefined ? 1 : 0, 1].join(', ')})`;
  });
  const inserts = Array.from({ length: Math.ceil(values.length / ROWS_PER_INSERT) }, (_, at) => {
    const part = values.slice(at * ROWS_PER_INSERT, (at + 1) * ROWS_PER_INSERT);
    return `INSERT INTO ${map.table} VALUES\n  ${part.join(',\n  ')}`;
  });
  return [
    `DROP TABLE IF EXISTS ${map.table}`,
    ...dialect.createMap(map),
    ...inserts,
    ...dialect.loaded(map.table, mapKey(map, dialect), isLongMap(map)),
  ];
}

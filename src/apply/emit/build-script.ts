import { basename } from 'node:path';
import { newColumnOf, type TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { RunFacts } from '../context.js';
import { dropColumnSql } from '../engine/added-columns.js';
import { changedRows } from '../engine/column-plans.js';
import {
  compileRewrite,
  createViewSql,
  type Direction,
  type Parking,
  tableOfRun,
} from '../engine/compile.js';
import type { Engine } from '../engine/dialect.js';
import { addedColumns, writtenColumn } from '../engine/id-columns.js';
import { fillSql, keptMaps, valueType } from '../engine/id-maps.js';
import { createRunSql, newRunRow } from '../engine/ledger-runs.js';
import { parkingTerm } from '../engine/move-rows.js';
import { columnOf, declaredType, type FoundTable, type Ledger } from '../engine/table-facts.js';
import { isIdText } from '../ids/model-ids.js';
import type { TargetPlan } from '../plan.js';
import type { SqlScript } from './layouts.js';
import {
  anyFailed,
  type CrosswalkRow,
  checkSql,
  countFilled,
  countWrong,
  crosswalkSql,
  downChecks,
  isOwnRun,
  isRecorded,
  parkingChecks,
  readCrosswalk,
  type Script,
  type ScriptTable,
  upChecks,
} from './script-table.js';

/**
 * Renders the plans of one database as SQL. Call inside a read-only transaction.
 *
 * @throws SvcError `bad_input` if the plan needs what only `apply` itself can do
 */
export async function buildScript(
  engine: Engine,
  all: readonly FoundTable[],
  plans: readonly TargetPlan[],
  run: RunFacts,
): Promise<SqlScript> {
  const { context, dialect } = engine;
  const [first] = all;
  if (first === undefined) throw new Error('a script without tables');
  for (const found of all) assertEmittable(engine, found);
  // The crosswalk may be loaded long before it is used, so its name must differ from those of other scripts.
  const own = `sql_${run.run.replaceAll(/\W/g, '_')}`;
  const checks = `${first.ledger.tables}${own}_checks`;
  const script: Script = { dialect, mode: context.policy.mode, run, checks };
  const tables: ScriptTable[] = [];
  for (const found of all) {
    const plan = plans.find(({ name }) => name === found.target.name);
    if (plan === undefined) continue;
    tables.push(await openTable(engine, script, found, plan, `${own}_${tables.length + 1}`));
  }
  return {
    up: upSql(engine, script, tables),
    down: downSql(script, tables),
    guards: guardsOf(script, tables),
    verify: `SELECT ${tables.map((table) => verifySql(script, table)).join('\n  + ')} AS wrong`,
    begin: dialect.ddlCommits ? null : 'BEGIN',
    values: tables.flatMap(({ crosswalks }) => crosswalks).reduce((sum, rows) => sum + rows.length, 0),
  };
}

/** @throws SvcError `bad_input` */
function assertEmittable({ dialect }: Engine, { target, facts, runs, handling }: FoundTable): void {
  const refuse = (text: string, hint: string): never => {
    throw new SvcError('bad_input', `Target ${target.name}: ${text}; no SQL was written.`, { hint });
  };
  const [run] = runs;
  if (run !== undefined)
    refuse(
      `run ${run.run} is in the ledger for this table`,
      `Undo it first: \`svc-migrate apply undo ${run.run}\`.`,
    );
  const ids = target.ids.map(({ column }) => column);
  const tied = facts.foreignKeys.find(({ columns }) => columns.some((name) => ids.includes(name)));
  if (dialect.ddlCommits && handling.isAtomic && tied !== undefined)
    refuse(`${tied.name} is a foreign key on these ids`, 'Use apply write, or drop the key meanwhile.');
}

async function openTable(
  engine: Engine,
  script: Script,
  found: FoundTable,
  plan: TargetPlan,
  suffix: string,
): Promise<ScriptTable> {
  const { dialect } = engine;
  const { facts } = found;
  const maps = keptMaps(engine, facts, tableOfRun(found, suffix));
  const crosswalks: CrosswalkRow[][] = [];
  for (const map of maps) crosswalks.push(await readCrosswalk(engine, found, map, { plan, run: script.run }));
  const table = tableOfRun(found, suffix);
  const compile = (state: string) =>
    compileRewrite(dialect, table, { facts, guard: isRecorded(script, found, `= '${state}'`) });
  const parking = await readParking(engine, found, plan, crosswalks);
  return { found, suffix, maps, crosswalks, parking, forth: compile('working'), back: compile('done') };
}

/** Temporary values for ids that swap under a unique key. */
async function readParking(
  engine: Engine,
  { facts, handling, target }: FoundTable,
  plan: TargetPlan,
  crosswalks: readonly (readonly CrosswalkRow[])[],
): Promise<Parking> {
  const parking = new Map<string, string>();
  const rows = changedRows(plan.columns);
  for (const name of handling.parked) {
    const column = columnOf(facts, name);
    if (column === undefined) continue;
    const at = target.ids.findIndex((id) => writtenColumn(id) === name);
    const crosswalk = crosswalks[at] ?? [];
    const present = new Set(crosswalk.map(({ old }) => old.slice(1)));
    if (!crosswalk.some(({ result }) => typeof result === 'string' && present.has(result))) continue;
    const highest = crosswalk.reduce((most, { result }) => {
      const id = isIdText(result ?? '') ? BigInt(result ?? 0) : 0n;
      return id > most ? id : most;
    }, 0n);
    const term = await parkingTerm(engine, facts.table, column, { own: `w.o${at}`, rows, highest });
    if (term !== null) parking.set(name, term);
  }
  return parking;
}

function ledgersOf(tables: readonly ScriptTable[]): Ledger[] {
  return [...new Map(tables.map(({ found: { ledger } }) => [ledger.name, ledger])).values()];
}

/** Creates the ledger and the crosswalks. */
function loadSql(script: Script, tables: readonly ScriptTable[]): string[] {
  const { dialect, mode } = script;
  return [
    ...ledgersOf(tables).flatMap((ledger) => [
      ...(ledger.createSchema === null ? [] : [ledger.createSchema]),
      createRunSql(dialect, ledger),
    ]),
    ...tables.flatMap(({ maps, crosswalks, forth }) => [
      ...maps.flatMap((map, at) => crosswalkSql(dialect, map, crosswalks[at] ?? [])),
      ...(mode === 'new' ? [] : forth.create),
    ]),
    ...viewSql(script, tables, mode !== 'new'),
  ];
}

/** The view of the changes. It shows those of the script alone until `apply` makes it anew. */
function viewSql({ dialect }: Script, tables: readonly ScriptTable[], isFilled: boolean): string[] {
  return ledgersOf(tables).flatMap((ledger) => {
    const own = isFilled ? tables.filter(({ found }) => found.ledger.name === ledger.name) : [];
    return createViewSql(
      dialect,
      ledger,
      own.map(({ found, suffix }) => tableOfRun(found, suffix)),
    );
  });
}

interface Statements {
  /** Creates the tables that the other statements need. */
  readonly prepare: readonly string[];
  /** Statements to run before the transaction if DDL commits. */
  readonly checks: readonly string[];
  readonly ddl: readonly string[];
  readonly changes: readonly string[];
  /** Statements to run after the transaction if DDL commits. */
  readonly end: readonly string[];
}

/** MySQL's unique index takes no more. */
const MAX_PROBLEM_CHARS = 700;

/** Checks and changes in one transaction. Where DDL commits, it runs before the transaction, but after the checks. */
function wholeScript(script: Script, tables: readonly ScriptTable[], statements: Statements): string[] {
  const { emit, ddlCommits, lockTables, tableSql } = script.dialect;
  const { prepare, checks, ddl, changes, end } = statements;
  const names = [...new Set(tables.map(({ found }) => found.facts.table))].sort();
  const [first] = tables;
  const locks = first === undefined ? [] : lockTables([first.found.ledger.run, ...names.map(tableSql)]);
  const begin = ['SET TRANSACTION ISOLATION LEVEL REPEATABLE READ', 'START TRANSACTION', ...locks];
  const start = ddl.length > 0 ? [...checks, ...ddl, ...begin] : [...begin, ...checks];
  return [
    ...emit.settings.set,
    ...prepare,
    `DROP TABLE IF EXISTS ${script.checks}`,
    `CREATE TABLE ${script.checks}(problem varchar(${MAX_PROBLEM_CHARS}) NOT NULL UNIQUE, failed bigint)`,
    ...(ddlCommits ? [...start, ...changes, 'COMMIT'] : [...locks, ...checks, ...ddl, ...changes]),
    ...end,
    `DROP TABLE IF EXISTS ${script.checks}`,
    ...emit.settings.restore,
  ];
}

function upSql(engine: Engine, script: Script, tables: readonly ScriptTable[]): string[] {
  const { dialect, mode } = script;
  const raise = dialect.emit.raise(script.checks);
  const checks = tables.flatMap((table) => upChecks(script, table));
  const record = (table: ScriptTable) => insertRunSql(engine, script, table, checks.length);
  const addColumns = ({ found: { target, facts } }: ScriptTable) =>
    target.ids.flatMap((id) => {
      const name = newColumnOf(id);
      if (!addedColumns(mode, target.ids).includes(name)) return [];
      const type = declaredType(valueType(dialect, facts, id));
      return dialect.emit.addColumn(facts.table, name, type);
    });
  const change = (table: ScriptTable) =>
    mode === 'new'
      ? [
          ...table.maps.map((map) =>
            fillSql(dialect, table.found.facts, map, isRecorded(script, table.found, "= 'working'")),
          ),
          ...table.maps.map((map) =>
            checkSql(script, {
              problem: `${table.found.target.name}: ${newColumnOf(map.id)} did not keep its new ids`,
              count: `CASE WHEN ${isRecorded(script, table.found, "= 'working'")} THEN ${countWrong(script, table, map, false)} ELSE 0 END`,
            }),
          ),
        ]
      : rewriteSql(script, table);
  return wholeScript(script, tables, {
    prepare: loadSql(script, tables),
    checks: [...checks.map((check) => checkSql(script, check)), raise, ...tables.map(record)],
    ddl: tables.flatMap(addColumns),
    changes: [...tables.flatMap(change), raise, ...tables.map((table) => finishSql(script, table))],
    // The query that verifies new columns reads their crosswalks.
    end:
      mode === 'new'
        ? []
        : tables.flatMap(({ maps }) => maps.map(({ table }) => `DROP TABLE IF EXISTS ${table}`)),
  });
}

/** Records the run, if every check was made and none failed. */
function insertRunSql(
  engine: Engine,
  script: Script,
  { found, suffix }: ScriptTable,
  checks: number,
): string {
  const { dialect, run } = script;
  const { ledger, target } = found;
  const values = newRunRow(engine, run, { ...found, target: withFileNames(target) }, suffix);
  const row: Readonly<Record<string, string>> = {
    unit: `(SELECT coalesce(max(unit), 0) + 1 FROM ${ledger.run})`,
    ...Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, ledgerLiteral(script, name, value)]),
    ),
    started_at: dialect.emit.now,
  };
  return `INSERT INTO ${ledger.run}(${Object.keys(row).join(', ')})
SELECT ${Object.values(row).join(',\n  ')}
FROM (SELECT count(*) AS made, sum(failed) AS failed FROM ${script.checks}) AS c
WHERE c.made >= ${checks} AND c.failed = 0 AND NOT ${isRecorded(script, found, "<> 'undone'")}`;
}

function ledgerLiteral({ dialect }: Script, column: string, value: string): string {
  return column === 'is_atomic' ? value : dialect.literal(value);
}

/** The target with file names instead of paths on this machine. */
function withFileNames(target: TableTarget): TableTarget {
  return target.kind === 'sqlite' ? { ...target, file: basename(target.file) } : target;
}

/** Lists the rows that change, if the run has no list yet; changes them, and checks the result. */
function rewriteSql(script: Script, table: ScriptTable): string[] {
  const { dialect } = script;
  const { found, maps, forth } = table;
  const { ledger } = found;
  const own = isOwnRun(script, found, "= 'working'");
  const listed = maps.map((map) => ({
    map,
    where: 'TRUE',
    isThere: !addedColumns('in_place', [map.id]).length,
  }));
  const isUnlisted = `EXISTS (SELECT 1 FROM ${ledger.run} WHERE ${own} AND total = 0)`;
  const checks = parkingChecks(script, table).map((check) => checkSql(script, check));
  return [
    // Rows that an undone run left behind.
    `DELETE FROM ${forth.list} WHERE ${isUnlisted}`,
    forth.insert(listed, [], [isUnlisted]),
    ...forth.loaded,
    `UPDATE ${ledger.run} SET total = (SELECT coalesce(max(id), 0) FROM ${forth.list}) WHERE ${own}`,
    ...(checks.length === 0 ? [] : [...checks, dialect.emit.raise(script.checks)]),
    ...moveSql(table, 'forth'),
    checkSql(script, {
      problem: `${found.target.name}: rows did not keep their new ids`,
      count: `(${forth.countWrong})`,
    }),
  ];
}

/** The UPDATE of the listed rows. Where ids under a unique key swap, one to temporary values comes first. */
function moveSql({ forth, back, parking }: ScriptTable, direction: Direction): string[] {
  const sql = direction === 'forth' ? forth : back;
  const move = sql.move(null, direction, parking);
  if (parking.size === 0) return [move];
  return [sql.park(parking, direction), move];
}

/** Marks the run as done. */
function finishSql(script: Script, { found, forth }: ScriptTable): string {
  const { dialect, mode } = script;
  const counts =
    mode === 'new'
      ? [`changed = ${countFilled(script, found)}`]
      : [`changed = (SELECT ${forth.countIn('ours')} FROM ${forth.list} AS w)`, 'done = total'];
  return `UPDATE ${found.ledger.run} SET ${[...counts, `finished_at = ${dialect.emit.now}`, "state = 'done'"].join(',\n  ')}
WHERE ${isOwnRun(script, found, "= 'working'")}
  AND NOT ${anyFailed(script)}`;
}

function downSql(script: Script, tables: readonly ScriptTable[]): string[] {
  const { dialect, mode } = script;
  const back = [...tables].reverse();
  const raise = dialect.emit.raise(script.checks);
  const dropColumns = back.flatMap(({ found: { target, facts } }) =>
    addedColumns(mode, target.ids).flatMap((name) => {
      const isThere = `${dialect.emit.countColumns(facts.table, name, null)} = 1`;
      return dialect.emit.runIf(isThere, dropColumnSql({ dialect }, facts.table, name));
    }),
  );
  const restore = (table: ScriptTable) => {
    const { found, back: sql } = table;
    const { target, facts } = found;
    const emptied = addedColumns(mode, target.ids).map((name) => ({
      problem: `${target.name}: other programs filled ${name}`,
      count: `(SELECT count(${dialect.quote(name)}) FROM ${dialect.tableSql(facts.table)})`,
    }));
    const restored = {
      problem: `${target.name}: rows did not keep their old ids`,
      count: `(${sql.countOurs(null)}) - (${sql.countMoved(null, 'back')})`,
    };
    return [...moveSql(table, 'back'), ...[restored, ...emptied].map((check) => checkSql(script, check))];
  };
  const undone = ({ found }: ScriptTable) =>
    `UPDATE ${found.ledger.run} SET state = 'undone', done = 0, suffix = '' WHERE ${isOwnRun(script, found, "= 'done'")} AND NOT ${anyFailed(script)}`;
  const checks = back.flatMap((table) => downChecks(script, table)).map((check) => checkSql(script, check));
  const isNew = mode === 'new';
  const drop = back.flatMap(({ found, maps, back: { list } }) => {
    const names = isNew ? maps.map(({ table }) => table) : [list];
    const isUndone = isRecorded(script, found, "= 'undone'");
    return names.flatMap((name) => dialect.emit.runIf(isUndone, `DROP TABLE IF EXISTS ${name}`));
  });
  return wholeScript(script, tables, {
    prepare: isNew ? [] : back.flatMap(({ forth }) => forth.create),
    checks: [...checks, raise],
    ddl: isNew ? dropColumns : [],
    changes: [...(isNew ? [] : [...back.flatMap(restore), raise]), ...back.map(undone)],
    end: [
      ...(isNew ? [] : [...dialect.checkKeys, ...dropColumns, ...viewSql(script, tables, false)]),
      ...drop,
    ],
  });
}

/** Statements that roll back if the run is not recorded as done (or undone), because the client continued after an error. */
function guardsOf(script: Script, tables: readonly ScriptTable[]): SqlScript['guards'] {
  const all = (state: string) => tables.map(({ found }) => isRecorded(script, found, `= '${state}'`));
  const ledger = tables[0]?.found.ledger;
  const guard = (...rights: readonly string[]) =>
    ledger === undefined ? [] : script.dialect.emit.rollBackIf(`NOT (${rights.join(' AND ')})`, ledger);
  return {
    up: guard(...all('done')),
    down: guard(...all('undone'), ...all('done').map((one) => `NOT ${one}`)),
  };
}

/** A term: the number of cells that do not hold what the run wrote, plus 1 if the run is not done. */
function verifySql(script: Script, table: ScriptTable): string {
  const { found, maps, forth } = table;
  const isDone = `CASE WHEN ${isRecorded(script, found, "= 'done'")} THEN 0 ELSE 1 END`;
  if (script.mode === 'in_place') return `${isDone}\n  + (${forth.countWrong})`;
  const isOwn = isOwnRun(script, found, "= 'done'");
  const missing = `coalesce((SELECT abs(changed - (${countFilled(script, found)})) FROM ${found.ledger.run} WHERE ${isOwn}), 0)`;
  return [isDone, missing, ...maps.map((map) => countWrong(script, table, map, true))].join('\n  + ');
}

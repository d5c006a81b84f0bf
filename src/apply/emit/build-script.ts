import { basename } from 'node:path';
import { newColumnOf, type TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { RunFacts } from '../context.js';
import { changedRows } from '../engine/column-plans.js';
import type { EmitText, Engine, IdMap } from '../engine/dialect.js';
import { isLongMap, keptMaps } from '../engine/id-maps.js';
import { parkingTerm } from '../engine/parking.js';
import { dropColumnSql } from '../engine/platform-columns.js';
import { writesPlatformId } from '../engine/platform-ids.js';
import { columnOf, type FoundTable } from '../engine/table-facts.js';
import { isIdText } from '../ids/id-form.js';
import type { TargetPlan } from '../plan.js';
import { createList, readCrosswalk, stagingSql } from './crosswalk.js';
import type { SqlScript } from './emit-request.js';
import { type CrosswalkRow, type EmitScript, type EmitTable, isRecorded, sqlRunName } from './emit-script.js';
import { finishSql, insertRunSql, verifySql } from './ledger-statements.js';
import { fillSql, rewriteSql, undoChecks, undoListSql, undoneSql, updatesSql } from './rewrite-statements.js';
import { checkOnce, checkSql, checksOf, createChecks, filledChecks, writtenCheck } from './script-checks.js';

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
  const text = engine.dialect.emit;
  const [first] = all;
  if (first === undefined) throw new Error('a script without tables');
  for (const found of all) assertEmittable(engine, found);
  // The crosswalk may be loaded long before it is used, so its name must differ from those of other scripts.
  const own = `sql_${sqlRunName(run)}`;
  const staging = (name: string) => engine.dialect.ledgerTable(`${own}_${name}`, first.ledger);
  const script: EmitScript = { engine, text, ...run, checks: staging('checks') };
  const tables: EmitTable[] = [];
  for (const found of all) {
    const plan = plans.find(({ name }) => name === found.target.name);
    if (plan === undefined) continue;
    const crosswalks = [];
    for (const id of found.target.ids) crosswalks.push(await readCrosswalk(engine, found, id, { plan, run }));
    const number = tables.length + 1;
    const name = `${own}_${number}`;
    const maps = keptMaps(engine, found.facts, { ...found, maps: name });
    assertIndexable(found, maps, crosswalks, text);
    const parking = await readParking(engine, found, plan, crosswalks);
    tables.push({ found, crosswalks, name, maps, parking, list: staging(`list_${number}`) });
  }
  return {
    title: text.title,
    load: loadSql(script, tables),
    up: upSql(script, tables),
    down: downSql(script, tables),
    guards: guardsOf(script, tables),
    verify: `SELECT ${tables.map((table) => verifySql(script, table)).join('\n  + ')} AS wrong`,
    begin: text.begin,
    values: tables.flatMap(({ crosswalks }) => crosswalks).reduce((sum, rows) => sum + rows.length, 0),
  };
}

/** @throws SvcError `bad_input` */
function assertEmittable({ dialect, context }: Engine, { target, facts, runs, handling }: FoundTable): void {
  const refuse = (text: string, hint: string): never => {
    throw new SvcError('bad_input', `Target ${target.name}: ${text}; no SQL was written.`, { hint });
  };
  const [run] = runs;
  if (run !== undefined)
    refuse(
      `run ${run.run} is in the ledger for this table`,
      `Undo it first: svc-migrate apply undo ${run.run}`,
    );
  if (context.policy.mode === 'in_place' && target.ids.some(writesPlatformId))
    refuse('platform_ids cannot be stored by SQL in place', 'Use apply write, or leave out --in-place.');
  const ids = target.ids.map(({ column }) => column);
  const tied = facts.foreignKeys.find(({ columns }) => columns.some((name) => ids.includes(name)));
  if (dialect.ddlCommits && handling.isAtomic && tied !== undefined)
    refuse(`${tied.name} is a foreign key on these ids`, 'Use apply write, or drop the key meanwhile.');
}

/** @throws SvcError `bad_input` */
function assertIndexable(
  { target }: FoundTable,
  maps: readonly IdMap[],
  crosswalks: readonly (readonly CrosswalkRow[])[],
  { longestOld }: EmitText,
): void {
  const indexed = crosswalks.filter((_, at) => !maps.some((map, of) => of === at && isLongMap(map)));
  if (!indexed.flat().some(({ old }) => Buffer.byteLength(old) > longestOld)) return;
  const text = `Target ${target.name}: a value is longer than ${longestOld} bytes; no SQL was written.`;
  throw new SvcError('bad_input', text, { hint: 'Use apply write for this target.' });
}

/** By column, SQL for the temporary values of ids that swap under a unique key. */
async function readParking(
  engine: Engine,
  found: FoundTable,
  plan: TargetPlan,
  crosswalks: readonly (readonly CrosswalkRow[])[],
): Promise<ReadonlyMap<string, string>> {
  const parking = new Map<string, string>();
  const rows = changedRows(plan.columns);
  for (const name of found.handling.parked) {
    const column = columnOf(found.facts, name);
    if (column === undefined) continue;
    const at = found.target.ids.findIndex((id) => id.column === name);
    const highest = (crosswalks[at] ?? []).reduce((most, { result }) => {
      const id = isIdText(result ?? '') ? BigInt(result ?? 0) : 0n;
      return id > most ? id : most;
    }, 0n);
    const term = await parkingTerm(engine, found.facts.table, column, at, { rows, highest });
    if (term !== null) parking.set(name, term);
  }
  return parking;
}

function loadSql(script: EmitScript, tables: readonly EmitTable[]): string[] {
  const { engine, text } = script;
  const ledgers = new Map(tables.map(({ found }) => [found.ledger.name, found.ledger]));
  return [
    ...text.settings,
    ...[...ledgers.values()].flatMap((ledger) => text.createLedger(engine.dialect, ledger)),
    ...tables.flatMap((table) => stagingSql(script, table)),
    ...text.restore,
  ];
}

const mapTables = ({ maps }: EmitTable) => maps.map(({ table }) => table);

interface Statements {
  /** Statements to run before the transaction if DDL commits. */
  readonly prepare: readonly string[];
  readonly checks: readonly string[];
  readonly ddl: readonly string[];
  readonly changes: readonly string[];
  /** Staging tables to drop. */
  readonly drop: readonly string[];
}

/** Checks and changes in one transaction. Where DDL commits, it runs before the transaction, but after the checks. */
function wholeScript(script: EmitScript, tables: readonly EmitTable[], statements: Statements): string[] {
  const { text } = script;
  const { prepare, checks, ddl, changes, drop } = statements;
  const names = [...new Set(tables.map(({ found }) => found.facts.table))].sort();
  const [first] = tables;
  const locks = first === undefined ? [] : text.lock(names, first.found.ledger);
  const begin = ['SET TRANSACTION ISOLATION LEVEL REPEATABLE READ', 'START TRANSACTION', ...locks];
  const start = ddl.length > 0 ? [...checks, ...ddl, ...begin] : [...begin, ...checks];
  return [
    ...text.settings,
    ...createChecks(script),
    ...prepare,
    ...(text.begin === null ? [...start, ...changes, 'COMMIT'] : [...locks, ...checks, ...ddl, ...changes]),
    ...[...drop, script.checks].map((name) => `DROP TABLE IF EXISTS ${name}`),
    ...text.restore,
  ];
}

function upSql(script: EmitScript, tables: readonly EmitTable[]): string[] {
  const { engine, text } = script;
  const isNew = engine.context.policy.mode === 'new';
  const raise = text.raise(script.checks);
  const checks = tables.flatMap((table) =>
    checksOf(script, table).map((check) => checkOnce(script, check, table.found)),
  );
  const recordRun = (table: EmitTable) =>
    insertRunSql(script, table, { target: withFileNames(table.found.target), checks: checks.length });
  const addColumns = ({ found }: EmitTable) =>
    found.target.ids.flatMap((id, at) =>
      text.addColumn(found.facts.table, newColumnOf(id), found.types[at] ?? ''),
    );
  const change = (table: EmitTable) =>
    isNew
      ? [...fillSql(script, table), ...filledChecks(script, table)]
      : [recordRun(table), ...rewriteSql(script, table)];
  return wholeScript(script, tables, {
    prepare: [],
    // In place, `changes` records each run after the entries of the run before, so that its own entries have higher ids.
    checks: [...checks, raise, ...(isNew ? tables.map(recordRun) : [])],
    ddl: isNew ? tables.flatMap(addColumns) : [],
    changes: [...tables.flatMap(change), raise, ...tables.map((table) => finishSql(script, table))],
    // The query that verifies new columns reads their crosswalks.
    drop: tables.flatMap((table) => (isNew ? [table.list] : [...mapTables(table), table.list])),
  });
}

function downSql(script: EmitScript, tables: readonly EmitTable[]): string[] {
  const { engine, text } = script;
  const isNew = engine.context.policy.mode === 'new';
  const back = [...tables].reverse();
  const raise = text.raise(script.checks);
  const dropColumns = ({ found }: EmitTable) =>
    found.target.ids.map((id) => dropColumnSql(engine, found.facts.table, newColumnOf(id)));
  const restore = (table: EmitTable) => [
    undoListSql(script, table),
    ...text.analyze(table.list),
    ...updatesSql(script, table),
    checkSql(script, writtenCheck(script, table)),
  ];
  const check = (table: EmitTable) => undoChecks(script, table).map((one) => checkSql(script, one));
  return wholeScript(script, tables, {
    prepare: isNew ? [] : back.flatMap((table) => createList(script, table)),
    checks: [...back.flatMap(check), raise],
    ddl: isNew ? back.flatMap(dropColumns) : [],
    changes: [
      ...(isNew ? [] : [...back.flatMap(restore), raise]),
      ...back.flatMap((table) => undoneSql(script, table)),
    ],
    drop: back.flatMap((table) => (isNew ? [...mapTables(table), table.list] : [table.list])),
  });
}

/** Statements that roll back if the run is not recorded as done (or undone), because the client continued after an error. */
function guardsOf(script: EmitScript, tables: readonly EmitTable[]): SqlScript['guards'] {
  const all = (state: string) => tables.map(({ found }) => isRecorded(script, found, `= '${state}'`));
  const ledger = tables[0]?.found.ledger;
  const guard = (...rights: readonly string[]) =>
    ledger === undefined ? [] : script.text.rollBackIf(`NOT (${rights.join(' AND ')})`, ledger);
  return {
    up: guard(...all('done')),
    down: guard(...all('undone'), ...all('done').map((one) => `NOT ${one}`)),
  };
}

/** The target with file names instead of paths on this machine. */
function withFileNames(target: TableTarget): TableTarget {
  if (target.kind === 'sqlite') return { ...target, file: basename(target.file) };
  return target.urlFile === undefined ? target : { ...target, urlFile: basename(target.urlFile) };
}

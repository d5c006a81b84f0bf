import type { OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';
import { at, must } from '../text/at.js';
import { escapeUnseen } from '../text/escape.js';
import { inBatches } from '../text/rows.js';
import type { CrosswalkColumn } from './crosswalk.js';
import type { Database, Value } from './db/database.js';
import { describeEmptyPaths } from './judge.js';
import type { RemapIds } from './remap-ids.js';
import {
  buildStateRow,
  deleteStateSql,
  locateState,
  readStates,
  STATE_COLUMNS,
  setStateSql,
  stateDefinition,
} from './state.js';
import {
  addColumn,
  countRows,
  crosswalkColumns,
  crosswalkDefinition,
  crosswalkSql,
  dropColumn,
  emptyUnmapped,
  fillColumn,
  guardRows,
  type Parking,
  switchBack,
  switchColumn,
  switchedRows,
  tableSql,
  unrestoredRows,
} from './statements.js';
import { chooseParking, findSwitchObstacles, NOT_SWITCHED } from './switch-columns.js';
import type { ApplyTable } from './tables.js';
import { type OutcomeCount, Tally } from './verdict.js';
import { judgeValues } from './write-columns.js';

export interface Scripts {
  readonly files: Readonly<Record<'write.sql' | 'check.sql' | 'switch.sql' | 'undo.sql', string>>;
  readonly counts: readonly {
    readonly target: string;
    readonly column: string;
    readonly counts: readonly OutcomeCount[];
  }[];
  readonly values: number;
}

interface PrintedColumn {
  readonly db: Database;
  readonly column: CrosswalkColumn;
  readonly rows: readonly (readonly Value[])[];
  readonly parking: Parking;
}

const ROWS_PER_INSERT = 500;

/** Stops a script at the first error, and leaves the transaction to be rolled back. */
const HEADS = {
  sqlite: '.bail on',
  postgres: '\\set ON_ERROR_STOP on',
  mysql:
    '-- MySQL commits each change of a table at once. If write.sql or undo.sql stops part-way, run svc-migrate apply undo.',
} as const;
const BEGIN = { sqlite: 'begin immediate', postgres: 'begin', mysql: 'start transaction' } as const;
/** PostgreSQL does not alter a table while deferred checks of it are pending. */
const SETTLE = { sqlite: [], postgres: ['set constraints all immediate'], mysql: [] } as const;

/** Statements on one column. Tables are changed before and after the rows, which are changed in one transaction. */
interface Step {
  readonly before: readonly string[];
  readonly rows: readonly string[];
  readonly after: readonly string[];
}

/** Judges the values of tables that are not written yet, and prints what apply would run. Changes nothing. */
export async function printScripts(
  tables: readonly ApplyTable[],
  remap: RemapIds,
  { isEmptying }: { readonly isEmptying: boolean },
  onProgress: OnProgress,
): Promise<Scripts> {
  const columns: PrintedColumn[] = [];
  const counts: Scripts['counts'][number][] = [];
  for (const { db, columns: ofTable, target } of tables) {
    for (const column of ofTable) {
      const tally = new Tally();
      const rows: (readonly Value[])[] = [];
      for await (const values of judgeValues(db, column, remap, onProgress)) {
        rows.push(...values.map(({ key, verdict }) => [...key, verdict.new, verdict.reason]));
        tally.addAll(values);
      }
      const [wrongPath] = describeEmptyPaths(column.table.table, column.ids, tally.emptyPaths());
      if (wrongPath !== undefined)
        throw new SvcError('config', wrongPath.text, { hint: 'Correct the path.' });
      columns.push({ db, column, rows, parking: parkingOf(column, rows) });
      counts.push({ target, column: column.column.name, counts: tally.list() });
    }
  }
  const { db } = must(columns[0]);
  const print = (stepOf: (column: PrintedColumn) => Step, last: readonly string[] = []) => {
    const steps = columns.map(stepOf);
    return renderScript(db, {
      before: steps.flatMap(({ before }) => before),
      rows: steps.flatMap(({ rows }) => rows),
      after: [...steps.flatMap(({ after }) => after), ...last],
    });
  };
  return {
    files: {
      'write.sql': print((column) => writeStep(column, remap.sha256)),
      'check.sql': renderStatements(db, columns.flatMap(checkStatements)),
      'switch.sql': `${tables.map(warnOfSwitch).join('')}${print((column) => switchStep(column, isEmptying))}`,
      'undo.sql': print(undoStep, await dropStates(tables)),
    },
    counts,
    values: columns.reduce((sum, { rows }) => sum + rows.length, 0),
  };
}

/** By the crosswalk: when the scripts run, no other value may be in COLUMN or COLUMN_v4. */
function parkingOf(column: CrosswalkColumn, rows: readonly (readonly Value[])[]): Parking {
  return chooseParking(
    column,
    rows.flatMap((row) => [at(row, 0), at(row, -2)]).filter((value) => typeof value === 'bigint'),
  );
}

async function dropStates(tables: readonly ApplyTable[]): Promise<string[]> {
  const drops = new Set<string>();
  for (const { db, facts } of tables) {
    const states = await readStates(db);
    if (states.every(({ schema }) => schema !== facts.schema))
      drops.add(`drop table ${stateDefinition(db, facts).table}`);
  }
  return [...drops];
}

/** One transaction, so that a script that is cut or fails leaves nothing; where tables cannot be changed in it, their rows. */
function renderScript(db: Database, { before, rows, after }: Step): string {
  const begin = BEGIN[db.kind];
  const settle = after.length === 0 ? [] : SETTLE[db.kind];
  return renderStatements(
    db,
    db.supportsTransactionalDdl
      ? [begin, ...before, ...rows, ...settle, ...after, 'commit']
      : [...before, begin, ...rows, 'commit', ...after],
  );
}

function renderStatements(db: Database, statements: readonly string[]): string {
  return `${HEADS[db.kind]}\n${statements.map((statement) => `${statement};\n`).join('')}`;
}

/** The rows of each state, in the state that the table is in. */
function checkStatements({ db, column }: PrintedColumn): string[] {
  const { table, where } = locateState(db, column);
  const name = db.literal(`${column.table.table}.${column.column.name}`);
  const count = (label: string, phase: 'written' | 'switched', state: string) =>
    `select ${name} as id_column, '${label}' as step, s.* from (${countRows(db, column, phase)}) as s
  where exists (select 1 from ${table} where ${where} and state = '${state}')`;
  return [
    `-- ${escapeUnseen(column.column.name)}: there should be no 'wrong', 'missing' or 'changed'
${count('after write', 'written', 'switching')}
union all ${count('after switch', 'switched', 'switched')}`,
  ];
}

function warnOfSwitch(table: ApplyTable): string {
  const obstacles = table.columns.flatMap((column) => findSwitchObstacles(table, column));
  return obstacles.map(({ text }) => `-- ${escapeUnseen(text)}\n`).join('');
}

/** Both columns are added at once: a script cannot ask whether one is there. The state says so: `switching`. */
function writeStep({ db, column, rows }: PrintedColumn, remap: string): Step {
  const state = stateDefinition(db, column.table);
  const row = buildStateRow(column, 'switching', remap);
  const inserts = [...inBatches(rows, ROWS_PER_INSERT)].map((some) =>
    insertSql(db, crosswalkSql(db, column), crosswalkColumns(column), some),
  );
  return {
    before: [
      ...db.createTable(state),
      insertSql(db, state.table, STATE_COLUMNS, [row]),
      ...db.createTable(crosswalkDefinition(db, column)),
      addColumn(db, column, column.v4),
      addColumn(db, column, column.v3),
    ],
    rows: [...inserts, ...fillColumn(db, column)],
    after: [],
  };
}

function insertSql(
  db: Database,
  table: string,
  columns: readonly string[],
  rows: readonly (readonly Value[])[],
): string {
  const names = columns.map((name) => db.quote(name)).join(', ');
  const values = rows.map((row) => `(${row.map((value) => db.literal(value)).join(', ')})`);
  return `insert into ${table}(${names}) values\n${values.join(',\n')}`;
}

/** Inserts the column's own row into the state table again, which its primary key refuses, if `condition` holds. */
function refuseIf(db: Database, column: CrosswalkColumn, condition: string): string {
  const { table, where } = locateState(db, column);
  const names = STATE_COLUMNS.join(', ');
  return `insert into ${table}(${names}) select ${names} from ${table} as s where ${where} and ${condition}`;
}

/** A trigger may write something else than a statement says, without an error. */
function refuseTriggered(db: Database, column: CrosswalkColumn, rows: string): string[] {
  return column.table.triggers.length === 0 ? [] : [refuseIf(db, column, `exists (${rows})`)];
}

function switchStep({ db, column, parking }: PrintedColumn, isEmptying: boolean): Step {
  const rows = [
    ...db.lockTable(tableSql(db, column.table)),
    refuseIf(db, column, "state <> 'switching'"),
    refuseIf(db, column, `exists (${guardRows(db, column, isEmptying)})`),
    setStateSql(db, column, 'switched'),
    ...(isEmptying ? [emptyUnmapped(db, column)] : []),
    ...switchColumn(db, column, parking),
    ...refuseTriggered(db, column, switchedRows(db, column, NOT_SWITCHED)),
  ];
  return { before: [], rows, after: [] };
}

function undoStep({ db, column, parking }: PrintedColumn): Step {
  const rows = [
    refuseIf(db, column, `state = 'switched' and exists (${switchedRows(db, column, ['wrong'])})`),
    ...switchBack(db, column, parking),
    ...refuseTriggered(db, column, unrestoredRows(db, column)),
    setStateSql(db, column, 'undoing'),
  ];
  const after = [
    dropColumn(db, column, column.v4),
    dropColumn(db, column, column.v3),
    `drop table ${crosswalkSql(db, column)}`,
    deleteStateSql(db, column),
  ];
  return { before: [], rows, after };
}

import type { OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';
import { at, must } from '../text/at.js';
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
import { chooseParking, NOT_SWITCHED } from './switch-columns.js';
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
const HEADS = { sqlite: '.bail on', postgres: '\\set ON_ERROR_STOP on', mysql: '' } as const;
const BEGIN = { sqlite: 'begin immediate', postgres: 'begin', mysql: 'start transaction' } as const;

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
  const print = (statementsOf: (column: PrintedColumn) => readonly string[]) =>
    renderScript(must(columns[0]).db, columns.flatMap(statementsOf));
  return {
    files: {
      'write.sql': print((column) => writeStatements(column, remap.sha256)),
      'check.sql': print(({ db, column }) => [
        `-- ${column.column.name} before the switch: 'mapped', 'null', and reasons, but no 'wrong' or 'missing'\n${countRows(db, column, 'written')}`,
        `-- ${column.column.name} after the switch: no 'wrong', 'missing' or 'changed'\n${countRows(db, column, 'switched')}`,
      ]),
      'switch.sql': print((column) => switchStatements(column, isEmptying)),
      'undo.sql': `${print(undoStatements)}${await dropStates(tables)}`,
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

async function dropStates(tables: readonly ApplyTable[]): Promise<string> {
  const drops = new Set<string>();
  for (const { db, facts } of tables) {
    const states = await readStates(db);
    if (states.every(({ schema }) => schema !== facts.schema))
      drops.add(`drop table ${stateDefinition(db, facts).table};\n`);
  }
  return [...drops].join('');
}

function renderScript(db: Database, statements: readonly string[]): string {
  const head = HEADS[db.kind];
  return `${head === '' ? '' : `${head}\n`}${statements.map((statement) => `${statement};\n`).join('')}`;
}

/** Both columns are added at once: a script cannot ask whether one is there. The state says so: `switching`. */
function writeStatements({ db, column, rows }: PrintedColumn, remap: string): string[] {
  const state = stateDefinition(db, column.table);
  const row = buildStateRow(column, 'switching', remap);
  const inserts = [...inBatches(rows, ROWS_PER_INSERT)].map((some) =>
    insertSql(db, crosswalkSql(db, column), crosswalkColumns(column), some),
  );
  return [
    ...db.createTable(state),
    ...db.createTable(crosswalkDefinition(db, column)),
    insertSql(db, state.table, STATE_COLUMNS, [row]),
    addColumn(db, column, column.v4),
    addColumn(db, column, column.v3),
    BEGIN[db.kind],
    ...inserts,
    ...fillColumn(db, column),
    'commit',
  ];
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

function switchStatements({ db, column, parking }: PrintedColumn, isEmptying: boolean): string[] {
  return [
    BEGIN[db.kind],
    ...db.lockTable(tableSql(db, column.table)),
    refuseIf(db, column, "state <> 'switching'"),
    refuseIf(db, column, `exists (${guardRows(db, column, isEmptying)})`),
    setStateSql(db, column, 'switched'),
    ...(isEmptying ? [emptyUnmapped(db, column)] : []),
    ...switchColumn(db, column, parking),
    ...refuseTriggered(db, column, switchedRows(db, column, NOT_SWITCHED)),
    'commit',
  ];
}

function undoStatements({ db, column, parking }: PrintedColumn): string[] {
  return [
    BEGIN[db.kind],
    refuseIf(db, column, `state = 'switched' and exists (${switchedRows(db, column, ['wrong'])})`),
    ...switchBack(db, column, parking),
    ...refuseTriggered(db, column, unrestoredRows(db, column)),
    setStateSql(db, column, 'undoing'),
    'commit',
    dropColumn(db, column, column.v4),
    dropColumn(db, column, column.v3),
    `drop table ${crosswalkSql(db, column)}`,
    deleteStateSql(db, column),
  ];
}

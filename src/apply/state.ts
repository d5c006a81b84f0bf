import * as z from 'zod';
import { idColumnSchema } from '../config/apply-targets.js';
import { SvcError } from '../errors.js';
import { type ColumnIds, type CrosswalkColumn, STATE_TABLE } from './crosswalk.js';
import {
  type Database,
  executeAll,
  type ListedTable,
  type TableDefinition,
  type TableFacts,
  type Value,
} from './db/database.js';
import { besideTable } from './statements.js';

/**
 * What was done to a column, as recorded beside it:
 * `writing` its crosswalk is being loaded or its new column filled · `written` COLUMN_v4 is filled · `switching` COLUMN_v3 is
 * being added, COLUMN holds V3 ids · `switched` COLUMN holds V4 ids · `undoing` COLUMN holds V3 ids, the rest is being dropped ·
 * `dropping` the same, and a COLUMN_v3 is not ours
 */
const STATES = ['writing', 'written', 'switching', 'switched', 'undoing', 'dropping'] as const;
export type ColumnState = (typeof STATES)[number];

export interface StoredState {
  readonly schema: string | null;
  readonly table: string;
  readonly column: string;
  readonly state: ColumnState;
  readonly crosswalk: string;
  /** SHA-256 of the remap that the crosswalk was made from. */
  readonly remap: string;
  readonly ids: ColumnIds;
}

const definitionSchema = z.tuple([idColumnSchema], idColumnSchema);

export async function readStates(db: Database): Promise<StoredState[]> {
  const states: StoredState[] = [];
  for (const { schema } of await listStateTables(db)) {
    const select = `select ${STATE_COLUMNS.join(', ')} from ${besideTable(db, { schema }, STATE_TABLE)} order by 1, 2`;
    const rows = await orDropped(db, { schema }, () => db.query(select));
    states.push(...(rows ?? []).map((row) => parseState(schema, row, db.place)));
  }
  return states;
}

function parseState(schema: string | null, row: readonly Value[], place: string): StoredState {
  const [table, column, state, crosswalk, remap, definition] = row.map(String);
  try {
    return z
      .object({
        schema: z.string().nullable(),
        table: z.string(),
        column: z.string(),
        state: z.enum(STATES),
        crosswalk: z.string(),
        remap: z.string(),
        ids: definitionSchema,
      })
      .parse({ schema, table, column, state, crosswalk, remap, ids: JSON.parse(String(definition)) });
  } catch (cause) {
    throw new SvcError(
      'bad_input',
      `The table ${STATE_TABLE} of ${place} was changed or is of another version.`,
      {
        hint: 'Repair its rows, or drop it together with the columns and crosswalks that it names.',
        cause,
      },
    );
  }
}

export function findState(
  states: readonly StoredState[],
  table: TableFacts,
  column: string,
): StoredState | undefined {
  return states.find((state) => state.table === table.table && state.column === column);
}

export const STATE_COLUMNS = [
  'table_name',
  'column_name',
  'state',
  'crosswalk',
  'remap',
  'definition',
] as const;

export function stateDefinition(db: Database, table: Pick<TableFacts, 'schema'>): TableDefinition {
  const names = STATE_COLUMNS.map(
    (name) => ({ name, type: name === 'definition' ? 'text' : 'name', isNullable: false }) as const,
  );
  return { table: besideTable(db, table, STATE_TABLE), columns: names, key: STATE_COLUMNS.slice(0, 2) };
}

/** A row of the state table. */
export function buildStateRow(
  { table, column, crosswalk, ids }: CrosswalkColumn,
  state: ColumnState,
  remap: string,
): string[] {
  return [table.table, column.name, state, crosswalk, remap, JSON.stringify(ids)];
}

/**
 * Records the owner of a column.
 *
 * @throws SvcError `locked` if another process did the same first, which the primary key refuses, or dropped the table
 */
export async function claimColumn(db: Database, column: CrosswalkColumn, remap: string): Promise<void> {
  const definition = stateDefinition(db, column.table);
  const row = buildStateRow(column, 'writing', remap);
  try {
    await db.transaction('write', () => executeAll(db, db.createTable(definition)));
  } catch (error) {
    // In PostgreSQL, IF NOT EXISTS fails where two processes create a table at the same time.
    if (!(await hasStateTable(db, column.table))) throw error;
  }
  try {
    await db.transaction('write', () => db.insert(definition.table, STATE_COLUMNS, [row]));
  } catch (error) {
    const isOwned = findState(await readStates(db), column.table, column.column.name) !== undefined;
    throw isOwned || !(await hasStateTable(db, column.table)) ? busyColumn(column, error) : error;
  }
}

/**
 * Moves a column to another state, and locks its row until the transaction ends.
 *
 * @throws SvcError `locked` if another process changed it meanwhile
 */
export async function changeState(
  db: Database,
  column: CrosswalkColumn,
  from: readonly ColumnState[],
  to: ColumnState,
  remap: string | null = null,
): Promise<void> {
  if (!(await moveState(db, column, from, to, remap))) throw busyColumn(column);
}

async function moveState(
  db: Database,
  column: CrosswalkColumn,
  from: readonly ColumnState[],
  to: ColumnState,
  remap: string | null = null,
): Promise<boolean> {
  const allowed = from.map((state) => db.literal(state)).join(', ');
  const moved = await db.execute(`${setStateSql(db, column, to, remap)} and state in (${allowed})`);
  return moved > 0;
}

/**
 * Runs work in a transaction while a column is in a state. Does nothing if another undo of the column has ended: a column
 * that is there now belongs to a later write.
 */
export async function whileInState(
  db: Database,
  column: CrosswalkColumn,
  state: ColumnState,
  work: () => Promise<unknown>,
): Promise<void> {
  const run = async () => {
    if (await moveState(db, column, [state], state)) await work();
  };
  await orDropped(db, column.table, () => db.transaction('write', run));
}

/**
 * Runs work on columns. If the work fails, it must leave each of them in one of the states; undefined: not recorded.
 *
 * @throws SvcError `locked` instead of the error of the work if another process moved a column to another state
 */
export async function detectStateChange<T>(
  db: Database,
  columns: readonly CrosswalkColumn[],
  states: readonly (ColumnState | undefined)[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await assertStates(db, columns, states, error);
    throw error;
  }
}

/** @throws SvcError `locked` if another process moved a column to another state */
export async function assertStates(
  db: Database,
  columns: readonly CrosswalkColumn[],
  states: readonly (ColumnState | undefined)[],
  cause?: unknown,
): Promise<void> {
  const stored = await readStates(db);
  const stateOf = ({ table, column }: CrosswalkColumn) => findState(stored, table, column.name)?.state;
  const moved = columns.find((column) => !states.includes(stateOf(column)));
  if (moved !== undefined) throw busyColumn(moved, cause);
}

export const WRITABLE: readonly ColumnState[] = ['writing', 'written', 'switching'];

/**
 * Locks the row of a column for a write until the transaction ends. Returns its state.
 *
 * @throws SvcError `locked` if another process switched the column or is taking it back
 */
export async function lockForWrite(db: Database, column: CrosswalkColumn): Promise<ColumnState> {
  const stored = (await readStates(db)).find(({ crosswalk }) => crosswalk === column.crosswalk);
  if (stored === undefined || !WRITABLE.includes(stored.state)) throw busyColumn(column);
  await changeState(db, column, [stored.state], stored.state);
  return stored.state;
}

function busyColumn({ table, column }: CrosswalkColumn, cause?: unknown): SvcError {
  return new SvcError('locked', `Another process is working on ${table.table}.${column.name}.`, {
    hint: 'Wait until it has finished, then run the same command again.',
    cause,
  });
}

export function setStateSql(
  db: Database,
  column: CrosswalkColumn,
  state: ColumnState,
  remap: string | null = null,
): string {
  const { where, table } = locateState(db, column);
  const set = remap === null ? '' : `, remap = ${db.literal(remap)}`;
  return `update ${table} set state = ${db.literal(state)}${set} where ${where}`;
}

export function deleteStateSql(db: Database, column: CrosswalkColumn): string {
  const { where, table } = locateState(db, column);
  return `delete from ${table} where ${where}`;
}

export async function dropEmptyStates(db: Database): Promise<void> {
  for (const place of await listStateTables(db)) {
    const table = besideTable(db, place, STATE_TABLE);
    const drop = async () => {
      // Another process may record a column until the table is locked.
      await executeAll(db, db.lockTable(table));
      const rows = await db.query(`select 1 from ${table} limit 1`);
      if (rows.length === 0) await db.execute(`drop table ${table}`);
    };
    await orDropped(db, place, () => db.transaction('write', drop));
  }
}

/** Returns null instead of an error if another process dropped the table of states. */
async function orDropped<T>(
  db: Database,
  place: Pick<TableFacts, 'schema'>,
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (await hasStateTable(db, place)) throw error;
    return null;
  }
}

async function listStateTables(db: Database): Promise<ListedTable[]> {
  return (await db.listTables()).filter(({ name }) => name === STATE_TABLE);
}

async function hasStateTable(db: Database, place: Pick<TableFacts, 'schema'>): Promise<boolean> {
  return (await listStateTables(db)).some(({ schema }) => schema === place.schema);
}

/** The row of a column in the state table. */
export function locateState(
  db: Database,
  column: CrosswalkColumn,
): { readonly table: string; readonly where: string } {
  const { table } = stateDefinition(db, column.table);
  const where = `table_name = ${db.literal(column.table.table)} and column_name = ${db.literal(column.column.name)}`;
  return { table, where };
}

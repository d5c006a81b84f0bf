import * as z from 'zod';
import { idColumnSchema } from '../config/apply-targets.js';
import { SvcError } from '../errors.js';
import { at } from '../text/at.js';
import { type ColumnIds, type CrosswalkColumn, STATE_TABLE } from './crosswalk.js';
import type { Database, TableFacts, Value } from './db/database.js';
import { besideTable, stateDefinition } from './statements.js';

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
  const tables = (await db.listTables()).filter(({ name }) => name === STATE_TABLE);
  const states: StoredState[] = [];
  for (const { schema } of tables) {
    const rows = await db.query(
      `select table_name, column_name, state, crosswalk, remap, definition from ${besideTable(db, { schema }, STATE_TABLE)} order by 1, 2`,
    );
    states.push(...rows.map((row) => parseState(schema, row, db.place)));
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

/** Records the owner of a column. Another process that does the same at the same time fails on the primary key. */
export async function insertState(db: Database, column: CrosswalkColumn, remap: string): Promise<void> {
  const { table, columns } = stateDefinition(db, column.table);
  const row = [
    column.table.table,
    column.column.name,
    'writing',
    column.crosswalk,
    remap,
    JSON.stringify(column.ids),
  ];
  const names = columns.map(({ name }) => name);
  await db.transaction('write', () => db.insert(table, names, [row]));
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
  const set = remap === null ? '' : `, remap = ${db.literal(remap)}`;
  const { where, table } = rowOf(db, column);
  const allowed = from.map((state) => db.literal(state)).join(', ');
  await db.execute(
    `update ${table} set state = ${db.literal(to)}${set} where ${where} and state in (${allowed})`,
  );
  const [row] = await db.query(`select state from ${table} where ${where}`);
  if (row !== undefined && at(row, 0) === to) return;
  throw busyColumn(column);
}

const WRITABLE: readonly ColumnState[] = ['writing', 'written', 'switching'];

/**
 * Locks the row of a column for a write until the transaction ends. Returns its state.
 *
 * @throws SvcError `locked` if another process switched the column or is taking it back
 */
export async function lockForWrite(db: Database, column: CrosswalkColumn): Promise<ColumnState> {
  const stored = (await readStates(db)).find(({ crosswalk }) => crosswalk === column.crosswalk);
  if (stored === undefined || !WRITABLE.includes(stored.state)) throw busyColumn(column);
  await changeState(db, column, WRITABLE, stored.state);
  return stored.state;
}

function busyColumn({ table, column }: CrosswalkColumn): SvcError {
  return new SvcError('locked', `Another process is working on ${table.table}.${column.name}.`, {
    hint: 'Wait until it has ended, then run the same command again.',
  });
}

export function deleteStateSql(db: Database, column: CrosswalkColumn): string {
  const { where, table } = rowOf(db, column);
  return `delete from ${table} where ${where}`;
}

export async function deleteState(db: Database, column: CrosswalkColumn): Promise<void> {
  await db.transaction('write', () => db.execute(deleteStateSql(db, column)));
}

export async function dropEmptyStates(db: Database): Promise<void> {
  for (const { schema } of (await db.listTables()).filter(({ name }) => name === STATE_TABLE)) {
    const table = besideTable(db, { schema }, STATE_TABLE);
    await db.transaction('write', async () => {
      // Another process may record a column until the table is locked.
      for (const statement of db.lockTable(table)) await db.execute(statement);
      const rows = await db.query(`select 1 from ${table} limit 1`);
      if (rows.length === 0) await db.execute(`drop table ${table}`);
    });
  }
}

function rowOf(db: Database, column: CrosswalkColumn): { readonly table: string; readonly where: string } {
  const { table } = stateDefinition(db, column.table);
  const where = `table_name = ${db.literal(column.table.table)} and column_name = ${db.literal(column.column.name)}`;
  return { table, where };
}

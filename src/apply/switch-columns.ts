import { SvcError } from '../errors.js';
import { must } from '../text/at.js';
import { countOf } from '../text/numbers.js';
import type { CrosswalkColumn } from './crosswalk.js';
import { type Database, executeAll, type Obstacle } from './db/database.js';
import {
  changeState,
  deleteStateSql,
  detectStateChange,
  lockForWrite,
  WRITABLE,
  whileInState,
} from './state.js';
import {
  addColumn,
  countRows,
  crosswalkSql,
  dropColumn,
  emptyColumn,
  emptyUnmapped,
  fillColumn,
  nameRows,
  type Parking,
  type Phase,
  selectRange,
  selectUnmapped,
  switchBack,
  switchColumn,
  tableSql,
} from './statements.js';
import {
  type ApplyTable,
  assertDropped,
  assertRestorable,
  assertWhole,
  hasColumn,
  hasCrosswalk,
  isTableGone,
  refresh,
  refreshIfThere,
  type TableColumn,
} from './tables.js';
import { isUnmapped } from './verdict.js';
import { isSwitched } from './write-columns.js';

export interface SwitchedColumn {
  readonly column: string;
  readonly switched: number;
  /** Cells that were set to NULL, because there is no V4 id. */
  readonly emptied: number;
  readonly alreadyDone: boolean;
}

export type RowStates = ReadonlyMap<string, number>;

export async function readRowStates(db: Database, column: CrosswalkColumn, phase: Phase): Promise<RowStates> {
  const rows = await db.query(countRows(db, column, phase));
  return new Map(rows.map(([state, count]) => [String(state), Number(count)]));
}

export function findSwitchObstacles({ db, facts }: ApplyTable, column: CrosswalkColumn): Obstacle[] {
  const name = column.column.name;
  const stops = (code: string, text: string): Obstacle => ({ stops: 'switch', code, text });
  const isText = column.column.holds === 'text' || column.column.holds === 'json';
  const cascading = facts.cascades.filter(({ columns }) => columns.includes(name));
  return [
    ...(column.isUnique && isText
      ? [
          stops(
            'unique_text',
            `${facts.table}.${name} holds text under a unique key, where ids cannot swap places: drop the key until the switch is done${db.kind === 'sqlite' ? ' (a UNIQUE or PRIMARY KEY of CREATE TABLE cannot be dropped: rebuild the table without it)' : ''}.`,
          ),
        ]
      : []),
    ...cascading.map(({ table }) =>
      stops(
        'cascade',
        `A foreign key of ${table} copies every change of ${facts.table}.${name}: drop it until the switch is done.`,
      ),
    ),
  ];
}

/**
 * Switches the columns of a table in one transaction: all of them or none.
 *
 * @throws SvcError `incomplete` if a column was not written or values came since; `unmapped` as exit code 1 by `RefusedSwitch`
 */
export async function switchTable(table: ApplyTable, isEmptying: boolean): Promise<SwitchedColumn[]> {
  const { db } = table;
  const columns = listSwitchable(table);
  const before = table.columns.filter(isSwitched).map(doneBefore);
  if (columns.length === 0) return before;
  const switched = await detectStateChange(db, columns, WRITABLE, async () => {
    for (const column of columns) await assertWhole({ ...table, column });
    if (!db.supportsTransactionalDdl) await db.transaction('write', () => prepare(table, columns));
    return db.transaction('write', async () => {
      if (db.supportsTransactionalDdl) await prepare(table, columns);
      await executeAll(db, db.lockTable(tableSql(db, table.facts)));
      const done: SwitchedColumn[] = [];
      for (const column of columns) done.push(await switchOne(table, column, isEmptying));
      return done;
    });
  });
  return [...before, ...switched];
}

function listSwitchable(table: ApplyTable): TableColumn[] {
  const columns = table.columns.filter((column) => !isSwitched(column));
  for (const column of columns) assertWritten(table, column);
  return columns;
}

/** Refuses before the first table is switched what would be refused later. Rows are read only if an id has no V4 id. */
export async function assertReady(table: ApplyTable, isEmptying: boolean): Promise<void> {
  const { db } = table;
  for (const column of listSwitchable(table))
    await detectStateChange(db, [column], WRITABLE, async () => {
      await assertWhole({ ...table, column });
      if ((await db.query(selectUnmapped(db, column))).length === 0) return;
      assertSwitchable(table, column, await readRowStates(db, column, 'written'), isEmptying);
    });
}

function doneBefore({ column }: TableColumn): SwitchedColumn {
  return { column: column.name, switched: 0, emptied: 0, alreadyDone: true };
}

function assertWritten({ facts }: ApplyTable, { column, state }: TableColumn): void {
  if (state?.state === 'written' || state?.state === 'switching') return;
  const [why, command] =
    state?.state === 'undoing' || state?.state === 'dropping'
      ? ['There is an unfinished undo of', 'apply undo']
      : ['No V4 ids were written yet for', 'apply write'];
  throw new SvcError('incomplete', `${why} ${facts.table}.${column.name}.`, {
    hint: `Run \`svc-migrate ${command}\` first.`,
  });
}

/** Adds COLUMN_v3. Where DDL commits, the state says first that the column is ours. */
async function prepare(table: ApplyTable, columns: readonly TableColumn[]): Promise<void> {
  const { db } = table;
  for (const column of columns) {
    const state = await lockForWrite(db, column);
    const exists = hasColumn(await refresh(table), column.v3);
    if (exists && state === 'written') {
      throw new SvcError(
        'bad_input',
        `${table.facts.table} has a column ${column.v3} that svc-migrate did not add.`,
        {
          hint: 'Rename it, then run the same command again.',
        },
      );
    }
    await changeState(db, column, ['written', 'switching'], 'switching');
    if (!exists) await db.execute(addColumn(db, column, column.v3));
  }
}

async function switchOne(
  table: ApplyTable,
  column: TableColumn,
  isEmptying: boolean,
): Promise<SwitchedColumn> {
  const { db } = table;
  await changeState(db, column, ['switching'], 'switched');
  const states = await readRowStates(db, column, 'written');
  assertSwitchable(table, column, states, isEmptying);
  const parking = await readParking(db, column, column.v4);
  const emptied = isEmptying ? await db.execute(emptyUnmapped(db, column)) : 0;
  const [first, ...others] = switchColumn(db, column, parking);
  const switched = await executeAll(db, first === undefined ? [] : [first]);
  await executeAll(db, others);
  if (table.facts.triggers.length > 0) {
    const different = sumStates(await readRowStates(db, column, 'switched'), NOT_SWITCHED);
    if (different > 0) throw changedByTrigger(table, column, different);
  }
  return { column: column.column.name, switched, emptied, alreadyDone: false };
}

export const NOT_SWITCHED = ['changed', 'since', 'wrong', 'missing'] as const;

function sumStates(states: RowStates, names: readonly string[]): number {
  return names.reduce((sum, name) => sum + (states.get(name) ?? 0), 0);
}

/** A trigger may write something else than the statement says, without an error. */
function changedByTrigger({ facts }: ApplyTable, { column }: TableColumn, rows: number): SvcError {
  const names = facts.triggers.join(', ');
  return new SvcError(
    'bad_input',
    `A trigger of ${facts.table} (${names}) keeps other ids in ${countOf(rows, 'row')} of ${column.name}.`,
    { hint: 'The data are unchanged. Disable the trigger, run the same command again, then enable it.' },
  );
}

function assertSwitchable(
  { facts }: ApplyTable,
  column: TableColumn,
  states: RowStates,
  isEmptying: boolean,
): void {
  const name = `${facts.table}.${column.column.name}`;
  const came = sumStates(states, ['missing', 'wrong']);
  if (came > 0) {
    throw new SvcError(
      'incomplete',
      `${countOf(came, 'row')} of ${name} ${came === 1 ? 'was' : 'were'} added or changed since the write.`,
      {
        hint: 'Run `svc-migrate apply write` again: it picks up new and changed rows.',
      },
    );
  }
  const unmapped = [...states].filter(
    ([state]) => state !== 'null' && state !== 'mapped' && isUnmapped(state),
  );
  if (unmapped.length > 0 && !isEmptying) throw new RefusedSwitch(name, unmapped);
  const cells = unmapped.reduce((sum, [, rows]) => sum + rows, 0);
  if (cells > 0 && !column.column.isNullable)
    throw new SvcError('bad_input', describeNotNull(name, cells), {
      hint: 'Give these ids a V4 id, or drop NOT NULL until they have one.',
    });
}

export function describeNotNull(column: string, cells: number): string {
  return `${column} is NOT NULL, and ${countOf(cells, 'cell')} of it ${cells === 1 ? 'has' : 'have'} no V4 id: switch --empty cannot empty ${cells === 1 ? 'it' : 'them'}.`;
}

/** A switch that would leave cells with V3 ids: exit code 1. */
export class RefusedSwitch extends Error {
  readonly column: string;
  readonly unmapped: readonly (readonly [reason: string, rows: number])[];

  constructor(column: string, unmapped: readonly (readonly [string, number])[]) {
    super(`${column} has ids without a V4 id.`);
    this.name = 'RefusedSwitch';
    this.column = column;
    this.unmapped = unmapped;
  }
}

/** `beside`: the column of the new values. */
async function readParking(db: Database, column: CrosswalkColumn, beside: string): Promise<Parking> {
  if (!column.isUnique) return null;
  const [row = []] = await db.query(selectRange(db, column, beside));
  return chooseParking(column, row.filter((value) => value !== null).map(BigInt));
}

/** Chooses numbers that no id has, for ids that swap places under a unique key. `ids`: all, or the least and greatest. */
export function chooseParking({ isUnique, column }: CrosswalkColumn, ids: readonly bigint[]): Parking {
  if (!isUnique) return null;
  const least = ids.reduce((a, b) => (b < a ? b : a), 0n);
  const greatest = ids.reduce((a, b) => (b > a ? b : a), 0n);
  if (least >= 0n && !column.isUnsigned) return { kind: 'negative' };
  return { kind: 'offset', offset: greatest - least + 1n };
}

export interface UndoneColumn {
  readonly column: string;
  /** The table was dropped: nothing could be taken back. */
  readonly tableGone: boolean;
  readonly restored: number;
  readonly changedSinceCount: number;
  readonly changedSince: readonly string[];
  /** Columns that the database does not drop, with its reason; they are empty now. */
  readonly emptied: readonly { readonly column: string; readonly why: string }[];
}

const MOST_NAMED = 10;

/**
 * Reverses the switch, then drops everything that was added: nothing of ours stays at the target.
 *
 * @param undone receives each column once it is done, so that the caller has them after an error
 */
export async function undoTable(table: ApplyTable, undone: UndoneColumn[] = []): Promise<UndoneColumn[]> {
  const { db } = table;
  const recorded = table.columns.filter(({ state }) => state !== null);
  const now = await refreshIfThere(table);
  for (const column of recorded)
    await detectStateChange(db, [column], [column.state?.state], () => assertUndoable(now, column));
  for (const column of recorded) undone.push(await undoColumn(table, column));
  return undone;
}

async function assertUndoable(now: ApplyTable, column: TableColumn): Promise<void> {
  if (isTableGone(now.facts)) await assertDropped({ ...now, column });
  else if (isSwitched(column)) await assertRestorable({ ...now, column });
}

async function undoColumn(table: ApplyTable, column: TableColumn): Promise<UndoneColumn> {
  const { db } = table;
  const now = await refreshIfThere(table);
  const tableGone = isTableGone(now.facts);
  const back = await detectStateChange(db, [column], [column.state?.state], async () => {
    if (isSwitched(column) && !tableGone && !hasColumn(now, column.v4)) {
      await db.transaction('write', async () => {
        await changeState(db, column, ['switched'], 'switched');
        await db.execute(addColumn(db, column, column.v4));
      });
    }
    return db.transaction('write', () => takeSwitchBack(table, column));
  });
  const emptied: { column: string; why: string }[] = [];
  for (const name of undoState(column) === 'undoing' ? [column.v4, column.v3] : [column.v4]) {
    const why = await dropOrEmpty(table, column, name);
    if (why !== null) emptied.push({ column: name, why });
  }
  await whileInState(db, column, undoState(column), async () => {
    await db.execute(`drop table if exists ${crosswalkSql(db, column)}`);
    await db.execute(deleteStateSql(db, column));
  });
  return { column: column.column.name, tableGone, ...back, emptied };
}

/** The state while the columns that were added are being dropped. */
function undoState({ state }: TableColumn): 'undoing' | 'dropping' {
  return state?.state === 'writing' || state?.state === 'written' || state?.state === 'dropping'
    ? 'dropping'
    : 'undoing';
}

type Back = Pick<UndoneColumn, 'restored' | 'changedSinceCount' | 'changedSince'>;

/** One transaction, whose state says that it must not be repeated: cells may be changed again by their application. */
async function takeSwitchBack(table: ApplyTable, column: TableColumn): Promise<Back> {
  const { db } = table;
  const { state } = must(column.state);
  // Only from the state that was read: another process may have switched the column while this one waited for its lock.
  await changeState(db, column, [state], undoState(column));
  const now = await refreshIfThere(table);
  await assertUndoable(now, column);
  if (state !== 'switched' || isTableGone(now.facts)) {
    const canCompare = [column.column.name, column.v3, column.v4].every((name) => hasColumn(now, name));
    if (state !== 'undoing' || !canCompare || !(await hasCrosswalk(db, column)))
      return { restored: 0, changedSinceCount: 0, changedSince: [] };
    const states = await readRowStates(db, column, 'switched');
    return { restored: 0, ...(await nameChanged(db, column, 'switched', states, ['changed'])) };
  }
  await executeAll(db, db.lockTable(tableSql(db, table.facts)));
  const phase = (await hasCrosswalk(db, column)) ? 'switched' : 'alone';
  const before = await repairV4(db, column, phase);
  const changed = await nameChanged(db, column, phase, before, ['changed', 'since', 'wrong']);
  const parking = await readParking(db, column, column.v3);
  const [first, ...others] = switchBack(db, column, parking);
  const restored = await executeAll(db, first === undefined ? [] : [first]);
  await executeAll(db, others);
  if (phase === 'switched' && now.facts.triggers.length > 0) await assertRestored(now, column, before);
  return { restored, ...changed };
}

/**
 * A user may have changed COLUMN_v4 since, or dropped it, so that it was added again and is empty. Returns the states of the
 * rows after the repair.
 */
async function repairV4(db: Database, column: TableColumn, phase: Phase): Promise<RowStates> {
  const states = await readRowStates(db, column, phase);
  if (sumStates(states, ['wrong']) === 0) return states;
  await executeAll(db, fillColumn(db, column, column.v3));
  return readRowStates(db, column, phase);
}

/** Rows that are not as they were before the switch were changed by their application before, or now by a trigger. */
async function assertRestored(now: ApplyTable, column: TableColumn, before: RowStates): Promise<void> {
  const after = await readRowStates(now.db, column, 'written');
  const more = sumStates(after, ['wrong', 'missing']) - sumStates(before, NOT_SWITCHED);
  if (more > 0) throw changedByTrigger(now, column, more);
}

async function nameChanged(
  db: Database,
  column: TableColumn,
  phase: Phase,
  states: RowStates,
  named: readonly string[],
): Promise<Pick<Back, 'changedSince' | 'changedSinceCount'>> {
  const changedSinceCount = sumStates(states, named);
  return { changedSinceCount, changedSince: await nameFirst(db, column, phase, named, changedSinceCount) };
}

/** Names the first rows in some states by their key. */
export async function nameFirst(
  db: Database,
  column: TableColumn,
  phase: Phase,
  states: readonly string[],
  count: number,
): Promise<string[]> {
  if (count === 0) return [];
  const rows = await db.query(nameRows(db, column, phase, states, MOST_NAMED));
  return rows.map((row) => row.map(String).join(', '));
}

/** Returns why a column could only be emptied; null if it is dropped. */
async function dropOrEmpty(table: ApplyTable, column: TableColumn, name: string): Promise<string | null> {
  const { db } = table;
  const run = (sql: string) =>
    whileInState(db, column, undoState(column), async () => {
      if (hasColumn(await refreshIfThere(table), name)) await db.execute(sql);
    });
  try {
    await run(dropColumn(db, column, name));
    return null;
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== 'bad_input') throw error;
    await run(emptyColumn(db, column, name));
    return error.message;
  }
}

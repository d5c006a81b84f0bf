import { SvcError } from '../errors.js';
import { must } from '../text/at.js';
import type { Database } from './db/database.js';
import { assertDropped, assertRestorable, hasCrosswalk, isTableGone } from './gone.js';
import { changeState, deleteState } from './state.js';
import {
  addColumn,
  crosswalkSql,
  dropColumn,
  emptyColumn,
  fillColumn,
  nameRows,
  type Phase,
  switchBack,
  tableSql,
} from './statements.js';
import { changedByTrigger, chooseParking, type RowStates, readRowStates } from './switch-columns.js';
import { type ApplyTable, hasColumn, refreshIfThere, type TableColumn } from './tables.js';
import { executeAll, isSwitched } from './write-columns.js';

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

/** Takes a switch back, then drops everything that was added. Ends with nothing of ours at the target. */
export async function undoTable(table: ApplyTable): Promise<UndoneColumn[]> {
  const recorded = table.columns.filter(({ state }) => state !== null);
  const now = await refreshIfThere(table);
  for (const column of recorded) await assertUndoable(now, column);
  const undone: UndoneColumn[] = [];
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
  if (isSwitched(column) && !tableGone && !hasColumn(now, column.v4)) {
    await db.transaction('write', async () => {
      await changeState(db, column, ['switched'], 'switched');
      await db.execute(addColumn(db, column, column.v4));
    });
  }
  const back = await db.transaction('write', () => takeSwitchBack(table, column));
  const emptied: { column: string; why: string }[] = [];
  for (const name of addedColumns(await refreshIfThere(table), column)) {
    const why = await dropOrEmpty(db, column, name);
    if (why !== null) emptied.push({ column: name, why });
  }
  await db.transaction('write', () => db.execute(`drop table if exists ${crosswalkSql(db, column)}`));
  await deleteState(db, column);
  return { column: column.column.name, tableGone, ...back, emptied };
}

function addedColumns(now: ApplyTable, column: TableColumn): string[] {
  const state = column.state?.state;
  const hasV3 = state === 'switching' || state === 'switched' || state === 'undoing';
  return [column.v4, ...(hasV3 ? [column.v3] : [])].filter((name) => hasColumn(now, name));
}

type Back = Pick<UndoneColumn, 'restored' | 'changedSinceCount' | 'changedSince'>;

/** One transaction, whose state says that it must not be repeated: cells may be changed again by their application. */
async function takeSwitchBack(table: ApplyTable, column: TableColumn): Promise<Back> {
  const { db } = table;
  const { state } = must(column.state);
  const now = await refreshIfThere(table);
  await assertUndoable(now, column);
  const isToRestore = state === 'switched' && !isTableGone(now.facts);
  if (isToRestore) await executeAll(db, db.lockTable(tableSql(db, table.facts)));
  const hasV3 = state === 'switched' || state === 'switching' || state === 'undoing';
  // Only from the state that was read: another process may have switched the column while this one waited for its lock.
  await changeState(db, column, [state], hasV3 ? 'undoing' : 'dropping');
  if (!isToRestore) {
    const canCompare = [column.column.name, column.v3, column.v4].every((name) => hasColumn(now, name));
    const isNamed = state === 'undoing' && canCompare && (await hasCrosswalk(db, column));
    return {
      restored: 0,
      ...(isNamed ? await nameChanged(db, column, 'switched', ['changed']) : NO_CHANGES),
    };
  }
  const phase = (await hasCrosswalk(db, column)) ? 'switched' : 'alone';
  if (phase === 'switched') await repairV4(db, column);
  const changed = await nameChanged(db, column, phase, ['changed', 'since', 'wrong']);
  const before = await readWithTrigger(now, column, 'switched');
  const parking = await chooseParking(db, column, column.v3);
  const [first, ...others] = switchBack(db, column, parking);
  const restored = await executeAll(db, first === undefined ? [] : [first]);
  await executeAll(db, others);
  await assertRestored(now, column, before);
  return { restored, ...changed };
}

/** A user may have changed COLUMN_v4 since, or dropped it, so that it was added again and is empty. */
async function repairV4(db: Database, column: TableColumn): Promise<void> {
  const states = await readRowStates(db, column, 'switched');
  if ((states.get('wrong') ?? 0) > 0) await executeAll(db, fillColumn(db, column, column.v3));
}

/** Null where no trigger could write something else than the statement says, or the crosswalk is gone. */
async function readWithTrigger(
  now: ApplyTable,
  column: TableColumn,
  phase: 'written' | 'switched',
): Promise<RowStates | null> {
  return now.facts.triggers.length > 0 && (await hasCrosswalk(now.db, column))
    ? readRowStates(now.db, column, phase)
    : null;
}

/** Rows that are not as they were before the switch were changed by their application before, or now by a trigger. */
async function assertRestored(now: ApplyTable, column: TableColumn, before: RowStates | null): Promise<void> {
  const after = await readWithTrigger(now, column, 'written');
  if (before === null || after === null) return;
  const sum = (states: RowStates, names: readonly string[]) =>
    names.reduce((total, name) => total + (states.get(name) ?? 0), 0);
  const more = sum(after, ['wrong', 'missing']) - sum(before, ['changed', 'since', 'wrong', 'missing']);
  if (more > 0) throw changedByTrigger(now, column, more);
}

type Changes = Pick<Back, 'changedSince' | 'changedSinceCount'>;
const NO_CHANGES: Changes = { changedSinceCount: 0, changedSince: [] };

async function nameChanged(
  db: Database,
  column: TableColumn,
  phase: Phase,
  named: readonly string[],
): Promise<Changes> {
  const states = await readRowStates(db, column, phase);
  const changedSinceCount = named.reduce((sum, state) => sum + (states.get(state) ?? 0), 0);
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
async function dropOrEmpty(db: Database, column: TableColumn, name: string): Promise<string | null> {
  try {
    await db.transaction('write', () => db.execute(dropColumn(db, column, name)));
    return null;
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== 'bad_input') throw error;
    await db.transaction('write', () => db.execute(emptyColumn(db, column, name)));
    return error.message;
  }
}

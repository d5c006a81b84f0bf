import { SvcError } from '../errors.js';
import { must } from '../text/at.js';
import { countOf } from '../text/numbers.js';
import type { CrosswalkColumn } from './crosswalk.js';
import type { Database, Obstacle } from './db/database.js';
import { assertWhole } from './gone.js';
import { changeState } from './state.js';
import {
  addColumn,
  countOtherRows,
  emptyUnmapped,
  type Parking,
  type Phase,
  selectRange,
  switchColumn,
  tableSql,
} from './statements.js';
import { type ApplyTable, hasColumn, refresh, type TableColumn } from './tables.js';
import { isUnmapped } from './verdict.js';
import { executeAll, isSwitched } from './write-columns.js';

export interface SwitchedColumn {
  readonly column: string;
  readonly switched: number;
  /** Cells that were set to NULL, because there is no V4 id. */
  readonly emptied: number;
  readonly alreadyDone: boolean;
}

export type RowStates = ReadonlyMap<string, number>;

export async function readRowStates(db: Database, column: CrosswalkColumn, phase: Phase): Promise<RowStates> {
  const rows = await db.query(countOtherRows(db, column, phase));
  const states = new Map(rows.map(([state, count]) => [String(state), Number(count)]));
  const total = must(states.get('total'));
  states.delete('total');
  const others = [...states.values()].reduce((sum, count) => sum + count, 0);
  return states.set('mapped', total - others);
}

export function findSwitchObstacles({ facts }: ApplyTable, column: CrosswalkColumn): Obstacle[] {
  const name = column.column.name;
  const stops = (code: string, text: string): Obstacle => ({ stops: 'switch', code, text });
  const isText = column.column.holds === 'text' || column.column.holds === 'json';
  const cascading = facts.foreignKeys.filter(
    ({ direction, columns, onUpdate }) => columns.includes(name) && direction === 'in' && onUpdate !== 'none',
  );
  const plain = facts.foreignKeys.filter((key) => key.columns.includes(name) && !cascading.includes(key));
  return [
    ...(column.isUnique && isText
      ? [
          stops(
            'unique_text',
            `${facts.table}.${name} holds text under a unique key, where ids cannot swap places: drop the key for the time of the switch.`,
          ),
        ]
      : []),
    ...cascading.map(({ otherTable }) =>
      stops(
        'cascade',
        `A foreign key of ${otherTable} copies every change of ${facts.table}.${name}: drop it for the time of the switch.`,
      ),
    ),
    ...plain.map(
      ({ otherTable }): Obstacle => ({
        stops: 'none',
        code: 'foreign_key',
        text: `A foreign key ties ${facts.table}.${name} to ${otherTable}: unless it can be deferred, drop it before the switch and add it when both are switched.`,
      }),
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
  const columns = table.columns.filter((column) => !isSwitched(column));
  for (const column of columns) {
    assertWritten(table, column);
    await assertWhole({ ...table, column });
  }
  if (columns.length > 0) {
    if (!db.supportsTransactionalDdl) await db.transaction('write', () => prepare(table, columns));
    const results = await db.transaction('write', async () => {
      if (db.supportsTransactionalDdl) await prepare(table, columns);
      await executeAll(db, db.lockTable(tableSql(db, table.facts)));
      const done: SwitchedColumn[] = [];
      for (const column of columns) done.push(await switchOne(table, column, isEmptying));
      return done;
    });
    return [...table.columns.filter(isSwitched).map(doneBefore), ...results];
  }
  return table.columns.map(doneBefore);
}

function doneBefore({ column }: TableColumn): SwitchedColumn {
  return { column: column.name, switched: 0, emptied: 0, alreadyDone: true };
}

function assertWritten({ facts }: ApplyTable, { column, state }: TableColumn): void {
  if (state?.state === 'written' || state?.state === 'switching') return;
  const [why, command] =
    state?.state === 'undoing' || state?.state === 'dropping'
      ? ['An undo has not ended for', 'apply undo']
      : ['Nothing was written yet beside', 'apply write'];
  throw new SvcError('incomplete', `${why} ${facts.table}.${column.name}.`, {
    hint: `Run \`svc-migrate ${command}\` first.`,
  });
}

/** Adds COLUMN_v3. Where DDL commits, the state says first that the column is ours. */
async function prepare(table: ApplyTable, columns: readonly TableColumn[]): Promise<void> {
  const { db } = table;
  const now = await refresh(table);
  for (const column of columns) {
    const exists = hasColumn(now, column.v3);
    if (exists && column.state?.state === 'written') {
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
  const parking = await chooseParking(db, column, column.v4);
  const emptied = isEmptying ? await db.execute(emptyUnmapped(db, column)) : 0;
  const [first, ...others] = switchColumn(db, column, parking);
  const switched = await executeAll(db, first === undefined ? [] : [first]);
  await executeAll(db, others);
  if (table.facts.triggers.length > 0) {
    const now = await readRowStates(db, column, 'switched');
    const different = NOT_SWITCHED.reduce((sum, state) => sum + (now.get(state) ?? 0), 0);
    if (different > 0) throw changedByTrigger(table, column, different);
  }
  return { column: column.column.name, switched, emptied, alreadyDone: false };
}

const NOT_SWITCHED = ['changed', 'since', 'wrong', 'missing'] as const;

/** A trigger may write something else than the statement says, without an error. */
export function changedByTrigger({ facts }: ApplyTable, { column }: TableColumn, rows: number): SvcError {
  const names = facts.triggers.join(', ');
  return new SvcError(
    'bad_input',
    `A trigger of ${facts.table} (${names}) keeps other ids in ${countOf(rows, 'row')} of ${column.name}.`,
    { hint: 'The data are as they were. Disable the trigger, run the same command again, and enable it.' },
  );
}

function assertSwitchable(
  { facts }: ApplyTable,
  column: TableColumn,
  states: RowStates,
  isEmptying: boolean,
): void {
  const name = `${facts.table}.${column.column.name}`;
  const came = (states.get('missing') ?? 0) + (states.get('wrong') ?? 0);
  if (came > 0) {
    throw new SvcError('incomplete', `${countOf(came, 'row')} of ${name} came or changed since the write.`, {
      hint: 'Run `svc-migrate apply write` again: it takes what came since.',
    });
  }
  const unmapped = [...states].filter(
    ([state]) => state !== 'null' && state !== 'mapped' && isUnmapped(state),
  );
  if (unmapped.length > 0 && !isEmptying) throw new RefusedSwitch(name, unmapped);
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

/** Chooses numbers that no id has, for ids that swap places under a unique key. `beside`: the column of the new values. */
export async function chooseParking(db: Database, column: CrosswalkColumn, beside: string): Promise<Parking> {
  if (!column.isUnique) return null;
  const [row = []] = await db.query(selectRange(db, column, beside));
  const numbers = row.filter((value) => value !== null).map((value) => BigInt(value));
  const least = numbers.reduce((a, b) => (b < a ? b : a), 0n);
  const greatest = numbers.reduce((a, b) => (b > a ? b : a), 0n);
  if (least >= 0n && !column.column.isUnsigned) return { kind: 'negative' };
  return { kind: 'offset', offset: greatest - least + 1n };
}

import type { OnProgress } from '../domain.js';
import { at } from '../text/at.js';
import { labelOf } from './crosswalk.js';
import type { Database, Obstacle } from './db/database.js';
import { buildJudge, describeEmptyPaths } from './judge.js';
import type { RemapIds } from './remap-ids.js';
import { assertStates, type ColumnState, detectStateChange } from './state.js';
import { countStored, scopeNames, selectCrosswalk } from './statements.js';
import { describeNotNull, findSwitchObstacles, nameFirst, readRowStates } from './switch-columns.js';
import type { ApplyTable, TableColumn } from './tables.js';
import { assertWhole } from './tables.js';
import { isUnmapped, NO_ID_AT_PATH, type OutcomeCount, sumOf, Tally, unmappedOf } from './verdict.js';
import { findWriteObstacles, isSwitched, judgeKey, judgeValues } from './write-columns.js';

export interface ColumnPlan {
  readonly column: string;
  /** The model, or the column that names it. */
  readonly model: string;
  readonly newColumn: string | null;
  readonly state: ColumnState | 'none';
  readonly counts: readonly OutcomeCount[];
  readonly notes: readonly Obstacle[];
}

export async function planTable(
  table: ApplyTable,
  remap: RemapIds,
  onProgress: OnProgress,
): Promise<ColumnPlan[]> {
  const plans: ColumnPlan[] = [];
  for (const column of table.columns) plans.push(await planColumn(table, column, remap, onProgress));
  return plans;
}

async function planColumn(
  table: ApplyTable,
  column: TableColumn,
  remap: RemapIds,
  onProgress: OnProgress,
): Promise<ColumnPlan> {
  const notes = [
    ...findWriteObstacles(table, column),
    ...findSwitchObstacles(table, column),
    ...warnOfKey(table, column),
  ];
  const tally = new Tally();
  if (!isSwitched(column))
    for await (const values of judgeValues(table.db, column, remap, onProgress)) tally.addAll(values);
  const counts = tally.list();
  const cells = sumOf(unmappedOf(counts), 'rows');
  if (cells > 0 && !column.column.isNullable) {
    const text = describeNotNull(`${table.facts.table}.${column.column.name}`, cells);
    notes.push({ stops: 'switch', code: 'not_null', text });
  }
  return {
    ...labelOf(column.ids),
    newColumn: column.v4,
    state: column.state?.state ?? 'none',
    counts,
    notes: [...notes, ...describeEmptyPaths(table.facts.table, column.ids, tally.emptyPaths())],
  };
}

function warnOfKey({ facts }: ApplyTable, { column }: TableColumn): Obstacle[] {
  if (facts.key.length !== 1 || facts.key[0] !== column.name) return [];
  const text = `${facts.table}.${column.name} is the primary key of ${facts.table}: make sure that it holds V3 ids and not numbers of its own.`;
  return [{ stops: 'none', code: 'own_key', text }];
}

export interface CheckedColumn {
  readonly column: string;
  readonly state: 'none' | 'writing' | 'written' | 'switching' | 'switched' | 'undoing' | 'dropping';
  readonly checked: number;
  readonly wrongCount: number;
  readonly wrong: readonly string[];
  readonly missing: number;
  readonly changedSinceCount: number;
  readonly changedSince: readonly string[];
  /** After the switch: rows that came since; nothing is known of their ids. */
  readonly cameSince: number;
  readonly noIdAtPath: number;
  readonly unmapped: readonly {
    readonly name: string;
    readonly rows: number;
    readonly isAccepted: boolean;
  }[];
  /** Values whose verdict differs between crosswalk and remap; null without a remap. */
  readonly differs: number | null;
}

/** Whether a checked column is as it should be. After a switch, cells without a V4 id are settled: they are empty. */
export function isRight(column: CheckedColumn): boolean {
  const { state, wrongCount, missing, changedSinceCount, differs, unmapped } = column;
  if (state !== 'written' && state !== 'switching' && state !== 'switched') return false;
  const isSettled = state === 'switched' || unmapped.every(({ isAccepted }) => isAccepted);
  return wrongCount + missing + changedSinceCount + (differs ?? 0) === 0 && isSettled;
}

/** Compares every cell with the crosswalk, and the crosswalk with the remap. Changes nothing. */
export async function checkTable(table: ApplyTable, remap: RemapIds | null): Promise<CheckedColumn[]> {
  const checked: CheckedColumn[] = [];
  for (const column of table.columns) {
    const states = [column.state?.state];
    const check = () => checkColumn(table, column, remap);
    checked.push(await detectStateChange(table.db, [column], states, check));
    // A switch meanwhile would look like wrong cells.
    await assertStates(table.db, [column], states);
  }
  return checked;
}

async function checkColumn(
  { db, facts }: ApplyTable,
  column: TableColumn,
  remap: RemapIds | null,
): Promise<CheckedColumn> {
  await assertWhole({ db, facts, column });
  const state = column.state?.state ?? 'none';
  if (state === 'none' || state === 'writing' || state === 'undoing' || state === 'dropping')
    return checkUnwritten(db, column, state);
  const phase = isSwitched(column) ? 'switched' : 'written';
  const states = await readRowStates(db, column, phase);
  const count = (name: string) => states.get(name) ?? 0;
  const compared = remap === null ? null : await compareCrosswalk(db, column, remap);
  const unmapped = [...states].flatMap(([name, rows]) =>
    NOT_REASONS.includes(name) || !isUnmapped(name)
      ? []
      : [{ name, rows, isAccepted: compared?.accepted.get(name) ?? false }],
  );
  return {
    column: column.column.name,
    state,
    checked: count('mapped'),
    wrongCount: count('wrong'),
    wrong: await nameFirst(db, column, phase, ['wrong'], count('wrong')),
    missing: count('missing'),
    changedSinceCount: count('changed'),
    changedSince: await nameFirst(db, column, phase, ['changed'], count('changed')),
    cameSince: count('since'),
    noIdAtPath: count(NO_ID_AT_PATH),
    unmapped,
    differs: compared?.differs ?? null,
  };
}

const NOT_REASONS = ['null', 'missing', 'wrong', 'mapped', 'changed', 'since'];

async function checkUnwritten(
  db: Database,
  column: TableColumn,
  state: CheckedColumn['state'],
): Promise<CheckedColumn> {
  const [row = []] = await db.query(countStored(db, column));
  return {
    column: column.column.name,
    state,
    checked: 0,
    wrongCount: 0,
    wrong: [],
    missing: Number(row[0] ?? 0n),
    changedSinceCount: 0,
    changedSince: [],
    cameSince: 0,
    noIdAtPath: 0,
    unmapped: [],
    differs: null,
  };
}

async function compareCrosswalk(
  db: Database,
  column: TableColumn,
  remap: RemapIds,
): Promise<{ readonly differs: number; readonly accepted: ReadonlyMap<string, boolean> }> {
  const names = scopeNames(column);
  const judge = buildJudge(remap, column.ids);
  const accepted = new Map<string, boolean>();
  let differs = 0;
  for await (const batch of db.read(selectCrosswalk(db, column))) {
    for (const row of batch) {
      const verdict = judgeKey(names, judge, row.slice(0, names.length + 1));
      if (verdict.new !== at(row, -2) || verdict.reason !== at(row, -1)) differs += 1;
      if (verdict.reason !== null)
        accepted.set(verdict.reason, (accepted.get(verdict.reason) ?? true) && verdict.isAccepted);
    }
  }
  return { differs, accepted };
}

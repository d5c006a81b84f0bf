import type { OnProgress } from '../domain.js';
import { labelOf } from './crosswalk.js';
import type { Obstacle } from './db/database.js';
import type { RemapIds } from './remap-ids.js';
import type { ColumnState } from './state.js';
import { findSwitchObstacles } from './switch-columns.js';
import type { ApplyTable, TableColumn } from './tables.js';
import { describeEmptyPaths, type OutcomeCount, Tally } from './tally.js';
import { findWriteObstacles, isSwitched, judgeValues } from './write-columns.js';

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
    ...triggerNotes(table),
  ];
  const tally = new Tally();
  if (!isSwitched(column))
    for await (const values of judgeValues(table.db, column, remap, onProgress)) tally.addAll(values);
  return {
    ...labelOf(column.ids),
    newColumn: column.v4,
    state: column.state?.state ?? 'none',
    counts: tally.list(),
    notes: [...notes, ...describeEmptyPaths(table.facts.table, column.ids, tally.emptyPaths())],
  };
}

function triggerNotes({ facts }: ApplyTable): Obstacle[] {
  if (facts.triggers.length === 0) return [];
  const text = `An UPDATE of ${facts.table} fires ${facts.triggers.join(', ')}: write, switch and undo do, too.`;
  return [{ stops: 'none', code: 'triggers', text }];
}

import { isMissing } from '../judge-plan.js';
import {
  type ColumnPlan,
  type Earlier,
  isFinished,
  type Lock,
  NO_WORK,
  type PlanCount,
  type Policy,
  type Work,
} from '../plan.js';
import type { Engine } from './dialect.js';
import type { FoundTable } from './table-facts.js';

/** What a plan found in a table. */
export interface SurveyedTable {
  readonly rows: number;
  /** For each id column, the plans of its paths. */
  readonly columns: readonly (readonly ColumnPlan[])[];
  readonly earlier: Earlier;
}

/** What carrying out the plan of a table takes. */
export function workOn(
  engine: Engine,
  { handling }: Pick<FoundTable, 'handling'>,
  { rows, columns, earlier }: SurveyedTable,
): Work {
  const { policy } = engine.context;
  const found = columns.reduce((sum, plans) => sum + Math.min(rows, countChanges(plans, policy)), 0);
  const cells = cellsLeft(found, policy, earlier);
  return cells === 0 ? NO_WORK : { cells, locks: locksOf(engine, cells, handling.isAtomic) };
}

function locksOf({ context, dialect }: Engine, cells: number, isAtomic: boolean): Lock[] {
  const waiting = dialect.locksDatabase();
  if (waiting !== null) {
    const file = { what: 'database', blocks: waiting, rows: null } as const;
    if (isAtomic) return [{ ...file, during: 'run' }];
    return [
      { ...file, during: 'step' },
      { ...file, during: 'batch' },
    ];
  }
  if (isAtomic) return [{ what: 'table', blocks: 'writers', during: 'run', rows: null }];
  const inBatch = Math.min(cells, context.tuning.batchRows);
  const rows: Lock = { what: 'rows', blocks: 'writers', during: 'batch', rows: inBatch };
  if (context.policy.mode === 'in_place') return [rows];
  // ALTER TABLE … ADD COLUMN.
  return [{ what: 'table', blocks: 'everyone', during: 'step', rows: null }, rows];
}

/** Ids of a column that change; several of them may be in one JSON cell. */
function countChanges(plans: readonly ColumnPlan[], { mode, missing }: Policy): number {
  const isChanged = (one: PlanCount) =>
    one.name === 'mapped' || (mode === 'in_place' && missing === 'null' && isMissing(one));
  const counts = plans.flatMap((plan) => plan.counts.filter(isChanged));
  return counts.reduce((sum, { rows }) => sum + rows, 0);
}

/** How many of the planned cells a run still has to write. */
function cellsLeft(cells: number, { mode, again }: Policy, earlier: Earlier): number {
  if (isFinished(earlier, again)) return 0;
  if (earlier.state === 'none' || (mode === 'in_place' && earlier.state === 'finished')) return cells;
  return mode === 'in_place' ? earlier.left : Math.min(cells, earlier.left);
}

import { SvcError } from '../../errors.js';
import type { ColumnWork } from '../column-work.js';
import type { ApplyContext, RunFacts } from '../context.js';
import { type ColumnPlan, judgeColumns, type Note, type Policy, type TargetPlan } from '../plan.js';
import { buildColumnPlans, countedNotes } from './column-plans.js';
import type { Handling, TableFacts } from './table-facts.js';

/** Where a column was counted once more, in the transaction that is about to write it. */
export interface Recount {
  readonly agreed: TargetPlan;
  readonly run: RunFacts;
  readonly work: ColumnWork;
  /** What else must hold of the table; null: nothing, the column itself is not changed. */
  readonly table: { readonly facts: TableFacts; readonly handling: Handling } | null;
}

/**
 * Compares every path of a column with what was agreed to.
 *
 * @throws SvcError `bad_input`: nothing was written
 */
export function assertRecount(context: ApplyContext, { agreed, run, work, table }: Recount): void {
  for (const column of buildColumnPlans(work, context.policy.mode)) {
    const notes = table === null ? [] : countedNotes(context, table.facts, table.handling, work, column);
    assertAgreed(context.policy, agreed, run, { column, notes });
  }
}

/**
 * Compares what was agreed to with what the transaction that is about to write found.
 *
 * @throws SvcError `bad_input`: nothing was written
 */
function assertAgreed(
  policy: Policy,
  agreed: TargetPlan,
  run: RunFacts,
  found: { readonly column: ColumnPlan; readonly notes: readonly Note[] },
): void {
  const { column } = found;
  const before = agreed.columns.find((one) => one.column === column.column);
  if (run.isExact && before?.digest !== column.digest) {
    throw new SvcError(
      'bad_input',
      `${agreed.name}, ${column.column}: the data changed since the plan; nothing was written.`,
      {
        hint: 'Plan again, and keep writers away until the plan is carried out.',
      },
    );
  }
  const judged = [...found.notes, ...judgeColumns({ columns: [column] }, policy)];
  const block = judged.find(({ level }) => level === 'blocks');
  if (block === undefined) return;
  throw new SvcError(
    'bad_input',
    `${agreed.name}: ${block.text} This came up since the plan; nothing was written.`,
    {
      hint: 'Plan again.',
    },
  );
}

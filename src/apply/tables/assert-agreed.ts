import { SvcError } from '../../errors.js';
import type { RunFacts } from '../context.js';
import { type ColumnPlan, judgeColumns, type Note, type Policy, type TargetPlan } from '../plan.js';

/**
 * Compares what was agreed to with what the transaction that is about to write found.
 *
 * @throws SvcError `bad_input`: nothing was written
 */
export function assertAgreed(
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

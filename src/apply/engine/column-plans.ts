import { columnLabel, newColumnOf, type TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { blocks, type ColumnWork, openColumn, partsOfWork } from '../column-work.js';
import type { ApplyContext, RunFacts } from '../context.js';
import { isMissing, judgeColumns } from '../judge-plan.js';
import type { ColumnPlan, Earlier, Mode, Note, TargetPlan, UnmappedCount } from '../plan.js';
import { sumUnmapped, unmappedOfCounts } from '../unmapped.js';
import { FinalIds } from './final-ids.js';
import { splitPaths } from './json-columns.js';
import { columnOf, type Handling, type TableFacts } from './table-facts.js';
import type { CellSource } from './unmapped-cells.js';

/** Begins work on a column of a table, with a watch on the ids it ends up with. */
export function openTableColumn(
  context: ApplyContext,
  id: TableTarget['ids'][number],
  facts: TableFacts,
): ColumnWork {
  const work = openColumn(context, id, context.policy);
  const column = columnOf(facts, id.column);
  if (column === undefined || id.path !== undefined) return work;
  const isUnique = facts.uniques.some(
    ({ isPlain, columns }) => isPlain && columns.length === 1 && columns[0] === column.name,
  );
  return { ...work, finals: new FinalIds(column, isUnique && context.policy.mode === 'in_place') };
}

/** A column's parts of the plan, one for each of its paths; `left` in the same order. */
export function buildColumnPlans(
  work: ColumnWork,
  mode: Mode,
  left: readonly (readonly UnmappedCount[])[] = [],
): ColumnPlan[] {
  const newColumn = mode === 'new' ? newColumnOf(work.column) : null;
  return partsOfWork(work).map(({ column, tally }, at) => {
    const tallied = tally.result();
    return {
      column: columnLabel(column),
      model: column.model ?? `by ${column.modelColumn}`,
      newColumn,
      counts: tallied.counts,
      left: sumUnmapped(left[at] ?? []),
      digest: tallied.digest,
    };
  });
}

/** Adds what is left of the values that a source counted to what is left from others, path by path. */
export function addUnmapped(all: UnmappedCount[][], work: ColumnWork, { state, policy }: CellSource): void {
  for (const [at, { tally }] of partsOfWork(work).entries()) {
    all[at] = [...(all[at] ?? []), ...unmappedOfCounts(state, tally.result().counts, policy)];
  }
}

/** At most so many rows of a column get another value. */
export function changedRows(plans: readonly ColumnPlan[]): bigint {
  return plans
    .flatMap(({ counts }) => counts)
    .filter((count) => count.name === 'mapped' || isMissing(count))
    .reduce((total, { rows }) => total + BigInt(rows), 0n);
}

/** The largest id a column ends up with; 0 where none is watched. */
export function largestFinal({ finals }: ColumnWork): bigint {
  return finals instanceof FinalIds ? finals.largest() : 0n;
}

/** What counting brought to light about a column: ids that collide, do not fit, or cannot be emptied. */
export function countedNotes(
  { policy }: ApplyContext,
  facts: TableFacts,
  handling: Handling,
  work: ColumnWork,
  plan: ColumnPlan,
): Note[] {
  const notes = work.finals instanceof FinalIds ? work.finals.notes() : [];
  const column = columnOf(facts, work.column.column);
  // Inside JSON an id becomes null, not the cell.
  const isPlain = work.column.path === undefined;
  const isEmptied = isPlain && policy.missing === 'null' && plan.counts.some(isMissing);
  if (column === undefined || !isEmptied || policy.mode === 'new') return notes;
  if (column.isNullable && !handling.key.includes(column.name)) return notes;
  return [...notes, blocks('not_null', `${column.name} is never null: --missing null cannot empty it.`)];
}

/** What a transaction that is about to write was told to do. */
export interface Agreed {
  readonly plan: TargetPlan;
  readonly run: RunFacts;
}

/**
 * Compares every path of a column, counted once more in the transaction that is about to write it, with what was agreed
 * to. `table`: what else must hold of the table; null: nothing, the column itself is not changed.
 *
 * @throws SvcError `bad_input`: nothing was written
 */
export function assertAgreed(
  context: ApplyContext,
  { plan, run }: Agreed,
  work: ColumnWork,
  table: { readonly facts: TableFacts; readonly handling: Handling } | null,
): void {
  for (const column of buildColumnPlans(work, context.policy.mode)) {
    const before = plan.columns.find((one) => one.column === column.column);
    if (run.isExact && before?.digest !== column.digest) {
      const text = `${plan.name}, ${column.column}: the data changed since the plan; nothing was written.`;
      throw new SvcError('bad_input', text, {
        hint: 'Plan again, and keep writers away until the plan is carried out.',
      });
    }
    const notes = table === null ? [] : countedNotes(context, table.facts, table.handling, work, column);
    const judged = [...notes, ...judgeColumns({ columns: [column] }, context.policy)];
    const block = judged.find(({ level }) => level === 'blocks');
    if (block === undefined) continue;
    const text = `${plan.name}: ${block.text} This came up since the plan; nothing was written.`;
    throw new SvcError('bad_input', text, { hint: 'Plan again.' });
  }
}

export interface TableSurvey {
  readonly target: TableTarget;
  readonly place: string;
  readonly rows: number;
  readonly columns: readonly ColumnPlan[];
  readonly earlier: Earlier;
  readonly notes: readonly Note[];
}

export function buildTablePlan(
  { target, place, rows, columns, earlier, notes }: TableSurvey,
  rowsPerSecond: number,
): TargetPlan {
  return {
    name: target.name,
    kind: target.kind,
    place,
    definition: splitPaths(target),
    output: null,
    rows,
    columns,
    earlier,
    notes,
    fingerprint: '',
    estimateSeconds: Math.ceil((rows * columns.length) / rowsPerSecond),
  };
}

const UNREADABLE: ReadonlySet<string> = new Set([
  'unknown_table',
  'not_a_table',
  'unknown_column',
  'same_column',
  'bad_path',
  'no_select',
  'row_security',
  // Looked up as V3 ids, their V4 ids would be told to be others.
  'rewritten',
  'v4_column',
]);

/** Whether notes keep a table from being read at all. */
export function isUnreadable(notes: readonly Note[]): boolean {
  return notes.some(({ code }) => UNREADABLE.has(code));
}

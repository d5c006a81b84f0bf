import {
  columnLabel,
  type IdColumn,
  modelLabel,
  newColumnOf,
  type TableTarget,
} from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { type ColumnWork, FinalIds, openColumn, partsOfWork } from '../column-work.js';
import type { ApplyContext, RunFacts } from '../context.js';
import { isMissing, judgeColumns } from '../judge-plan.js';
import {
  blocks,
  type ColumnPlan,
  type Mode,
  type Note,
  type Policy,
  type TargetPlan,
  type UnmappedCount,
} from '../plan.js';
import {
  type CellState,
  classifyUnmapped,
  type OnUnmapped,
  sumUnmapped,
  type UnmappedRow,
  unmappedOfCounts,
} from '../unmapped.js';
import type { Engine } from './dialect.js';
import { writesPlatformId } from './id-columns.js';
import { columnOf, type FoundTable, type Handling, type TableFacts } from './table-facts.js';

/** Prepares to process a column of a table, checking the ids it will hold. */
export function openTableColumn(
  { context, dialect }: Engine,
  id: TableTarget['ids'][number],
  facts: TableFacts,
): ColumnWork {
  const work = openColumn(context, id, context.policy);
  if (writesPlatformId(id)) {
    const made = { name: columnLabel(id), range: null, ...dialect.platformIdType };
    return { ...work, finals: new FinalIds(made, false) };
  }
  const column = columnOf(facts, id.column);
  if (column === undefined || id.path !== undefined) return work;
  const isUnique = facts.uniques.some(
    ({ isPlain, columns }) => isPlain && columns.length === 1 && columns[0] === column.name,
  );
  return { ...work, finals: new FinalIds(column, isUnique && context.policy.mode === 'in_place') };
}

/** The plans of a column, one for each of its paths; `left` is in the same order. */
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
      model: modelLabel(column),
      newColumn,
      ...(writesPlatformId(column) ? { platformIdOf: column.column } : {}),
      counts: tallied.counts,
      left: sumUnmapped(left[at] ?? []),
      digest: tallied.digest,
    };
  });
}

/** Adds the unmapped values of one source to those of others, path by path. */
export function addUnmapped(all: UnmappedCount[][], work: ColumnWork, { state, policy }: CellSource): void {
  for (const [at, { tally }] of partsOfWork(work).entries()) {
    all[at] = [...(all[at] ?? []), ...unmappedOfCounts(state, tally.result().counts, policy)];
  }
}

/** The most rows of a column that can change. */
export function changedRows(plans: readonly ColumnPlan[]): bigint {
  return plans
    .flatMap(({ counts }) => counts)
    .filter((count) => count.name === 'mapped' || isMissing(count))
    .reduce((total, { rows }) => total + BigInt(rows), 0n);
}

/** Notes found by counting a column, which block: ids that collide, do not fit, or cannot become NULL. */
export function countedNotes(
  { policy }: ApplyContext,
  facts: TableFacts,
  handling: Handling,
  work: ColumnWork,
  plan: ColumnPlan,
): Note[] {
  const notes = work.finals?.notes() ?? [];
  const column = columnOf(facts, work.column.column);
  // Inside JSON an id becomes null, not the cell.
  const isPlain = work.column.path === undefined;
  const isEmptied = isPlain && policy.missing === 'null' && plan.counts.some(isMissing);
  if (column === undefined || !isEmptied || policy.mode === 'new') return notes;
  if (column.isNullable && !handling.key.includes(column.name)) return notes;
  return [...notes, blocks('not_null', `${column.name} must not be NULL: --missing null cannot empty it.`)];
}

/** The agreed plan of a table, and the run that carries it out. */
export interface Agreed {
  readonly plan: TargetPlan;
  readonly run: RunFacts;
}

/** A table with its agreed plan, and the run that carries it out. */
export interface TableWrite extends Agreed {
  readonly found: FoundTable;
}

/**
 * Compares a column, counted again in the transaction that writes it, with the agreed plan. `table`: the table to
 * check the new ids against; null if the column itself does not change.
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
    const text = `${plan.name}: ${block.text} This is new since the plan; nothing was written.`;
    throw new SvcError('bad_input', text, { hint: 'Plan again.' });
  }
}

const UNREADABLE: ReadonlySet<string> = new Set([
  'unknown_table',
  'not_a_table',
  'unknown_column',
  'no_select',
  'row_security',
  // Their V4 ids would be looked up as V3 ids and mapped again.
  'rewritten',
  'v4_column',
  'platform_column_gone',
]);

/** Whether a note prevents reading the table. */
export function isUnreadable(notes: readonly Note[]): boolean {
  return notes.some(({ code }) => UNREADABLE.has(code));
}

/** SQL that values of a column are read from. */
export interface CellSource {
  readonly state: CellState;
  /** The current policy, or that of the run that decided on the values. */
  readonly policy: Policy;
  /** `FROM` and `WHERE`, with the table as `t`. */
  readonly from: string;
  /** SQL for the value. */
  readonly value: string;
}

/** A copy of the work that calls `onUnmapped` for each value left without a V4 id, with the current row. */
export function watchUnmapped(
  work: ColumnWork,
  source: Pick<CellSource, 'state' | 'policy'>,
  target: string,
  onUnmapped: OnUnmapped,
  row: () => Partial<UnmappedRow>,
): ColumnWork {
  if (work.parts.length > 0) {
    return { ...work, parts: work.parts.map((part) => watchUnmapped(part, source, target, onUnmapped, row)) };
  }
  const column = columnLabel(work.column);
  const onValue = (reason: string, value: string): void => {
    const kind = classifyUnmapped(source.state, reason, source.policy);
    if (kind !== null) onUnmapped({ target, column, kind, reason, value, ...row() });
  };
  return { ...work, onValue };
}

/** Reports a row of a column whose value needs no look-up. */
export function reportRow(
  onUnmapped: OnUnmapped | undefined,
  target: string,
  id: IdColumn,
  row: Omit<UnmappedRow, 'target' | 'column'>,
): void {
  onUnmapped?.({ target, column: columnLabel(id), ...row });
}

/** Key columns with the values of one row. */
export function keyValues(columns: readonly string[], values: readonly unknown[]): Record<string, string> {
  return Object.fromEntries(columns.map((column, at) => [column, String(values[at] ?? '')]));
}

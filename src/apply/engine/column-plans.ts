import { columnLabel, newColumnOf, type TableTarget } from '../../config/apply-targets.js';
import { blocks, type ColumnWork, partsOfWork } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { type ColumnPlan, type Earlier, isMissing, type Note, type TargetPlan } from '../plan.js';
import { sumUnmapped, type UnmappedCount, unmappedOfCounts } from '../unmapped.js';
import { Finals } from './final-ids.js';
import { splitPaths } from './json-columns.js';
import type { CellSource } from './left-cells.js';
import { columnOf, type Handling, type TableFacts } from './table-facts.js';

/** The column with a watch on the ids it ends up with. */
export function watchFinals(work: ColumnWork, facts: TableFacts, mode: 'new' | 'in_place'): ColumnWork {
  const column = columnOf(facts, work.column.column);
  if (column === undefined || work.column.path !== undefined) return work;
  const isUnique =
    mode === 'in_place' &&
    facts.uniques.some(
      ({ isPlain, columns }) => isPlain && columns.length === 1 && columns[0] === column.name,
    );
  return { ...work, finals: new Finals(column, isUnique) };
}

/** A column's parts of the plan, one for each of its paths; `left` in the same order. */
export function buildColumnPlans(
  work: ColumnWork,
  mode: 'new' | 'in_place',
  left: readonly (readonly UnmappedCount[])[] = [],
): ColumnPlan[] {
  const newColumn = mode === 'new' ? newColumnOf(work.column) : null;
  return partsOfWork(work).map((part, at) => buildColumnPlan(part, newColumn, left[at] ?? []));
}

function buildColumnPlan(
  { column, tally }: ColumnWork,
  newColumn: string | null,
  left: readonly UnmappedCount[],
): ColumnPlan {
  const tallied = tally.result();
  return {
    column: columnLabel(column),
    model: column.model ?? `by ${column.modelColumn}`,
    newColumn,
    counts: tallied.counts,
    left: sumUnmapped(left),
    digest: tallied.digest,
  };
}

/** What is left of the values counted so far, for each path of a column. */
export function unmappedOfWork(
  work: ColumnWork,
  { state, policy }: Pick<CellSource, 'state' | 'policy'>,
): UnmappedCount[][] {
  return partsOfWork(work).map(({ tally }) => unmappedOfCounts(state, tally.result().counts, policy));
}

/** Adds what is left from one source to what is left from others, path by path. */
export function addUnmapped(all: UnmappedCount[][], more: readonly UnmappedCount[][]): void {
  for (const [at, one] of more.entries()) all[at] = [...(all[at] ?? []), ...one];
}

/** At most so many rows of a column get another value. */
export function changedRows(plans: readonly ColumnPlan[]): bigint {
  const changed = plans
    .flatMap(({ counts }) => counts)
    .filter((count) => count.name === 'mapped' || isMissing(count));
  return changed.reduce((total, { rows }) => total + BigInt(rows), 0n);
}

/** The largest integer that a column ends up with; 0 where it holds none. */
export function largestFinal({ finals }: ColumnWork): bigint {
  return finals instanceof Finals ? finals.largest() : 0n;
}

/** What counting brought to light about a column: ids that collide, do not fit, or cannot be emptied. */
export function countedNotes(
  context: ApplyContext,
  facts: TableFacts,
  handling: Handling,
  work: ColumnWork,
  plan: ColumnPlan,
): Note[] {
  const notes = work.finals instanceof Finals ? work.finals.notes() : [];
  const column = columnOf(facts, work.column.column);
  // Inside JSON an id becomes null, not the cell.
  const isPlain = work.column.path === undefined;
  const isEmptied = isPlain && context.policy.missing === 'null' && plan.counts.some(isMissing);
  if (column === undefined || !isEmptied || context.policy.mode === 'new') return notes;
  if (column.isNullable && !handling.key.includes(column.name)) return notes;
  return [...notes, blocks('not_null', `${column.name} is never null: --missing null cannot empty it.`)];
}

/** Targets that name one column twice would overwrite their own work. */
export function sameColumnNotes(target: TableTarget): Note[] {
  const names = target.ids.map((id) => id.column);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return [];
  return [blocks('same_column', `${twice} is named twice: name it once, or with a path each time.`)];
}

export interface TableSurvey {
  readonly target: TableTarget;
  readonly place: string;
  readonly rows: number;
  readonly columns: readonly ColumnPlan[];
  readonly earlier: Earlier;
  readonly notes: readonly Note[];
  readonly rowsPerSecond: number;
}

export function buildTablePlan(survey: TableSurvey): TargetPlan {
  const { target, place, rows, columns, earlier, notes } = survey;
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
    estimateSeconds: Math.ceil((rows * columns.length) / survey.rowsPerSecond),
  };
}

/** Whether notes keep a table from being read at all. */
export function isUnreadable(notes: readonly Note[]): boolean {
  const codes = [
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
  ];
  return notes.some(({ code }) => codes.includes(code));
}

import { countOf } from '../text/numbers.js';
import { layLines } from '../text/text-layout.js';
import { describeCategory } from './describe-value.js';
import type { ColumnUnmapped, UnmappedKind } from './unmapped.js';

const SAYS: Readonly<Record<UnmappedKind, string>> = {
  undecided: 'not decided about',
  kept: 'kept without a V4 id',
  emptied: 'emptied',
  left_alone: 'left alone',
  came_since: 'not rewritten: came since the run, with an id that maps',
  changed_since: 'changed by another program since the run',
};

/** `orders, invoice_id: 3 cells emptied: unmatched/unexplained. …` */
export function describeUnmapped({ target, column, kind, reason, cells }: ColumnUnmapped): string {
  const head = `${target}, ${column}: ${countOf(cells, 'cell')} ${SAYS[kind]}`;
  if (reason === 'mapped' || reason === 'changed') return `${head}.`;
  return `${head}: ${reason}. ${describeCategory(reason)}`;
}

/** What is left without a V4 id, one line for each column and reason. */
export function renderUnmappedLines(left: readonly ColumnUnmapped[], width: number): string {
  return layLines(
    left.map((one) => `  ${describeUnmapped(one)}`),
    width,
  );
}

import { columnLabel, type IdColumn } from '../../config/apply-targets.js';
import type { ColumnWork } from '../column-work.js';
import { type CellState, kindOf, type LeftRow } from '../left.js';
import type { Policy } from '../plan.js';

/** Told of every value that is left without a V4 id. */
export type OnLeft = (row: LeftRow) => void;

/** Where values of a column are read from, in SQL. */
export interface CellSource {
  readonly state: CellState;
  /** What decides about them: of now, or of the run that wrote them. */
  readonly policy: Policy;
  /** `FROM` and `WHERE`, with the table as `t`. */
  readonly from: string;
  /** The value. */
  readonly value: string;
}

/** The same work that also tells `onLeft` of each value that is left, with the row that is under way. */
export function watchLeft(
  work: ColumnWork,
  { state, policy }: Pick<CellSource, 'state' | 'policy'>,
  target: string,
  onLeft: OnLeft,
  row: () => Partial<LeftRow>,
): ColumnWork {
  if (work.parts.length > 0) {
    const parts = work.parts.map((part) => watchLeft(part, { state, policy }, target, onLeft, row));
    return { ...work, parts };
  }
  const column = columnLabel(work.column);
  const onValue = (reason: string, value: string): void => {
    const kind = kindOf(state, reason, policy);
    if (kind !== null) onLeft({ target, column, kind, reason, value, ...row() });
  };
  return { ...work, onValue };
}

/** Reports rows of a column that need no looking up. */
export function tellRow(
  onLeft: OnLeft | undefined,
  target: string,
  id: IdColumn,
  row: Omit<LeftRow, 'target' | 'column'>,
): void {
  onLeft?.({ target, column: columnLabel(id), ...row });
}

/** Key columns with the values of one row. */
export function keyOf(columns: readonly string[], values: readonly unknown[]): Record<string, string> {
  return Object.fromEntries(columns.map((column, at) => [column, String(values[at] ?? '')]));
}

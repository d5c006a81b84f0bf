import { columnLabel, type IdColumn } from '../../config/apply-targets.js';
import type { ColumnWork } from '../column-work.js';
import type { Policy } from '../plan.js';
import { type CellState, classifyUnmapped, type OnUnmapped, type UnmappedRow } from '../unmapped.js';

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

/** The same work that also tells `onUnmapped` of each value that is left, with the row that is under way. */
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

/** Reports rows of a column that need no looking up. */
export function tellRow(
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

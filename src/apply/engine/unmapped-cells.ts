import { columnLabel, type IdColumn } from '../../config/apply-targets.js';
import type { ColumnWork } from '../column-work.js';
import type { Policy } from '../plan.js';
import { type CellState, classifyUnmapped, type OnUnmapped, type UnmappedRow } from '../unmapped.js';

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

import { columnLabel, type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import type { Mode } from '../plan.js';

/** Whether an id column of an expanded target writes platform_ids, not V4 ids. */
export function writesPlatformId({ platformIdColumn }: Pick<IdColumn, 'platformIdColumn'>): boolean {
  return platformIdColumn !== undefined;
}

/** The columns of an expanded target whose own cells hold ids. */
export function sourceColumns<T extends IdColumn>(ids: readonly T[]): T[] {
  return ids.filter((id) => !writesPlatformId(id));
}

/** The column that is written in place. */
export function writtenColumn({ column, platformIdColumn }: IdColumn): string {
  return platformIdColumn ?? column;
}

/** Labels of a table run under which the ledger has the rows whose cell no longer holds a V3 id to look up. */
export function rewrittenLabels(id: IdColumn): string[] {
  return writesPlatformId(id) ? [columnLabel(id), id.column] : [columnLabel(id)];
}

/** The names of the columns that a run adds to a table. */
export function addedColumns(mode: Mode, ids: readonly IdColumn[]): string[] {
  return ids.filter((id) => mode === 'new' || writesPlatformId(id)).map(newColumnOf);
}

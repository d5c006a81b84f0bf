import { columnLabel, type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import type { Mode } from '../plan.js';

/** Whether an id column, as `normalizeColumns` returns it, writes platform_ids instead of V4 ids. */
export function writesPlatformId({ platformIdColumn }: Pick<IdColumn, 'platformIdColumn'>): boolean {
  return platformIdColumn !== undefined;
}

/** The id columns without those that write platform_ids. */
export function sourceColumns<T extends IdColumn>(ids: readonly T[]): T[] {
  return ids.filter((id) => !writesPlatformId(id));
}

/** The column that is written in place. */
export function writtenColumn({ column, platformIdColumn }: IdColumn): string {
  return platformIdColumn ?? column;
}

/** Labels in the ledger of the columns whose entries mean that the id's cell no longer holds a V3 id to look up. */
export function rewrittenLabels(id: IdColumn): string[] {
  return writesPlatformId(id) ? [columnLabel(id), id.column] : [columnLabel(id)];
}

/** The names of the columns that a run adds to a table. */
export function addedColumns(mode: Mode, ids: readonly IdColumn[]): string[] {
  return ids.filter((id) => mode === 'new' || writesPlatformId(id)).map(newColumnOf);
}

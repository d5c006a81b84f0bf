import { columnLabel, type IdColumn, newColumnOf, pathsMeet } from '../../config/apply-targets.js';
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

/**
 * A JSON column that holds ids under several paths. Its cells are rewritten, recorded and restored as a whole. `path`
 * lists all paths, for display only.
 */
export interface MergedColumn extends IdColumn {
  readonly parts: readonly IdColumn[];
}

/** The configured ids: for a merged column, one for each path. */
export function partsOf(id: IdColumn | MergedColumn): readonly IdColumn[] {
  return 'parts' in id ? id.parts : [id];
}

/**
 * Merges the paths of each JSON column of a target into one id column, and splits an id column with a
 * `platformIdColumn` into two: the column without it, then itself, which writes the platform_ids.
 */
export function normalizeColumns<T extends { readonly ids: readonly IdColumn[] }>(target: T): T {
  const ids = target.ids.flatMap((id): (IdColumn | MergedColumn)[] => {
    const parts = target.ids.filter((one) => one.column === id.column && one.path !== undefined);
    if (writesPlatformId(id)) {
      const { platformIdColumn: _, ...own } = id;
      return [own, id];
    }
    if (id.path === undefined || parts.length === 1) return [id];
    if (parts[0] !== id) return [];
    const newColumn = parts.find((one) => one.newColumn !== undefined)?.newColumn;
    const path = parts.map((one) => one.path).join(', ');
    return [{ column: id.column, path, parts, ...(newColumn === undefined ? {} : { newColumn }) }];
  });
  return { ...target, ids };
}

/** The reverse of `normalizeColumns`. */
export function configuredColumns<T extends { readonly ids: readonly IdColumn[] }>(target: T): T {
  const isSource = ({ column }: IdColumn, next: IdColumn | undefined) =>
    next !== undefined && writesPlatformId(next) && next.column === column;
  return {
    ...target,
    ids: target.ids.flatMap((id, at) => (isSource(id, target.ids[at + 1]) ? [] : partsOf(id))),
  };
}

/** Whether two id columns can hold the same ids. */
export function canMeet(a: IdColumn, b: IdColumn): boolean {
  if (!isSameName(a.column, b.column)) return false;
  return partsOf(a).some((one) => partsOf(b).some((other) => pathsMeet(one.path, other.path)));
}

/** Whether two columns are one. Ignores case, as SQLite does; on case-sensitive databases this only blocks too much. */
export function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

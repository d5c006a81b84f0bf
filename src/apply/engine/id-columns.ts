import { columnLabel, type IdColumn, newColumnOf } from '../../config/apply-targets.js';
import { mayOverlap, parseJsonPath } from '../../json/json-path.js';
import { blocks, type Mode, type Note } from '../plan.js';

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

/** Blocks a target that names one column twice: it would rewrite its own results. */
export function sameColumnNotes(ids: readonly IdColumn[]): Note[] {
  const names = sourceColumns(ids).map((id) => id.column);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return [];
  return [blocks('same_column', `${twice} is named twice: name it once, or with a path each time.`)];
}

/** Blocks paths of one column that can lead to the same value, or that name different new columns. */
export function mergedNotes(id: IdColumn): Note[] {
  const parts = partsOf(id);
  const overlapping = parts.flatMap((one, at) =>
    parts
      .slice(at + 1)
      .filter((other) => pathsOverlap(one, other))
      .map((other) =>
        blocks(
          'same_column',
          `${columnLabel(one)} and ${other.path} can lead to the same value: name it once.`,
        ),
      ),
  );
  const names = new Set(parts.filter((one) => one.newColumn !== undefined).map(newColumnOf));
  if (names.size < 2) return overlapping;
  const text = `${id.column} has several new columns (${[...names].join(', ')}): name only one, which holds all its paths.`;
  return [...overlapping, blocks('new_column_name', text)];
}

export function pathNotes({ path }: IdColumn): Note[] {
  if (path === undefined || parseJsonPath(path) !== null) return [];
  return [blocks('bad_path', `"${path}" is not a JSON path: write it like "$.invoice.id" or "$.ids[*]".`)];
}

/** Whether two ids of one column can be the same value. */
export function pathsOverlap(a: IdColumn, b: IdColumn): boolean {
  if (a.path === undefined || b.path === undefined) return true;
  const [one, two] = [parseJsonPath(a.path), parseJsonPath(b.path)];
  return one === null || two === null || mayOverlap(one, two);
}

import { newColumnOf } from '../../config/apply-targets.js';
import type { ApplyContext } from '../context.js';
import type { EarlierRun } from '../engine/earlier-runs.js';
import type { Cells } from '../engine/session.js';
import {
  addJsonLeaves,
  bounded,
  type ColumnSample,
  looksLikeJson,
  PathValues,
  type PlaceSample,
  type Unseen,
} from './column-sample.js';

/** A table of a database, and why it cannot be scanned; null if it can. */
export interface ListedTable {
  readonly name: string;
  readonly obstacle: string | null;
}

/** Samples the tables of a database, or only one. */
export async function sampleTables<T extends ListedTable>(
  { onProgress }: ApplyContext,
  tables: readonly T[],
  only: string | null,
  sampleTable: (table: T) => Promise<readonly ColumnSample[]>,
): Promise<PlaceSample> {
  const columns: ColumnSample[] = [];
  const unseen: Unseen[] = [];
  const chosen = tables.filter(({ name }) => only === null || name === only);
  for (const [at, table] of chosen.entries()) {
    const { name, obstacle } = table;
    onProgress({ kind: 'step', name: `scanning ${name}`, done: at, total: chosen.length });
    if (obstacle === null) columns.push(...(await sampleTable(table)));
    else unseen.push({ what: name, why: obstacle });
  }
  return { columns, unseen };
}

/** A table to sample. */
export interface SampledTable {
  readonly table: string;
  /** Its runs in the ledger. */
  readonly runs: readonly EarlierRun[];
  /** The columns of its first key. */
  readonly key: readonly string[];
  readonly columns: readonly string[];
}

/** Samples columns and, if their values look like JSON, the paths inside them. `readValues`: distinct values as rows of one cell. */
export async function sampleColumns(
  { table, runs, key, columns }: SampledTable,
  readValues: (column: string) => Promise<readonly Cells[]>,
): Promise<ColumnSample[]> {
  const samples: ColumnSample[] = [];
  for (const column of columns) {
    const place = { table, column, run: writerOf(runs, column) };
    const rows = await readValues(column);
    const values = new Set(rows.map(([value]) => value ?? '').filter((value) => value !== ''));
    const leaves = new PathValues();
    for (const value of values) if (looksLikeJson(value)) addJsonLeaves(value, leaves);
    const isKey = key.length === 1 && key[0] === column;
    samples.push({ ...place, path: null, ...bounded(values), isKey });
    samples.push(...leaves.list((path) => ({ ...place, path })));
  }
  return samples;
}

/** The latest run that rewrote or filled a column; null if none did. */
function writerOf(runs: readonly EarlierRun[], column: string): string | null {
  const found = runs.findLast(({ mode, target }) =>
    target.ids.some((id) => (mode === 'new' ? newColumnOf(id) : id.column) === column),
  );
  return found?.run ?? null;
}

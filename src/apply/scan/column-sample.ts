import { visit } from 'jsonc-parser';
import { newColumnOf } from '../../config/apply-targets.js';
import type { ApplyContext } from '../context.js';
import type { EarlierRun } from '../engine/earlier-runs.js';
import type { Cells } from '../engine/session.js';

/** Most distinct values sampled per column. */
export const SAMPLED_VALUES = 2000;
/** Rows sampled per table: the first ones. */
export const SAMPLED_ROWS = 100_000;
/** Bytes sampled at the start of a file. */
export const SAMPLED_BYTES = 8 * 1024 * 1024;

/** Sampled values of one column, or of one JSON path inside it. */
export interface ColumnSample {
  /** Table as the configuration would name it; null in files. */
  readonly table: string | null;
  readonly column: string;
  /** JSON path inside a column of a table; null elsewhere. */
  readonly path: string | null;
  /** Distinct values as text, without nulls and empty ones. */
  readonly values: ReadonlySet<string>;
  /** Whether the sample holds all values. */
  readonly isWhole: boolean;
  /** Whether the column alone is the primary key. */
  readonly isKey: boolean;
  /** The run that wrote these values, by the ledger; null if none did. */
  readonly run: string | null;
}

/** Something that could not be scanned, and why. */
export interface Unseen {
  readonly what: string;
  readonly why: string;
}

/** The samples of one place. */
export interface PlaceSample {
  readonly columns: readonly ColumnSample[];
  readonly unseen: readonly Unseen[];
}

/** Collects values by path; paths keep the order of their first value. */
export class PathValues {
  readonly #values = new Map<string, Set<string>>();

  add(path: string, value: string): void {
    let values = this.#values.get(path);
    if (values === undefined) {
      values = new Set();
      this.#values.set(path, values);
    }
    if (value !== '' && values.size <= SAMPLED_VALUES) values.add(value);
  }

  /** One sample for each path. */
  list(sampleOf: (path: string) => Pick<ColumnSample, 'table' | 'column' | 'path' | 'run'>): ColumnSample[] {
    return [...this.#values].map(([path, values]) => ({
      ...sampleOf(path),
      ...bounded(values),
      isKey: false,
    }));
  }
}

/** Limits values to the sample size; `isWhole`: nothing was left out. */
export function bounded(values: ReadonlySet<string>): Pick<ColumnSample, 'values' | 'isWhole'> {
  if (values.size <= SAMPLED_VALUES) return { values, isWhole: true };
  return { values: new Set([...values].slice(0, SAMPLED_VALUES)), isWhole: false };
}

const PLAIN_NAME = /^[\p{L}_$][\p{L}\p{N}_$-]*$/u;
const OPTIONS = { disallowComments: true } as const;

/** Adds every number and text of a JSON value under its path, with all digits; items of a list share `[*]`. */
export function addJsonLeaves(text: string, into: PathValues): void {
  visit(
    text,
    {
      onLiteralValue: (value, offset, length, _line, _column, pathOf) => {
        if (typeof value !== 'number' && typeof value !== 'string') return;
        const leaf = typeof value === 'string' ? value : text.slice(offset, offset + length);
        into.add(formatPath(pathOf()), leaf);
      },
    },
    OPTIONS,
  );
}

function formatPath(segments: readonly (string | number)[]): string {
  const steps = segments.map((segment) => {
    if (typeof segment === 'number') return '[*]';
    if (PLAIN_NAME.test(segment)) return `.${segment}`;
    return segment.includes("'") ? `["${segment}"]` : `['${segment}']`;
  });
  return `$${steps.join('')}`;
}

/** Whether a text looks like a JSON object or list. */
export function looksLikeJson(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

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
interface SampledTable {
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

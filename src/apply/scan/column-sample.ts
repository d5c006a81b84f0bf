import { visit } from 'jsonc-parser';
import { newColumnOf } from '../../config/apply-targets.js';
import type { EarlierRun } from '../engine/earlier-runs.js';

/** Distinct values looked at per column. */
export const SAMPLED_VALUES = 2000;
/** Rows they are taken from, the first ones of a table. */
export const SAMPLED_ROWS = 100_000;
/** The first part of a file that is looked at. */
export const SAMPLED_BYTES = 8 * 1024 * 1024;

/** What was seen of one column, or of one path inside it. */
export interface ColumnSample {
  /** Table as the configuration would name it; null in files. */
  readonly table: string | null;
  readonly column: string;
  /** JSON path inside a column of a table; null elsewhere. */
  readonly path: string | null;
  /** Distinct values as text, without nulls and empty ones. */
  readonly values: ReadonlySet<string>;
  /** False where there are more. */
  readonly isWhole: boolean;
  /** True where the column alone is the primary key. */
  readonly isKey: boolean;
  /** The run that wrote these values, by the ledger; null: none. */
  readonly run: string | null;
}

/** What could not be looked at, and why. */
export interface Unseen {
  readonly what: string;
  readonly why: string;
}

/** What was seen of one place. */
export interface PlaceSample {
  readonly columns: readonly ColumnSample[];
  readonly unseen: readonly Unseen[];
}

/** Gathers values by path, in the order the paths are first met. */
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

  /** Each path as a sample. */
  list(sampleOf: (path: string) => Pick<ColumnSample, 'table' | 'column' | 'path' | 'run'>): ColumnSample[] {
    return [...this.#values].map(([path, values]) => ({
      ...sampleOf(path),
      ...bounded(values),
      isKey: false,
    }));
  }
}

/** The values up to the limit, and whether that was all of them. */
export function bounded(values: ReadonlySet<string>): Pick<ColumnSample, 'values' | 'isWhole'> {
  if (values.size <= SAMPLED_VALUES) return { values, isWhole: true };
  return { values: new Set([...values].slice(0, SAMPLED_VALUES)), isWhole: false };
}

const PLAIN_NAME = /^[\p{L}_$][\p{L}\p{N}_$-]*$/u;
const OPTIONS = { disallowComments: true } as const;

/** Adds every number and text of a JSON value under its path, exact to the last digit; items of lists share `[*]`. */
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

/** The run that wrote a column: rewrote it in place, or filled it. */
export function writerOf(units: readonly EarlierRun[], column: string): string | null {
  const found = units.findLast(({ mode, target }) =>
    target.ids.some((id) => (mode === 'new' ? newColumnOf(id) : id.column) === column),
  );
  return found?.run ?? null;
}

/** A column of a table, and the paths inside it where its values look like JSON. */
export function sampleColumn(
  { isKey, ...place }: Pick<ColumnSample, 'table' | 'column' | 'run' | 'isKey'>,
  values: ReadonlySet<string>,
): ColumnSample[] {
  const leaves = new PathValues();
  for (const value of values) if (/^\s*[[{]/.test(value)) addJsonLeaves(value, leaves);
  const paths = leaves.list((path) => ({ ...place, path }));
  return [{ ...place, path: null, ...bounded(values), isKey }, ...paths];
}

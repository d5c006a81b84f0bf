import { visit } from 'jsonc-parser';

/** Most distinct values sampled per column. */
export const SAMPLED_VALUES = 2000;
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

/** The columns of a table or file that name the region and the company of each row. */
export interface ScopeColumns {
  readonly table: string | null;
  readonly regionColumn?: string;
  readonly companyColumn?: string;
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

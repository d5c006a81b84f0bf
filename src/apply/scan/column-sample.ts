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

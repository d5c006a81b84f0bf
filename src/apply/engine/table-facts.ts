import type { IdColumn, TableTarget } from '../../config/apply-targets.js';
import { didYouMeanEnding } from '../../text/suggest.js';
import type { LedgerRun } from '../context.js';
import { blocks, type Earlier, type Mode, type Note, type RunPolicy } from '../plan.js';

/** A table of a database, and why it cannot be scanned; null if it can. */
export interface ListedTable {
  readonly name: string;
  readonly obstacle: string | null;
}

export interface TableColumn {
  readonly name: string;
  /** As declared. */
  readonly type: string;
  /** The type that a domain is made of, without its checks; default: `type`. */
  readonly baseType?: string;
  /** The kind of values; a column of kind `other` cannot hold ids. */
  readonly holds: 'integer' | 'text' | 'json' | 'any' | 'other';
  readonly isNullable: boolean;
  readonly isGenerated: boolean;
  /** Whether the database may refuse a value of its type: by a check, a domain or a partition key. */
  readonly isChecked: boolean;
  /** Smallest and largest integer allowed; null: any 64-bit integer. */
  readonly range: readonly [bigint, bigint] | null;
  /** Longest text allowed; null: any. */
  readonly maxChars: number | null;
}

/** A unique constraint or index. */
export interface UniqueColumns {
  readonly name: string;
  /** Columns it depends on, including those in expressions. */
  readonly columns: readonly string[];
  /** Whether it covers plain columns without a condition, so that equal values always collide. */
  readonly isPlain: boolean;
}

export interface ForeignKey {
  readonly name: string;
  /** `out`: this table refers to another; `in`: another refers to this one. */
  readonly direction: 'out' | 'in';
  /** This table's columns. */
  readonly columns: readonly string[];
  readonly otherTable: string;
  readonly otherColumns: readonly string[];
  readonly onUpdate: 'none' | 'cascade' | 'set';
  /** Whether it can be checked at the end of the transaction; `linked`: where foreign keys link tables of the plan. */
  readonly isDeferrable: boolean | 'linked';
}

export interface TableFacts {
  /** Its name in the catalog, with the schema if there is one. */
  readonly table: string;
  /** `table`, or what it is instead, such as `view`. */
  readonly kind: string;
  readonly columns: readonly TableColumn[];
  /** Unique sets of columns that are never null, the primary key first. */
  readonly keys: readonly (readonly string[])[];
  readonly uniques: readonly UniqueColumns[];
  readonly foreignKeys: readonly ForeignKey[];
  /** Triggers that an UPDATE fires. */
  readonly triggers: readonly string[];
  /** Columns that the server sets to the time of every UPDATE that does not name them. */
  readonly autoUpdated: readonly string[];
  /** Names of the row id (`ctid`, `rowid`) by which a row of a table without a key is found; empty if it has none. */
  readonly rowIds: readonly string[];
  /** Notes by the dialect, on privileges, partitions and views. */
  readonly notes: readonly Note[];
}

/** The type of a column that has none. */
export const NO_TYPE = 'without type';

/** A type of a column as ALTER TABLE takes it. */
export function declaredType(type: string): string {
  return type === NO_TYPE ? '' : type;
}

/** The facts on a table that does not exist. `tables`: those that do. */
export function missingTable(table: string, tables: readonly ListedTable[], where = ''): TableFacts {
  const known = tables.filter(({ obstacle }) => obstacle === null).map(({ name }) => name);
  const text = `There is no table "${table}"${where}${didYouMeanEnding(table, known)}`;
  const none = {
    columns: [],
    keys: [],
    uniques: [],
    foreignKeys: [],
    triggers: [],
    autoUpdated: [],
    rowIds: [],
  };
  return { table, kind: 'table', ...none, notes: [blocks('unknown_table', text)] };
}

/** How a table is going to be rewritten in place. */
export interface Handling {
  /** Columns that identify a row; empty if there are none. */
  readonly key: readonly string[];
  /** Whether to rewrite in one transaction, because ids are part of constraints or of the key. */
  readonly isAtomic: boolean;
  /** Id columns that need temporary values where ids swap. */
  readonly parked: readonly string[];
  /** Foreign keys from id columns that refuse these values at once. */
  readonly immediate: readonly ForeignKey[];
}

/** Finds a column by its exact name. */
export function columnOf(facts: TableFacts, name: string): TableColumn | undefined {
  return facts.columns.find((column) => column.name === name);
}

/** A table as found in the database and the ledger, and how to rewrite it. */
export interface FoundTable {
  readonly target: TableTarget;
  readonly facts: TableFacts;
  readonly handling: Handling;
  readonly ledger: Ledger;
  /** Runs on the table. */
  readonly runs: readonly TableRun[];
  readonly earlier: Earlier;
  /** Id columns whose rows all have a ledger entry, so that no cell is left to look up. */
  readonly fullyRecorded: readonly IdColumn[];
  readonly notes: readonly Note[];
}

/**
 * The ledger in the user's database. `run` has a row for each table of each run. An in-place run has a table `rows_…` of
 * its own, a write-ahead log: every row that changes is listed first, then changed in batches; `run.done` advances in
 * the same transaction as the rows. A run of new columns has a crosswalk `map_…` for each. The view `ledger` shows the
 * changes carried out.
 */
export interface Ledger {
  readonly name: string;
  /** The prefix of its table names, for display. */
  readonly prefix: string;
  /** What the names of its tables begin with, as SQL. */
  readonly tables: string;
  /** A table and the view, as SQL. */
  readonly run: string;
  readonly view: string;
  /** Creates its schema; null: it has none. */
  readonly createSchema: string | null;
  /** What to do if other tables have its names. */
  readonly hint: string;
}

/** The ledger in a database without schemas: a prefix sets its tables apart from the user's. */
const OWN_LEDGER: Ledger = {
  name: 'svc_migrate',
  prefix: 'svc_migrate_',
  tables: 'svc_migrate_',
  run: 'svc_migrate_run',
  view: 'svc_migrate_ledger',
  createSchema: null,
  hint: 'Rename it first.',
};

export const OTHER_SCHEMA = 'Name another schema with "ledgerSchema".';

/** The ledger in a schema. */
export function ledgerIn(schema: string, quote: (name: string) => string): Ledger {
  const s = quote(schema);
  return {
    name: schema,
    prefix: `${schema}.`,
    tables: `${s}.`,
    run: `${s}.run`,
    view: `${s}.ledger`,
    createSchema: `CREATE SCHEMA IF NOT EXISTS ${s}`,
    hint: OTHER_SCHEMA,
  };
}

export function ledgerOf(
  { dialect }: { readonly dialect: { quote(name: string): string } },
  target: TableTarget,
): Ledger {
  return 'ledgerSchema' in target ? ledgerIn(target.ledgerSchema, dialect.quote) : OWN_LEDGER;
}

/** A run on a table, as recorded in the ledger. */
export interface EarlierRun {
  readonly run: string;
  readonly target: TableTarget;
  /** Labels of the columns, by their number in the names of columns of `rows_…`. */
  readonly labels: readonly string[];
  readonly key: readonly string[];
  readonly mode: Mode;
  readonly remapSha256: string;
  readonly state: LedgerRun['state'];
  readonly changed: number;
}

/** One table in one run. */
export interface TableRun extends EarlierRun {
  /** Its number in the ledger. */
  readonly unit: string;
  /** As `TableFacts.table`. */
  readonly table: string;
  readonly ledger: Ledger;
  readonly isAtomic: boolean;
  readonly policy: RunPolicy;
  readonly planSha256: string;
  /** What the names of its tables end with; empty once they are dropped. */
  readonly suffix: string;
  /** Listed rows with ids up to `done` are changed; `total` is the last id. */
  readonly done: number;
  readonly total: number;
  readonly skipped: number;
  readonly startedAt: string;
}

/** What the statements on a table in a run depend on. */
export type TableOfRun = Pick<TableRun, 'table' | 'ledger' | 'suffix' | 'key' | 'target'>;

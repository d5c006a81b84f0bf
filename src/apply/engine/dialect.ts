import type { IdColumn, TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ColumnWork } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import type { Mode, Note } from '../plan.js';
import type { Handling, Ledger, ListedTable, TableColumn, TableFacts, TableOfRun } from './table-facts.js';

/** One database, with its dialect and the context of the command. */
export interface Engine {
  readonly context: ApplyContext;
  readonly session: Session;
  readonly dialect: Dialect;
}

/**
 * SQL text that differs between databases. All methods but `foldName` return SQL. `term` is an SQL expression; parameters
 * named after parts of SQL, such as `where`, are SQL too.
 */
export interface SqlText {
  quote(name: string): string;
  /** A literal for any text, which no tool that runs a script can split or misread. */
  literal(text: string): string;
  /** Normalizes a column name for comparison. */
  foldName(name: string): string;
  /**
   * A table by its name in `TableFacts` and in the ledger.
   *
   * @throws SvcError `bad_input` if the text is no name of a table
   */
  tableSql(table: string): string;
  /** Types of the ledger's columns: numbers, texts, and names of tables, equal where they name the same table; and what follows them. */
  readonly ledgerTypes: {
    readonly number: string;
    readonly text: string;
    readonly name: string;
    readonly options: string;
  };
  /** The type of a column for platform_ids, and the longest text it takes; null: any. */
  readonly platformIdType: {
    readonly type: string;
    readonly maxChars: number | null;
    /** Whether a text may contain NUL. */
    readonly allowsNulCharacter: boolean;
  };
  asText(term: string): string;
  /** A cell in a form in which cells are equal if they are the same to the byte, and that a map can index. */
  exact(term: string, column: Pick<TableColumn, 'type'>): string;
  /** Byte-for-byte equality of two values of a type, with NULL equal to NULL. */
  same(one: string, other: string, type: string): string;
  /** Byte-for-byte equality of two values of a type, by default any, that can use the index of the first. */
  isKey(indexed: string, value: string, type?: string): string;
  /** The columns of a key as one text, for people. */
  keyName(terms: readonly string[]): string;
  /** A cell, converted without loss to what `Session.read` returns as a `Cell`. */
  asCell(id: IdColumn, term: string): string;
  /** A cell as text after a letter for its type: `i` (integer), `t` (text), `b` (bytes, in hexadecimal digits). */
  exactText(term: string): string;
  /** Whether a query groups equal cells before they are looked up; otherwise each row is looked up. */
  readonly groupsCells: boolean;
  /** Statements that create an empty map. */
  createMap(map: IdMap): readonly string[];
  /** Statements that create the list of a run. */
  createRows(list: string, layout: ListLayout): readonly string[];
  /** Statements that prepare one of them for look-ups after rows were added. `isLong`: the first column may be longer than an index takes. */
  loaded(table: string, index: readonly string[], isLong?: boolean): readonly string[];
  /** The number of a row in the query that fills a list; null: the list numbers its rows. */
  readonly rowNumber: string | null;
  createView(view: string, query: string): readonly string[];
  updateFrom(update: UpdateFrom): string;
  /** The columns that rows are read by in batches, and their values as SQL from `asText`; none: all rows are read at once. */
  batchKey(
    facts: TableFacts,
  ): readonly { readonly column: string; readonly valueSql: (text: string) => string }[];
  /** A clause at the end of a query that locks its rows of `t`; null if no other session can write. */
  readonly lockRows: string | null;
  /** Statements that lock out writers of tables, and defer foreign key checks to the end of the transaction. `tables`: as SQL. */
  lockTables(tables: readonly string[]): readonly string[];
  /** Statements that make deferred foreign key checks, without which a column cannot be dropped in the same transaction. */
  readonly checkKeys: readonly string[];
  /** Whether ALTER TABLE ends the transaction it is in. */
  readonly ddlCommits: boolean;
  /** The smallest and the largest integer of a term, over the rows that meet the condition `where`; 0 if there are none. */
  integersOf(term: string): { readonly lowest: string; readonly highest: string; readonly where: string };
  /**
   * The temporary value of row `w` while ids swap, of the type of its value `own`: the term `integer` (null: the column holds no
   * integers), or the text of its id followed by `suffix` (null: it holds no text).
   */
  parkedValue(column: TableColumn, own: string, integer: string | null, suffix: string | null): string;
}

/** The columns of a list of rows, apart from `id`. */
export interface ListLayout {
  /** `FROM`, with the table as `t`. */
  readonly table: string;
  readonly columns: readonly {
    readonly name: string;
    /** The cell whose values it takes, as SQL; null: no column of the table has them. */
    readonly of: string | null;
    readonly type: string;
    /** Whether an index can hold its values. */
    readonly isKey: boolean;
  }[];
  /** Columns of small integers. */
  readonly flags: readonly string[];
  /** Columns that rows are found by. */
  readonly index: readonly string[];
}

/**
 * The crosswalk of one id column, a table in the database of the target with a row for each stored value: `old` (as
 * `SqlText.exact`), `s…` (model, region and company that the row names, '' for none), `new` (NULL: the cell is emptied
 * or, in a new column, stays empty), `keep` (1: the cell stays as it is) and `fill` (the number of the write that added
 * the row).
 */
export interface IdMap {
  /** As SQL. A temporary table has a name of its own. */
  readonly table: string;
  readonly id: IdColumn;
  readonly column: TableColumn;
  /** The type of the cells that the new values are for. */
  readonly newType: string;
  /** Whether it lasts; otherwise it is a temporary table of the session. */
  readonly isKept: boolean;
}

/** Cells to look up, once for each distinct value. */
export interface MapSource {
  readonly work: ColumnWork;
  readonly mode: Mode;
  /** After `FROM`, with the table as `t` and without WHERE. */
  readonly from: string;
  /** Which of these rows. */
  readonly where: string;
  readonly fill: number;
}

/** An UPDATE of a table `t` by the rows of another. */
export interface UpdateFrom {
  /** As SQL. */
  readonly table: string;
  /** Column names with their new values, as SQL. */
  readonly set: readonly (readonly [string, string])[];
  /** As `TableFacts.autoUpdated`. */
  readonly autoUpdated?: readonly string[];
  readonly from: string;
  readonly where: string;
  /** Whether `t` comes first in the join, in a database that joins tables in the order in which they are written. */
  readonly isTableFirst?: boolean;
}

/** The result of looking up a cell of one row, or of several equal rows. */
export interface JudgedCells {
  /** The cell, then the values of `scopeTerms`. */
  readonly group: readonly Cell[];
  /** The new value as text; undefined if the cell stays. */
  readonly result: string | null | undefined;
  readonly rows: number;
  readonly extra: Cells;
}

/** SQL text that only scripts need, because no session of ours runs their statements. */
export interface EmitText {
  /** Statements before and after the script. */
  readonly settings: { readonly set: readonly string[]; readonly restore: readonly string[] };
  /** The current time as an ISO text in UTC. */
  readonly now: string;
  /** How many columns of a table, as in `TableFacts`, have a name and a type (null: any). */
  countColumns(table: string, name: string, type: string | null): string;
  /** Statements that add a column. Where the database allows it, they can be repeated. */
  addColumn(table: string, column: string, type: string): readonly string[];
  /** A statement that fails, naming the problems, if a check recorded in table `checks` failed. */
  raise(checks: string): string;
  /** Runs a statement if a condition holds; always where it is rolled back together with the statements before it. */
  runIf(condition: string, statement: string): readonly string[];
  /** Statements that roll back if a condition holds; none where a failed statement does so. */
  rollBackIf(condition: string, ledger: Ledger): readonly string[];
}

/**
 * Everything that differs between databases. Another database brings three files in `dialects/`: a `Session`, with its
 * errors as SvcErrors; the catalog, for `TableFacts` and what stands in the way of a run; and this, which is mostly SQL text.
 * `apply/stores.ts` opens it by the kind of its targets, which `config/apply-targets.ts` defines. For `apply sql`,
 * `emit/layouts.ts` names its client. Whoever tests it adds it to the products that the scenarios of `test/apply/databases`
 * run on.
 */
export interface Dialect extends SqlText {
  readonly emit: EmitText;
  /**
   * What has the names of the ledger (`run`, `ledger`): `view`, or a table's columns as `name type, name type`; and other
   * reasons not to keep it there. `table`: the one that is rewritten.
   */
  readLedger(
    ledger: Ledger,
    table?: string,
  ): Promise<{ readonly shape: ReadonlyMap<string, string>; readonly notes: readonly Note[] }>;
  /** Called at the start of a transaction: keeps other processes from starting a run. */
  lockLedger(ledger: Ledger): Promise<void>;
  /** The tables of the database of a target, to scan. */
  listTables(target: TableTarget): Promise<readonly ListedTable[]>;
  readFacts(target: TableTarget): Promise<TableFacts>;
  /** Notes on privileges, files and catalog entries that prevent the plan or affect it. */
  obstacleNotes(target: TableTarget, facts: TableFacts, handling: Handling): Promise<Note[]>;
  /**
   * After `lockTables`, defers the checks of a database that has none at COMMIT. Call the result at the end of the transaction; it
   * throws SvcError `bad_input` if a key is broken.
   */
  deferForeignKeys(tables: readonly Pick<TableOfRun, 'table' | 'target'>[]): Promise<() => Promise<void>>;
  /** In a transaction, before rows change: sets the search path that triggers and types need, and the planner for small batches. */
  beforeUpdate(triggers: readonly string[], keyTypes: readonly string[], isBatch: boolean): Promise<void>;
  /** Looks every cell up, counts it, and adds those that change to a map, once for each distinct value. Call inside a transaction. */
  loadMap(map: IdMap, source: MapSource): Promise<void>;
}

/** Finds a column by name, compared as the database compares names. */
export function findColumn({ dialect }: Engine, facts: TableFacts, name: string): TableColumn | undefined {
  const folded = dialect.foldName(name);
  return facts.columns.find((column) => dialect.foldName(column.name) === folded);
}

/** A row: every value as text, null for NULL. */
export type Cells = (string | null)[];

/** A cell to look up. Integers are numbers where those are exact, otherwise strings of digits. */
export type Cell = string | number | Buffer | null;

/**
 * `read`: a read-only snapshot. `latest`: each statement sees what others committed before it. `snapshot`: a snapshot
 * that may be written to. `exclusive`: the same, for a transaction that locks whole tables first.
 */
export type TransactionMode = 'read' | 'latest' | 'snapshot' | 'exclusive';

/** A connection to a database, one statement at a time. */
export interface Session {
  /** Runs one statement with `$1` parameters. */
  query(
    sql: string,
    values?: readonly (string | null)[],
  ): Promise<{ readonly rows: Cells[]; readonly count: number }>;
  /** Runs one or more statements without parameters. */
  exec(sql: string): Promise<void>;
  /** File, or host and database, for people. */
  place(): Promise<string>;
  /** The first value of the first row; null if there is none. */
  one(sql: string, values?: readonly (string | null)[]): Promise<string | null>;
  /** Reads the rows of a query in batches; call inside a transaction. */
  read(sql: string): AsyncIterable<readonly Cell[][]>;
  /**
   * Runs `step` until it succeeds, at most `tuning.attempts` times. The step must be safe to repeat.
   *
   * @throws SvcError `interrupted`, `locked`, `bad_input`
   */
  retry<T>(step: () => Promise<T>): Promise<T>;
  /** Runs `work` in a transaction; retries after a deadlock, a lock timeout or a lost connection. */
  transaction<T>(mode: TransactionMode, work: () => Promise<T>): Promise<T>;
}

export function interrupted(): SvcError {
  return new SvcError(
    'interrupted',
    'Stopped between two steps. If a run had begun, the ledger records it.',
    {
      hint: 'Run the same command again: it continues the run. `svc-migrate apply runs` lists it, and `svc-migrate apply undo RUN` undoes it.',
    },
  );
}

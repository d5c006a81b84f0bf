import type { IdColumn, TableTarget } from '../../config/apply-targets.js';
import type { ColumnWork } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import type { Lock, Mode, Note } from '../plan.js';
import type { Ledger, LedgerColumnType, TableRun } from './ledger.js';
import type { Cell, Cells, Session } from './session.js';
import type { Handling, ListedTable, TableColumn, TableFacts } from './table-facts.js';

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
  readonly kind: TableTarget['kind'];
  quote(name: string): string;
  /** Normalizes a column name for comparison. */
  foldName(name: string): string;
  /** A table by its name in `TableFacts` and in the ledger. */
  tableSql(table: string): string;
  /** A column type for ALTER TABLE, as `TableColumn` has it. */
  declaredType(type: string): string;
  /** The type of a column for platform_ids, and the longest text it takes; null: any. */
  readonly platformIdType: {
    readonly type: string;
    readonly maxChars: number | null;
    /** Whether a text may contain NUL. */
    readonly allowsNulCharacter: boolean;
  };
  /** A temporary table of the session. */
  temporary(name: string): string;
  /** Drops a temporary table by its SQL, if it exists, without ending the transaction. */
  dropTemporary(table: string): string;
  /** Creates a temporary table from a query of one column `value`, which `markParked` looks up. */
  createValues(name: string, query: string): string;
  /** Sets `parked` in the rows of a work list whose value in column `o` + `at` is in a table made by `createValues`. */
  markParked(list: string, values: string, at: number): string;
  /** Deletes the entries of the ledger that meet `where`, in which they are `e`. */
  deleteEntries(entry: string, where: string): string;
  asText(term: string): string;
  /** A cell in a form in which cells are equal if they are the same to the byte, and that a map can index. */
  exact(term: string, column: Pick<TableColumn, 'type'>): string;
  /** A new value of a map, converted to the type of the cell that it is for. */
  fromMap(term: string, map: IdMap): string;
  /** A table that belongs to the ledger, by a name that needs no quotes. */
  ledgerTable(name: string, ledger: Ledger): string;
  /** Statements that create an empty map, and that prepare it for look-ups after rows were added. */
  createMap(map: IdMap): readonly string[];
  indexMap(map: IdMap): readonly string[];
  /** A cell, converted without loss to what `Session.read` returns as a `Cell`. */
  asCell(id: IdColumn, term: string): string;
  /** Whether a query groups equal cells before they are looked up; otherwise each row is looked up. */
  readonly groupsCells: boolean;
  /** A cell as the ledger keeps it. */
  asEntry(term: string): string;
  /** A ledger value, converted to the type of a column. */
  fromEntry(term: string, type: string): string;
  /** The prefix by which `exactText` tells types of cells apart. */
  typeMark(term: string): string;
  /** A cell as text with its `typeMark` in front, so that values of different types differ. */
  exactText(term: string): string;
  /** Byte-for-byte equality, with NULL equal to NULL; either term may be a cell or a ledger value. */
  isSame(one: string, other: string): string;
  /** Byte-for-byte equality that can use the index of the column. */
  isKey(column: string, value: string): string;
  /** A row's key as the ledger keeps it. */
  keySql(terms: readonly string[]): string;
  /** One column of a ledger key, as that column's type. */
  keyPart(run: Pick<TableRun, 'key' | 'keyTypes'>, rowKey: string, at: number): string;
  /** A ledger key for people. */
  keyName(rowKey: string): string;
  /** The right side of `(unit, col) IN`. */
  inPairs(pairs: readonly string[]): string;
  updateFrom(update: UpdateFrom): string;
  /** A clause at the end of a query that locks its rows of `t`; null if no other session can write. */
  readonly lockRows: string | null;
  /** Whether ALTER TABLE ends the transaction it is in. */
  readonly ddlCommits: boolean;
  /** The smallest and the largest integer of a term, over the rows that meet the condition `where`; 0 if there are none. */
  integersOf(term: string): { readonly lowest: string; readonly highest: string; readonly where: string };
  /** Whether a column's text ends with `suffix`, which is ASCII without quotes. */
  endsWith(column: TableColumn, term: string, suffix: string): string;
  /** The temporary value of column `at` in row `w` of a work list while ids swap. */
  parkedValue(column: TableColumn, at: number, free: FreeValues): string;
}

/**
 * The crosswalk of one id column, a table in the database of the target with a row for each stored value: `old` (as
 * `SqlText.exact`), `s…` (model, region and company that the row names, '' for none), `new` (NULL: the cell is emptied
 * or, in a new column, stays empty), `keep` (1: the cell stays as it is) and `fill` (the number of the write that added
 * the row).
 */
export interface IdMap {
  /** As SQL. */
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

/**
 * Values that no row of a column holds, for n from 1: the integer `base + n` or `base - n`, by `sign`, and the text of n
 * followed by `suffix`.
 */
export interface FreeValues {
  /** Null: the column holds no integers. */
  readonly integers: { readonly base: bigint; readonly sign: '+' | '-' } | null;
  /** Null: the column holds no text. */
  readonly suffix: string | null;
}

/** An UPDATE of a table `t` by the rows of another. */
export interface UpdateFrom {
  readonly table: string;
  /** SQL of the part of the table that is updated; null: all of it. */
  readonly part?: string | null;
  /** Column names with their new values, as SQL. */
  readonly set: readonly (readonly [string, string])[];
  readonly from: string;
  readonly where: string;
  /** Whether `t` comes first in the join, in a database that joins tables in the order in which they are written. */
  readonly isTableFirst?: boolean;
}

/** How the ledger is kept. */
export interface LedgerText {
  readonly ledgerTypes: Readonly<Record<LedgerColumnType, string>>;
  /** Whether the ledger records column types; otherwise they are not needed. */
  readonly keepsTypes: boolean;
  readonly createLedgerView: 'CREATE OR REPLACE VIEW' | 'CREATE VIEW IF NOT EXISTS' | 'CREATE VIEW';
  /** Item of a JSON list, as text. */
  jsonItem(list: string, at: string): string;
  /** After the columns of CREATE TABLE. */
  readonly tableOptions: string;
  /** Among the columns of `entry`: an index on `row_key`, if joins need one. */
  readonly entryIndex: string;
  /** An id for each entry of an INSERT … SELECT. */
  nextEntry(ledger: Ledger): string;
  /** A condition that finds the runs of table `$1`. */
  readonly isTableOfRun: string;
  /** Whether a text from the ledger is safe to use in SQL as a table name, or as a type. */
  isTableName(name: string): boolean;
  isTypeName(name: string): boolean;
  /** What to do if other tables have the ledger's names. */
  readonly foreignLedgerHint: string;
}

/** Queries and locks of the ledger. */
export interface LedgerCatalog {
  ledgerOf(target: TableTarget): Ledger;
  /** The objects of the ledger that exist, by name (`run`, `entry`, …): `view`, or a table's columns as `name type, name type`. */
  readLedgerShape(ledger: Ledger): Promise<ReadonlyMap<string, string>>;
  /** Other reasons not to keep the ledger there. `table`: the one that is rewritten. */
  ledgerObstacles(ledger: Ledger, table: string): Promise<Note[]>;
  /** Creates the ledger, if that needs a transaction of its own. */
  ensureLedger(ledger: Ledger): Promise<void>;
  /** Called at the start of a transaction: keeps other processes from starting a run, and creates the ledger if `ensureLedger` does not. */
  lockLedger(ledger: Ledger): Promise<void>;
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

/** Tries new values against the constraints of a table while the plan is made. */
export interface ColumnTrial {
  add(cells: readonly JudgedCells[]): Promise<void>;
  /** Notes on refused values. `parked`: SQL for the values that rows hold while ids swap. */
  finish(parked: string | null): Promise<Note[]>;
}

/** Queries of the database's catalog, and locks of tables. */
export interface TableCatalog {
  /** File, or host and database, for people. */
  place(): Promise<string>;
  placeOfRun(table: string): string;
  /** The tables of the database of a target, to scan. */
  listTables(target: TableTarget): Promise<readonly ListedTable[]>;
  readFacts(target: TableTarget): Promise<TableFacts>;
  /** Who waits while a writer locks the whole database; null: writers lock rows and tables. */
  locksDatabase(): Lock['blocks'] | null;
  /** Names of the row id (`ctid`, `rowid`) by which a row of a table without a key is found; empty if it has none. */
  rowIdNames(facts: TableFacts): readonly string[];
  /** Notes on privileges, files and catalog entries that prevent the plan or affect it. */
  obstacleNotes(target: TableTarget, facts: TableFacts, handling: Handling): Promise<Note[]>;
  /** Null if no constraint involves the column. */
  openTrial(facts: TableFacts, id: IdColumn): Promise<ColumnTrial | null>;
  /** In an `exclusive` transaction: locks out writers and defers foreign key checks to its end. */
  lockTables(tables: readonly string[]): Promise<void>;
  /**
   * At the end of that transaction: checks foreign keys that the database itself does not check at COMMIT.
   *
   * @throws SvcError `bad_input`; the caller rolls back
   */
  checkForeignKeys(tables: readonly string[]): Promise<void>;
  /** In a transaction, before rows change: sets the search path that triggers and types need, and the planner for small batches. */
  beforeUpdate(triggers: readonly string[], keyTypes: readonly string[], isBatch: boolean): Promise<void>;
}

/** Rows of a new column that are filled in one transaction. */
export interface FillRange {
  /** As in `UpdateFrom`. */
  readonly part: string | null;
  /** A condition on `t`; `TRUE`: all rows. */
  readonly where: string;
  readonly done: number;
  readonly total: number | null;
}

/** Statements that differ too much between databases to be shared. */
export interface TableStatements {
  /** Looks every cell up, counts it, and adds those that change to a map, once for each distinct value. Call inside a transaction. */
  loadMap(map: IdMap, source: MapSource): Promise<void>;
  /** Creates a temporary table from a query, and adds the columns `row_no` (from 1) and `parked`. */
  createList(name: string, columns: readonly string[], query: string): Promise<void>;
  /** Ranges of about one batch; together they cover every row of a table. */
  fillRanges(facts: TableFacts): AsyncIterable<FillRange>;
}

/** A column that a script looks up in the catalog; `type` null: of any type. */
interface CatalogColumn {
  /** As `TableFacts.table`. */
  readonly table: string;
  readonly name: string;
  readonly type: string | null;
}

/** SQL text that only scripts need, because no session of ours runs their statements. */
export interface EmitText {
  readonly title: string;
  /** Statements before and after the script. */
  readonly settings: readonly string[];
  readonly restore: readonly string[];
  /** Begins the transaction. Null if DDL commits: then the script begins its transaction itself, after its DDL. */
  readonly begin: string | null;
  /** A literal for any text, which no tool that runs the script can split or misread. */
  literal(text: string): string;
  /** The current time as an ISO text in UTC. */
  readonly now: string;
  /** Types of the staging tables: a text, a value in the ledger's form, the number of a row. */
  readonly types: {
    readonly text: string;
    readonly value: string;
    readonly row: string;
  };
  /** Most bytes of a value that the crosswalk's index takes. */
  readonly longestOld: number;
  keyType(type: string): string;
  createLedger(dialect: SqlText & LedgerText, ledger: Ledger): readonly string[];
  /** Statements that lock out writers and defer foreign key checks to the end of the transaction. */
  lock(tables: readonly string[], ledger: Ledger): readonly string[];
  countColumns(column: CatalogColumn): string;
  /** Statements that add a column. Where the database allows it, they can be repeated. */
  addColumn(table: string, column: string, type: string): readonly string[];
  /** Updates the planner's statistics. */
  analyze(table: string): readonly string[];
  /** A statement that fails, naming the problems, if a check recorded in table `checks` failed. */
  raise(checks: string): string;
  /** Statements that roll back if a condition holds; none where a failed statement does so. */
  rollBackIf(condition: string, ledger: Ledger): readonly string[];
  /** Literals for a value of a crosswalk, given as `exactText`, and for the new value of its row. */
  oldLiteral(old: string): string;
  newLiteral(old: string, result: string, id: IdColumn): string;
}

/** Everything that differs between databases. */
export interface Dialect extends SqlText, LedgerText, LedgerCatalog, TableCatalog, TableStatements {
  readonly emit: EmitText;
}

/** Finds a column by name, compared as the database compares names. */
export function findColumn({ dialect }: Engine, facts: TableFacts, name: string): TableColumn | undefined {
  const folded = dialect.foldName(name);
  return facts.columns.find((column) => dialect.foldName(column.name) === folded);
}

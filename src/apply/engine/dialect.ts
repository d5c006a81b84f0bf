import type { IdColumn, TableTarget } from '../../config/apply-targets.js';
import type { ApplyContext } from '../context.js';
import type { EmitText } from '../emit/emit-texts.js';
import type { Lock, Note } from '../plan.js';
import { quoteIdentifier } from '../sql-names.js';
import type { IdMap, MapSource } from './id-maps.js';
import type { JudgedCells } from './judge-cells.js';
import type { Ledger, LedgerColumnType, TableRun } from './ledger-tables.js';
import type { FreeValues } from './parking.js';
import type { Session } from './session.js';
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

/** `UPDATE … FROM`, as PostgreSQL and SQLite have it. `table`: as SQL. */
export function updateFromSql(table: string, { set, from, where, part }: UpdateFrom): string {
  const changes = set.map(([column, term]) => `${quoteIdentifier(column)} = ${term}`).join(', ');
  return `UPDATE ${part ?? table} AS t SET ${changes} FROM ${from} WHERE ${where}`;
}

/** What PostgreSQL and SQLite share. */
export const SHARED_TEXT: Pick<
  SqlText & LedgerText,
  'dropTemporary' | 'createValues' | 'markParked' | 'deleteEntries' | 'entryIndex'
> = {
  dropTemporary: (table) => `DROP TABLE IF EXISTS ${table}`,
  createValues: (name, query) => `CREATE TEMPORARY TABLE ${name} AS ${query}`,
  markParked: (list, values, at) =>
    `UPDATE ${list} SET parked = TRUE WHERE o${at} IN (SELECT value FROM ${values})`,
  deleteEntries: (entry, where) => `DELETE FROM ${entry} AS e WHERE ${where}`,
  entryIndex: '',
};

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

/** Everything that differs between databases. */
export interface Dialect extends SqlText, LedgerText, LedgerCatalog, TableCatalog, TableStatements {
  readonly emit: EmitText;
}

/** Finds a column by name, compared as the database compares names. */
export function findColumn({ dialect }: Engine, facts: TableFacts, name: string): TableColumn | undefined {
  const folded = dialect.foldName(name);
  return facts.columns.find((column) => dialect.foldName(column.name) === folded);
}

import type { IdColumn, TableTarget } from '../../config/apply-targets.js';
import type { ColumnWork } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import type { Mode, Note } from '../plan.js';
import type { Batch } from './batches.js';
import type { TableRun } from './ledger.js';
import type { Cells, Session } from './session.js';
import type { Handling, TableColumn, TableFacts } from './table-facts.js';

/** What the engine works with: one database, and how to speak to it. */
export interface Engine {
  readonly context: ApplyContext;
  readonly session: Session;
  readonly dialect: Dialect;
}

/** A ledger's tables, as SQL. */
export interface Ledger {
  /** In PostgreSQL its schema. */
  readonly name: string;
  readonly run: string;
  readonly entry: string;
  readonly skipped: string;
}

/** How one database writes what every SQL database can say. Terms are SQL, and so are results. */
export interface SqlText {
  readonly kind: TableTarget['kind'];
  quote(name: string): string;
  /** A table by its name in `TableFacts` and in the ledger. */
  tableSql(table: string): string;
  /** A temporary table of the session. */
  temporary(name: string): string;
  asText(term: string): string;
  /** A cell as the ledger keeps it. */
  asEntry(term: string): string;
  /** A cell as text, different for values of different types. */
  exactText(term: string): string;
  /** A value of the ledger as a column of this type takes it. */
  fromEntry(term: string, type: string): string;
  /** Equal to the last byte, NULL equal to NULL; either may be a cell or a value of the ledger. */
  isSame(one: string, other: string): string;
  /** Equal to the last byte, found through the column's own index. */
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
  /** A number for each entry that one INSERT … SELECT makes. */
  nextEntry(ledger: Ledger): string;
}

/** An UPDATE of a table `t` by the rows of another. */
export interface UpdateFrom {
  readonly table: string;
  /** Column names with terms. */
  readonly set: readonly (readonly [string, string])[];
  readonly from: string;
  readonly where: string;
}

/** How the ledger's `run` table is read. */
export interface RunTable {
  /** Terms for the types of the key's columns and of the id columns, each a JSON list. */
  readonly types: readonly [string, string];
  /** A condition that finds the runs of table `$1`. */
  readonly ofTable: string;
  /** Whether texts are names of a table and of types as this database writes them: they become part of statements. */
  isTable(name: string): boolean;
  isType(name: string): boolean;
}

/** The ledger of a database: where it is, and whether it is ours. */
export interface LedgerCatalog {
  readonly runTable: RunTable;
  ledgerOf(target: TableTarget): Ledger;
  /** @throws SvcError `bad_input` where tables of these names are something else */
  hasLedger(ledger: Ledger): Promise<boolean>;
  /** What speaks against keeping a ledger there. */
  ledgerNotes(ledger: Ledger, table: string): Promise<Note[]>;
  /** Makes the ledger, where that takes a transaction of its own. */
  ensureLedger(ledger: Ledger): Promise<void>;
  /** At the start of a transaction: makes it else, and keeps other processes from beginning a run. */
  lockLedger(ledger: Ledger): Promise<void>;
}

/** Cells to look up. */
export interface JudgeSource {
  readonly work: ColumnWork;
  readonly mode: Mode;
  /** `FROM` and `WHERE`, with the table as `t`. */
  readonly from: string;
  /** The cell; default: the column of the table. */
  readonly value?: string;
  /** Other terms of the row, read as text. */
  readonly extra?: readonly string[];
  /** Equal values, with equal other terms, may be looked up together. */
  readonly isGrouped?: boolean;
  /** Told of the other terms before the cell is looked up. */
  readonly onRow?: (extra: Cells) => void;
}

/** A value that was looked up. */
export interface JudgedCells {
  /** The value and what names its model, region and company, as text. */
  readonly group: Cells;
  /** What the cells become, as the ledger would have it, as text; undefined: they stay. */
  readonly result: string | null | undefined;
  /** `result` as `exactText` writes it. */
  readonly exact: string | null | undefined;
  readonly rows: number;
  readonly extra: Cells;
}

/** Tries new values against the conditions of a table, while the plan is made. */
export interface ColumnTrial {
  add(cells: readonly JudgedCells[]): Promise<void>;
  /** What is refused. `parked`: a term for the values that rows hold while ids swap. */
  finish(parked: string | null): Promise<Note[]>;
}

/** A column whose cells are to change. */
export interface ChangeColumn {
  readonly id: IdColumn;
  /** Null: its cells stay. */
  readonly work: ColumnWork | null;
  /** A subquery of the keys of the rows that stay; null: none. */
  readonly entered: string | null;
}

export interface ChangeSource {
  readonly table: string;
  readonly key: readonly string[];
  readonly columns: readonly ChangeColumn[];
}

/** Rows of a new column that are filled in one transaction. */
export interface FillRange {
  readonly table: string;
  readonly where: string;
  readonly done: number;
  readonly total: number | null;
}

/** A new column that is being filled. */
export interface ColumnFill {
  ranges(): AsyncIterable<FillRange>;
  /** Fills the rows of a range that have an id and no V4 id yet; returns how many. Call inside a transaction. */
  fill(range: FillRange): Promise<number>;
}

/** What only the database itself can say or do. */
export interface TableCatalog {
  readonly rowsPerSecond: number;
  /** File, or host and database, for people. */
  place(): Promise<string>;
  placeOfRun(table: string): string;
  readFacts(target: TableTarget): Promise<TableFacts>;
  /** A column by its name, as this database compares names. */
  findColumn(facts: TableFacts, name: string): TableColumn | undefined;
  /** Columns that name a row of a table without key. */
  rowNames(facts: TableFacts): readonly string[];
  /** A column type for ALTER TABLE, as `TableColumn` has it. */
  declaredType(type: string): string;
  /** What privileges, files and the catalogue say against the plan. */
  obstacleNotes(target: TableTarget, facts: TableFacts, handling: Handling): Promise<Note[]>;
  /** Null where no condition is about the column. */
  openTrial(facts: TableFacts, id: IdColumn): Promise<ColumnTrial | null>;
  /** In a transaction: keeps writers away, and has foreign keys checked at its end. */
  lockTables(tables: readonly string[]): Promise<void>;
  /** In a transaction, before rows are changed: triggers and types find what they need. */
  beforeUpdate(triggers: readonly string[], keyTypes: readonly string[]): Promise<void>;
}

export interface ToPark {
  /** The largest id that comes into the column. */
  readonly highest: bigint;
  /** How many rows may have to step aside. */
  readonly rows: bigint;
}

/** Statements that databases write too differently to share. */
export interface TableStatements {
  /** Looks cells up; call inside a transaction. */
  judge(source: JudgeSource): AsyncIterable<readonly JudgedCells[]>;
  /**
   * A query of `k…` (the key), `o…`, `c…` (each column before and after, as entries), `r…` (whether it is rewritten)
   * for every row that changes. Values are looked up when the query is made or when it runs, once. Call inside the
   * transaction that runs it.
   */
  changesQuery(source: ChangeSource): Promise<string>;
  /** Fills a new temporary table; `row_no` (from 1) and `parked` come with its columns. */
  createList(name: string, columns: readonly string[], query: string): Promise<void>;
  /** The largest integer of a column of a list; 0 where there is none. */
  largestInteger(term: string, from: string): Promise<bigint>;
  /**
   * A term for values that no row of a unique column holds, different for each `w.row_no` from 1 to `rows`, of the
   * type of the row's own value `w.o…`; null where there are none.
   */
  parkingTerm(table: string, column: TableColumn, at: number, toPark: ToPark): Promise<string | null>;
  /**
   * Changes the rows of a column's entries, each only while it holds its old value; entries of the others leave
   * the ledger. Returns how many.
   *
   * @throws SvcError as `notWritten`
   */
  carryOut(run: TableRun, batch: Batch, col: number, triggers: readonly string[]): Promise<number>;
  /** Takes the rows of a column's entries back, with their entries; what others changed since stays. */
  takeBack(run: TableRun, batch: Batch, col: number, triggers: readonly string[]): Promise<void>;
  openFill(facts: TableFacts, id: IdColumn, at: number): Promise<ColumnFill>;
}

/** Everything that is different from one database to another. */
export interface Dialect extends SqlText, LedgerCatalog, TableCatalog, TableStatements {}

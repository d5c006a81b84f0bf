import type { IdColumn, TableTarget } from '../../config/apply-targets.js';
import type { ColumnWork } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import type { Note } from '../plan.js';
import { quoteName } from '../sql-names.js';
import type { JudgedCells } from './judge-cells.js';
import type { Ledger, LedgerColumnType, TableRun } from './ledger-tables.js';
import type { FreeValues } from './parking.js';
import type { Session } from './session.js';
import type { Handling, TableColumn, TableFacts } from './table-facts.js';

/** What the engine works with: one database, and how to speak to it. */
export interface Engine {
  readonly context: ApplyContext;
  readonly session: Session;
  readonly dialect: Dialect;
}

/** How one database writes what every SQL database can say. Terms are SQL, and so are results. */
export interface SqlText {
  readonly kind: TableTarget['kind'];
  quote(name: string): string;
  /** The form in which names of columns are compared. */
  foldName(name: string): string;
  /** A table by its name in `TableFacts` and in the ledger. */
  tableSql(table: string): string;
  /** A column type for ALTER TABLE, as `TableColumn` has it. */
  declaredType(type: string): string;
  /** A temporary table of the session. */
  temporary(name: string): string;
  asText(term: string): string;
  /** A cell for looking up: what it holds, exactly, as one of the types of `Cell`. */
  asCell(id: IdColumn, term: string): string;
  /** Whether the server groups equal cells before they are looked up; else each row is looked up. */
  readonly groupsCells: boolean;
  /** A cell as the ledger keeps it. */
  asEntry(term: string): string;
  /** A value of the ledger as a column of this type takes it. */
  fromEntry(term: string, type: string): string;
  /** Text by which `exactText` tells the types of cells apart. */
  typeMark(term: string): string;
  /** A cell as text, different for values of different types; begins with the mark of its type. */
  exactText(term: string): string;
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
  /** At the end of a query on tables and `t`: keeps its rows of `t` from being changed by others; null: nobody else writes. */
  readonly lockRows: string | null;
  /** At the end of a subquery: its terms are worked out once for each row. */
  readonly evaluateOnce: string;
  /** Whether ALTER TABLE ends the transaction it is in. */
  readonly ddlCommits: boolean;
  /** Smallest and largest integer of a term over the rows that `where` leaves; 0 where there is none. */
  integersOf(term: string): { readonly lowest: string; readonly highest: string; readonly where: string };
  /** Whether a column's text ends so; `ending` is ASCII without quotes. */
  endsWith(column: TableColumn, term: string, ending: string): string;
  /** The value that row `w` of a work list holds in its `at`-th column while it stands aside. */
  parkedValue(column: TableColumn, at: number, free: FreeValues): string;
}

/** An UPDATE of a table `t` by the rows of another. */
export interface UpdateFrom {
  readonly table: string;
  /** Column names with terms. */
  readonly set: readonly (readonly [string, string])[];
  readonly from: string;
  readonly where: string;
}

/** `UPDATE … FROM`, as PostgreSQL and SQLite have it. `table`: as SQL. */
export function updateFromSql(table: string, { set, from, where }: UpdateFrom): string {
  const changes = set.map(([column, term]) => `${quoteName(column)} = ${term}`).join(', ');
  return `UPDATE ${table} AS t SET ${changes} FROM ${from} WHERE ${where}`;
}

/** How the ledger is kept. */
export interface LedgerText {
  readonly ledgerTypes: Readonly<Record<LedgerColumnType, string>>;
  /** Whether runs keep the types of their columns; else those are not needed. */
  readonly keepsTypes: boolean;
  readonly createLedgerView: 'CREATE OR REPLACE VIEW' | 'CREATE VIEW IF NOT EXISTS';
  /** Item of a JSON list, as text. */
  jsonItem(list: string, at: string): string;
  /** After the columns of CREATE TABLE. */
  readonly tableOptions: string;
  /** A number for each entry that one INSERT … SELECT makes. */
  nextEntry(ledger: Ledger): string;
  /** A condition that finds the runs of table `$1`. */
  readonly isTableOfRun: string;
  /** Whether texts are names of a table and of types as this database writes them: they become part of statements. */
  isTableName(name: string): boolean;
  isTypeName(name: string): boolean;
  /** What to do where other tables have the ledger's names: after the plan's note, and as a hint. */
  readonly foreignLedgerNote: string;
  readonly foreignLedgerHint: string;
}

/** The ledger of a database: where it is, and who may write there. */
export interface LedgerCatalog {
  ledgerOf(target: TableTarget): Ledger;
  /** What goes by the names of the ledger: `run`, `entry`, … with `name type, name type`, or `view`. */
  readLedgerShape(ledger: Ledger): Promise<ReadonlyMap<string, string>>;
  /** What else speaks against keeping the ledger there. `table`: the one that is rewritten. */
  ledgerObstacles(ledger: Ledger, table: string): Promise<Note[]>;
  /** Makes the ledger, where that takes a transaction of its own. */
  ensureLedger(ledger: Ledger): Promise<void>;
  /** At the start of a transaction: makes it else, and keeps other processes from beginning a run. */
  lockLedger(ledger: Ledger): Promise<void>;
}

/** Tries new values against the conditions of a table, while the plan is made. */
export interface ColumnTrial {
  add(cells: readonly JudgedCells[]): Promise<void>;
  /** What is refused. `parked`: a term for the values that rows hold while ids swap. */
  finish(parked: string | null): Promise<Note[]>;
}

/** What only the database itself can say or do. */
export interface TableCatalog {
  readonly rowsPerSecond: number;
  /** File, or host and database, for people. */
  place(): Promise<string>;
  placeOfRun(table: string): string;
  readFacts(target: TableTarget): Promise<TableFacts>;
  /** Columns that name a row of a table without key. */
  rowNames(facts: TableFacts): readonly string[];
  /** What privileges, files and the catalogue say against the plan. */
  obstacleNotes(target: TableTarget, facts: TableFacts, handling: Handling): Promise<Note[]>;
  /** Null where no condition is about the column. */
  openTrial(facts: TableFacts, id: IdColumn): Promise<ColumnTrial | null>;
  /** In a transaction: keeps writers away, and has foreign keys checked at its end. */
  lockTables(tables: readonly string[]): Promise<void>;
  /** In a transaction, before rows are changed: triggers and types find what they need; a batch costs what it changes. */
  beforeUpdate(triggers: readonly string[], keyTypes: readonly string[], isBatch: boolean): Promise<void>;
}

/** Cells of table `t` that a query is to look up. */
export interface LookUpSource {
  readonly work: ColumnWork;
  readonly table: string;
  /** After `FROM`, with `t`. */
  readonly from: string;
  /** Which of these rows; `from` has no WHERE. */
  readonly where: string;
  /** Number of the column in the query. */
  readonly at: number;
}

/** How a query on table `t` knows what the cells of a column become: from a joined table, or by a function. */
export interface LookUpSql {
  readonly join: string;
  /** Terms with names, in a subquery that ends with `evaluateOnce`. */
  readonly terms: readonly string[];
  /** Outside it: whether the cell changes, and the new value as the ledger has it. */
  readonly isChanged: string;
  readonly value: string;
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

/** Statements that databases write too differently to share. */
export interface TableStatements {
  /** Values are looked up now or when the query runs, once. Call inside the transaction that runs it. */
  lookUp(source: LookUpSource): Promise<LookUpSql>;
  /** Fills a new temporary table; `row_no` (from 1) and `parked` come with its columns. */
  createList(name: string, columns: readonly string[], query: string): Promise<void>;
  openFill(facts: TableFacts, id: IdColumn, at: number): Promise<ColumnFill>;
}

/** Everything that is different from one database to another. */
export interface Dialect extends SqlText, LedgerText, LedgerCatalog, TableCatalog, TableStatements {}

/** The column of a name, as the database compares names. */
export function findColumn({ dialect }: Engine, facts: TableFacts, name: string): TableColumn | undefined {
  const folded = dialect.foldName(name);
  return facts.columns.find((column) => dialect.foldName(column.name) === folded);
}

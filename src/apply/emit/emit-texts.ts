import type { LedgerText, SqlText } from '../engine/dialect.js';
import type { Ledger } from '../engine/ledger-tables.js';
import { quoteLiteral } from '../sql-names.js';

/** A column that a script looks up in the catalog; `type` null: of any type. */
interface CatalogColumn {
  /** As `TableFacts.table`. */
  readonly table: string;
  readonly name: string;
  readonly type: string | null;
}

/** What scripts need beyond `SqlText`, because no session runs them statement by statement. */
export interface EmitText {
  readonly title: string;
  /** Statements before and after the script. */
  readonly settings: readonly string[];
  readonly restore: readonly string[];
  /** Null: DDL commits, so the script begins its transaction after its DDL, whoever runs it. */
  readonly begin: string | null;
  /** A text of any characters as SQL that no tool can split or misread. */
  literal(text: string): string;
  /** The current time as an ISO text in UTC. */
  readonly now: string;
  /** Types of the staging tables: a value looked up by its text, a value in the ledger's form, a key column. */
  readonly types: {
    readonly old: string;
    readonly text: string;
    readonly value: string;
    readonly row: string;
  };
  /** Most bytes of a value that the crosswalk's index takes. */
  readonly longestOld: number;
  keyType(type: string): string;
  /** A staging table of the script. */
  staging(name: string, ledger: Ledger): string;
  createLedger(dialect: SqlText & LedgerText, ledger: Ledger): readonly string[];
  /** In the transaction: keeps writers away, and defers foreign key checks to its end. */
  lock(tables: readonly string[], ledger: Ledger): readonly string[];
  countColumns(column: CatalogColumn): string;
  /** Adds or drops a column; with `IF` it can be repeated where the database allows that. */
  addColumn(table: string, column: string, type: string): readonly string[];
  dropColumn(table: string, column: string): readonly string[];
  /** Updates the planner's statistics. */
  analyze(table: string): readonly string[];
  /** Fails, naming the problem, if a check of the table failed. */
  raise(checks: string): string;
  /** Ends the transaction without its changes if a condition holds; nothing where a failed statement does so. */
  rollBackIf(condition: string, ledger: Ledger): readonly string[];
  /** A looked-up id in the type of its cell. */
  newCell(cell: string, id: string): string;
}

const PLAIN = /^[A-Za-z0-9_ ./#:,=()[\]{}"+-]*$/;

/** Makes a function for literals: quoted where the text is plain, otherwise from its bytes as hexadecimal digits. */
export function literalOr(hex: (bytes: string) => string): (text: string) => string {
  return (text) =>
    PLAIN.test(text) && !text.includes('--') ? quoteLiteral(text) : hex(Buffer.from(text).toString('hex'));
}

/** A cell as SQL. */
export function cellLiteral(literal: (text: string) => string, cell: string | null | undefined): string {
  return cell === null || cell === undefined ? 'NULL' : literal(cell);
}

/** The beginning of the message of a script that stops. */
export const FAILED = 'svc-migrate: nothing was changed: ';

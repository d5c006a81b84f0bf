import type { IdColumn } from '../../config/apply-targets.js';
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

const PLAIN = /^[A-Za-z0-9_ ./#:,=()[\]{}"+-]*$/;

/** Builds a function that formats literals: plain text is quoted, other text is passed to `hex` as hexadecimal digits. */
export function literalFormatter(hex: (bytes: string) => string): (text: string) => string {
  return (text) =>
    PLAIN.test(text) && !text.includes('--') ? quoteLiteral(text) : hex(Buffer.from(text).toString('hex'));
}

/** The beginning of the message of a script that stops. */
export const FAILURE_PREFIX = 'svc-migrate: nothing was changed: ';

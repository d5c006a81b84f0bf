import type { RunUninterruptible } from '../../domain.js';
import { SvcError } from '../../errors.js';

export type Value = bigint | string | null;

export interface ColumnFacts {
  readonly name: string;
  /** As ALTER TABLE takes it, with a collation that the values need; '' if it has none (SQLite). */
  readonly type: string;
  /** `any`: each value has its own type (SQLite). `other`: the column cannot hold ids. */
  readonly holds: 'integer' | 'text' | 'json' | 'any' | 'other';
  readonly isGenerated: boolean;
  readonly isNullable: boolean;
  /** Whether negative numbers are refused by the type. */
  readonly isUnsigned: boolean;
}

export interface Obstacle {
  /** `write`: nothing can be written. `switch`: only the switch is refused. `none`: a warning. */
  readonly stops: 'write' | 'switch' | 'none';
  readonly code: string;
  readonly text: string;
  /** Concerns only the ids in this column; absent: the table. */
  readonly column?: string;
}

export interface TableFacts {
  /** Its name in the state table and for people: with the schema where there are schemas. */
  readonly table: string;
  /** Null in a database without schemas. */
  readonly schema: string | null;
  readonly name: string;
  readonly columns: readonly ColumnFacts[];
  /** The primary key, which names rows for people. Empty if there is none. */
  readonly key: readonly string[];
  /** All columns that unique keys depend on, also through expressions and conditions. */
  readonly uniqueColumns: readonly string[];
  /** Foreign keys of other tables that copy every change of these columns. */
  readonly cascades: readonly { readonly table: string; readonly columns: readonly string[] }[];
  readonly triggers: readonly string[];
  /** What a statement would do silently or not at all, such as a rule or a view. */
  readonly obstacles: readonly Obstacle[];
}

export interface ListedTable {
  readonly schema: string | null;
  readonly name: string;
  /** Why it cannot hold ids, such as `a view`; null if it can. */
  readonly obstacle: string | null;
}

/** A table of svc-migrate beside the data. */
export interface TableDefinition {
  readonly table: string;
  readonly columns: readonly {
    readonly name: string;
    /** `name`: text of at most 255 characters, compared exactly. `any`: as in `ColumnFacts.holds`. */
    readonly type: 'integer' | 'text' | 'name' | 'any';
    readonly isNullable: boolean;
  }[];
  /** The columns that rows are found by; unique, as far as the database can index them whole. */
  readonly key: readonly string[];
}

export interface UpdateFrom {
  readonly table: string;
  readonly from: string;
  readonly on: string;
  /** Unquoted column names of `table` with their new values, in this order. */
  readonly set: readonly (readonly [column: string, term: string])[];
  readonly where: string;
}

/**
 * A database that holds tables of the user. Everything that differs between databases is here; the statements are in
 * `statements.ts`. `term` is an SQL expression. Nothing outlives a transaction: no setting, no lock.
 */
export interface Database {
  readonly kind: 'sqlite' | 'postgres' | 'mysql';
  /** The file, or host and database: for people, without secrets. */
  readonly place: string;
  /** Whether a transaction can hold CREATE, ALTER and DROP. */
  readonly supportsTransactionalDdl: boolean;

  quote(name: string): string;
  literal(value: Value): string;
  /** A cell as `old` in the crosswalk holds it: equal exactly where the stored values are, as an integer or as text. */
  exact(column: Pick<ColumnFacts, 'holds' | 'type'>, term: string): string;
  /** A value of the crosswalk as the column takes it. */
  stored(column: Pick<ColumnFacts, 'holds' | 'type'>, term: string): string;
  /** The condition that `old` of a crosswalk is the exact value `cell`, using its index. */
  isOld(column: Pick<ColumnFacts, 'holds' | 'type'>, old: string, cell: string): string;
  /** Equality of two cells of one column, NULL equal to NULL. */
  isSame(column: Pick<ColumnFacts, 'holds' | 'type'>, a: string, b: string): string;
  createTable(definition: TableDefinition): readonly string[];
  updateFrom(update: UpdateFrom): string;
  /** Statements that keep other sessions from changing a table until the transaction ends. */
  lockTable(table: string): readonly string[];

  /** Reads the catalog; null if there is no such table. `table`: as configured. */
  introspect(table: string): Promise<TableFacts | null>;
  listTables(): Promise<readonly ListedTable[]>;

  query(sql: string): Promise<readonly (readonly Value[])[]>;
  execute(sql: string): Promise<number>;
  /** Reads a query of any size in batches. Other statements may run between two batches. */
  read(sql: string): AsyncIterable<readonly (readonly Value[])[]>;
  insert(table: string, columns: readonly string[], rows: readonly (readonly Value[])[]): Promise<void>;
  /**
   * Runs work in a transaction. `read`: one snapshot. `write`: each statement sees what was committed before it, or the
   * whole database is locked. It is rolled back if the work throws.
   *
   * @throws SvcError `locked`, `bad_input`, `disk`, `interrupted`
   */
  transaction<T>(mode: 'read' | 'write', work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Runs statements in order; returns the number of rows that they changed. */
export async function executeAll(
  db: Pick<Database, 'execute'>,
  statements: readonly string[],
): Promise<number> {
  let changed = 0;
  for (const statement of statements) changed += await db.execute(statement);
  return changed;
}

export interface Connection {
  readonly signal: AbortSignal;
  readonly runUninterruptible: RunUninterruptible;
  readonly lockTimeoutMs: number;
}

export const LOCK_TIMEOUT_MS = 10_000;

/** @throws SvcError `interrupted` */
export function throwIfAborted({ signal }: Pick<Connection, 'signal'>): void {
  if (!signal.aborted) return;
  throw new SvcError('interrupted', 'Stopped between two steps; no step is half done.', {
    hint: 'Run the same command again, or `svc-migrate apply undo`.',
  });
}

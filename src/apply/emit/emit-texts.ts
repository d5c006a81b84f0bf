import { quoteMysqlIdentifier } from '../dialects/mysql-text.js';
import type { LedgerText, SqlText } from '../engine/dialect.js';
import { createLedgerSql, type Ledger } from '../engine/ledger-tables.js';
import { quoteIdentifier, quoteLiteral } from '../sql-names.js';

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

function literalOr(hex: (bytes: string) => string): (text: string) => string {
  return (text) =>
    PLAIN.test(text) && !text.includes('--') ? quoteLiteral(text) : hex(Buffer.from(text).toString('hex'));
}

const FAILED = 'svc-migrate: nothing was changed: ';

const POSTGRES: EmitText = {
  title: 'PostgreSQL',
  settings: [],
  restore: [],
  begin: 'BEGIN',
  literal: literalOr((bytes) => `convert_from(decode('${bytes}', 'hex'), 'UTF8')`),
  now: `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  types: { old: 'text', text: 'text', value: 'text', row: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY' },
  longestOld: 2000,
  keyType: (type) => type,
  staging: (name, ledger) => `${quoteIdentifier(ledger.name)}.${name}`,
  createLedger: (dialect, ledger) => [
    `CREATE SCHEMA IF NOT EXISTS ${quoteIdentifier(ledger.name)}`,
    ...createLedgerSql(dialect, ledger),
  ],
  lock: (tables, { run }) => [
    `LOCK TABLE ${run} IN SHARE ROW EXCLUSIVE MODE`,
    `LOCK TABLE ${tables.join(', ')} IN SHARE ROW EXCLUSIVE MODE`,
    'SET CONSTRAINTS ALL DEFERRED',
  ],
  countColumns: ({ table, name, type }) => {
    // Names of other types depend on the search path.
    const isType =
      type === null || type.includes('.')
        ? ''
        : ` AND format_type(atttypid, atttypmod) = ${quoteLiteral(type)}`;
    return `(SELECT count(*) FROM pg_catalog.pg_attribute WHERE attrelid = to_regclass(${quoteLiteral(table)})
  AND attname = ${quoteLiteral(name)} AND NOT attisdropped${isType})`;
  },
  addColumn: (table, column, type) => [
    `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${quoteIdentifier(column)} ${type}`,
  ],
  dropColumn: (table, column) => [`ALTER TABLE ${table} DROP COLUMN ${quoteIdentifier(column)}`],
  analyze: (table) => [`ANALYZE ${table}`],
  // The text cannot be cast to an integer: PostgreSQL's error message quotes it.
  raise: (checks) =>
    `SELECT CAST('${FAILED}' || string_agg(problem || ' (' || failed || ')', '; ') AS integer)
FROM ${checks} WHERE failed > 0 HAVING count(*) > 0`,
  rollBackIf: () => [],
  newCell: (_, id) => id,
};

const SQLITE: EmitText = {
  title: 'SQLite',
  settings: [],
  restore: [],
  begin: 'BEGIN IMMEDIATE',
  literal: literalOr((bytes) => `CAST(x'${bytes}' AS TEXT)`),
  now: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
  types: { old: 'TEXT', text: 'TEXT', value: '', row: 'INTEGER PRIMARY KEY' },
  longestOld: Number.POSITIVE_INFINITY,
  keyType: () => '',
  staging: (name) => `svc_migrate_${name}`,
  createLedger: createLedgerSql,
  lock: () => ['PRAGMA defer_foreign_keys = ON'],
  countColumns: ({ table, name, type }) => {
    const isType = type === null ? '' : ` AND type = ${quoteLiteral(type === 'without type' ? '' : type)}`;
    return `(SELECT count(*) FROM pragma_table_info(${quoteLiteral(table)}) WHERE name = ${quoteLiteral(name)} COLLATE NOCASE${isType})`;
  },
  addColumn: (table, column, type) => [
    `ALTER TABLE ${quoteIdentifier(table)} ADD COLUMN ${quoteIdentifier(column)} ${type}`.trim(),
  ],
  dropColumn: (table, column) => [
    `ALTER TABLE ${quoteIdentifier(table)} DROP COLUMN ${quoteIdentifier(column)}`,
  ],
  analyze: () => [],
  // The text is not a JSON path: SQLite's error message quotes it.
  raise: (checks) =>
    `SELECT json_extract('{}', '${FAILED}' || problem || ' (' || failed || ')') FROM ${checks} WHERE failed > 0`,
  // A run without a name is refused.
  rollBackIf: (condition, { run }) => [`INSERT OR ROLLBACK INTO ${run}(run) SELECT NULL WHERE ${condition}`],
  newCell: (cell, id) => `CASE typeof(${cell}) WHEN 'text' THEN ${id} ELSE CAST(${id} AS INTEGER) END`,
};

/** Runs a statement if a condition holds; MySQL has no IF outside of stored programs. */
function runIf(condition: string, statement: string): string[] {
  return [
    `SET @svc_migrate = (SELECT IF(${condition}, ${MYSQL.literal(statement)}, 'DO 0'))`,
    'PREPARE svc_migrate FROM @svc_migrate',
    'EXECUTE svc_migrate',
    'DEALLOCATE PREPARE svc_migrate',
  ];
}

const MYSQL: EmitText = {
  title: 'MySQL and MariaDB',
  settings: [
    "SET @svc_migrate_mode = @@SESSION.sql_mode, @svc_migrate_safe = @@SESSION.sql_safe_updates, SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION sql_safe_updates = 0",
  ],
  restore: ['SET SESSION sql_mode = @svc_migrate_mode, SESSION sql_safe_updates = @svc_migrate_safe'],
  begin: null,
  literal: literalOr((bytes) => `CONVERT(x'${bytes}' USING utf8mb4)`),
  now: "DATE_FORMAT(UTC_TIMESTAMP(3), '%Y-%m-%dT%H:%i:%s.%fZ')",
  types: {
    old: 'varbinary(255)',
    text: 'varchar(700)',
    value: 'longtext',
    row: 'bigint NOT NULL AUTO_INCREMENT PRIMARY KEY',
  },
  longestOld: 255,
  keyType: (type) => type,
  staging: (name) => `svc_migrate_${name}`,
  // The script may run twice: the second time, the view exists.
  createLedger: (dialect, ledger) =>
    createLedgerSql({ ...dialect, createLedgerView: 'CREATE OR REPLACE VIEW' }, ledger),
  // Every row and the gaps between them: others can neither change nor add rows.
  lock: (tables) => tables.map((table) => `SELECT count(*) FROM ${quoteMysqlIdentifier(table)} FOR UPDATE`),
  countColumns: ({ table, name, type }) => {
    const isType =
      type === null ? '' : ` AND COLUMN_TYPE = ${quoteLiteral(type.split(' CHARACTER SET ')[0] ?? '')}`;
    return `(SELECT count(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()
  AND TABLE_NAME = ${quoteLiteral(table)} AND COLUMN_NAME = ${quoteLiteral(name)}${isType})`;
  },
  addColumn: (table, column, type) =>
    runIf(
      `${MYSQL.countColumns({ table, name: column, type: null })} = 0`,
      `ALTER TABLE ${quoteMysqlIdentifier(table)} ADD COLUMN ${quoteMysqlIdentifier(column)} ${type}`,
    ),
  dropColumn: (table, column) => [
    `ALTER TABLE ${quoteMysqlIdentifier(table)} DROP COLUMN ${quoteMysqlIdentifier(column)}`,
  ],
  analyze: () => [],
  // `problem` is unique: MySQL's error message quotes the value that would be there twice.
  raise: (checks) =>
    `INSERT INTO ${checks}(problem, failed) SELECT problem, failed FROM (SELECT problem, failed FROM ${checks} WHERE failed > 0) AS c`,
  rollBackIf: () => [],
  newCell: (_, id) => id,
};

/** By the kind of the target. */
export const EMIT_TEXTS: Readonly<Record<SqlText['kind'], EmitText>> = {
  postgres: POSTGRES,
  sqlite: SQLITE,
  mysql: MYSQL,
};

import { literalFormatter } from '../emit/emit-texts.js';
import type { EmitText } from '../engine/dialect.js';
import { createLedgerSql } from '../engine/ledger-tables.js';
import { quoteMysqlIdentifier } from './mysql-text.js';

/** Statements that run another one if a condition holds: MySQL has no IF outside stored programs. */
function runIf(condition: string, statement: string): string[] {
  return [
    `SET @svc_migrate = (SELECT IF(${condition}, ${MYSQL_EMIT.literal(statement)}, 'DO 0'))`,
    'PREPARE svc_migrate FROM @svc_migrate',
    'EXECUTE svc_migrate',
    'DEALLOCATE PREPARE svc_migrate',
  ];
}

/** SQL text for scripts of `--emit-sql`. */
export const MYSQL_EMIT: EmitText = {
  title: 'MySQL and MariaDB',
  settings: [
    "SET @svc_migrate_mode = @@SESSION.sql_mode, @svc_migrate_safe = @@SESSION.sql_safe_updates, SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION sql_safe_updates = 0",
  ],
  restore: ['SET SESSION sql_mode = @svc_migrate_mode, SESSION sql_safe_updates = @svc_migrate_safe'],
  begin: null,
  literal: literalFormatter((bytes) => `CONVERT(x'${bytes}' USING utf8mb4)`),
  now: "DATE_FORMAT(UTC_TIMESTAMP(3), '%Y-%m-%dT%H:%i:%s.%fZ')",
  types: {
    text: 'varchar(700)',
    value: 'longtext',
    row: 'bigint NOT NULL AUTO_INCREMENT PRIMARY KEY',
  },
  longestOld: 255,
  keyType: (type) => type,
  // The script may run twice.
  createLedger: (dialect, ledger) =>
    createLedgerSql({ ...dialect, createLedgerView: 'CREATE OR REPLACE VIEW' }, ledger),
  // Every row and the gaps between them: others can neither change nor add rows.
  lock: (tables) => tables.map((table) => `SELECT count(*) FROM ${quoteMysqlIdentifier(table)} FOR UPDATE`),
  countColumns: ({ table, name, type }) => {
    const isType =
      type === null ? '' : ` AND COLUMN_TYPE = ${MYSQL_EMIT.literal(type.split(' CHARACTER SET ')[0] ?? '')}`;
    return `(SELECT count(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()
  AND TABLE_NAME = ${MYSQL_EMIT.literal(table)} AND COLUMN_NAME = ${MYSQL_EMIT.literal(name)}${isType})`;
  },
  addColumn: (table, column, type) =>
    runIf(
      `${MYSQL_EMIT.countColumns({ table, name: column, type: null })} = 0`,
      `ALTER TABLE ${quoteMysqlIdentifier(table)} ADD COLUMN ${quoteMysqlIdentifier(column)} ${type}`,
    ),
  analyze: () => [],
  // `problem` is unique: MySQL's error message quotes the value that would be there twice.
  raise: (checks) =>
    `INSERT INTO ${checks}(problem, failed) SELECT problem, failed FROM (SELECT problem, failed FROM ${checks} WHERE failed > 0) AS c`,
  rollBackIf: () => [],
  oldLiteral: (old) => MYSQL_EMIT.literal(old),
  newLiteral: (_, result) => MYSQL_EMIT.literal(result),
};

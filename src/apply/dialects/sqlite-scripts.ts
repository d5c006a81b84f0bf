import type { EmitText } from '../emit/emit-texts.js';
import { FAILURE_PREFIX, literalFormatter } from '../emit/emit-texts.js';
import { createLedgerSql } from '../engine/ledger-tables.js';
import { quoteIdentifier, quoteLiteral } from '../sql-names.js';

/** SQL text for scripts of `--emit-sql`. */
export const SQLITE_EMIT: EmitText = {
  title: 'SQLite',
  settings: [],
  restore: [],
  begin: 'BEGIN IMMEDIATE',
  literal: literalFormatter((bytes) => `CAST(x'${bytes}' AS TEXT)`),
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
  analyze: () => [],
  // Fails on purpose: the text is not a JSON path, and SQLite's error message quotes it.
  raise: (checks) =>
    `SELECT json_extract('{}', '${FAILURE_PREFIX}' || problem || ' (' || failed || ')') FROM ${checks} WHERE failed > 0`,
  // `run` is NOT NULL, so the INSERT fails.
  rollBackIf: (condition, { run }) => [`INSERT OR ROLLBACK INTO ${run}(run) SELECT NULL WHERE ${condition}`],
  newCell: (cell, id) => `CASE typeof(${cell}) WHEN 'text' THEN ${id} ELSE CAST(${id} AS INTEGER) END`,
};

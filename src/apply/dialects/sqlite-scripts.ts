import { FAILURE_PREFIX, literalFormatter } from '../emit/emit-texts.js';
import type { EmitText } from '../engine/dialect.js';
import { createLedgerSql } from '../engine/ledger-tables.js';
import { writesPlatformId } from '../engine/platform-ids.js';
import { quoteIdentifier } from '../sql-names.js';
import { integerSql } from './sqlite-text.js';

/** A literal for a value as `exactText` has it. */
function markedLiteral(marked: string): string {
  const value = marked.slice(1);
  if (marked.startsWith('i')) return integerSql(BigInt(value));
  return marked.startsWith('b') ? `x'${value}'` : SQLITE_EMIT.literal(value);
}

/** SQL text for scripts of `--emit-sql`. */
export const SQLITE_EMIT: EmitText = {
  title: 'SQLite',
  settings: [],
  restore: [],
  begin: 'BEGIN IMMEDIATE',
  literal: literalFormatter((bytes) => `CAST(x'${bytes}' AS TEXT)`),
  now: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
  types: { text: 'TEXT', value: '', row: 'INTEGER PRIMARY KEY' },
  longestOld: Number.POSITIVE_INFINITY,
  keyType: () => '',
  createLedger: createLedgerSql,
  lock: () => ['PRAGMA defer_foreign_keys = ON'],
  countColumns: ({ table, name, type }) => {
    const isType =
      type === null ? '' : ` AND type = ${SQLITE_EMIT.literal(type === 'without type' ? '' : type)}`;
    return `(SELECT count(*) FROM pragma_table_info(${SQLITE_EMIT.literal(table)}) WHERE name = ${SQLITE_EMIT.literal(name)} COLLATE NOCASE${isType})`;
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
  oldLiteral: markedLiteral,
  newLiteral: (old, result, id) =>
    old.startsWith('i') && !writesPlatformId(id) ? markedLiteral(`i${result}`) : SQLITE_EMIT.literal(result),
};

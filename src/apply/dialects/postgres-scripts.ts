import { FAILURE_PREFIX, literalFormatter } from '../emit/emit-texts.js';
import type { EmitText } from '../engine/dialect.js';
import { createLedgerSql } from '../engine/ledger-tables.js';
import { quoteIdentifier } from '../sql-names.js';

/** SQL text for scripts of `--emit-sql`. */
export const POSTGRES_EMIT: EmitText = {
  title: 'PostgreSQL',
  settings: [],
  restore: [],
  begin: 'BEGIN',
  literal: literalFormatter((bytes) => `convert_from(decode('${bytes}', 'hex'), 'UTF8')`),
  now: `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  types: { text: 'text', value: 'text', row: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY' },
  longestOld: 2000,
  keyType: (type) => type,
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
    // How the other types are written depends on the search path.
    const isType =
      type === null || type.includes('.')
        ? ''
        : ` AND format_type(atttypid, atttypmod) = ${POSTGRES_EMIT.literal(type)}`;
    return `(SELECT count(*) FROM pg_catalog.pg_attribute WHERE attrelid = to_regclass(${POSTGRES_EMIT.literal(table)})
  AND attname = ${POSTGRES_EMIT.literal(name)} AND NOT attisdropped${isType})`;
  },
  addColumn: (table, column, type) => [
    `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${quoteIdentifier(column)} ${type}`,
  ],
  analyze: (table) => [`ANALYZE ${table}`],
  // The cast fails on purpose: PostgreSQL's error message quotes the text.
  raise: (checks) =>
    `SELECT CAST('${FAILURE_PREFIX}' || string_agg(problem || ' (' || failed || ')', ', ') AS integer)
FROM ${checks} WHERE failed > 0 HAVING count(*) > 0`,
  rollBackIf: () => [],
  oldLiteral: (old) => POSTGRES_EMIT.literal(old),
  newLiteral: (_, result) => POSTGRES_EMIT.literal(result),
};

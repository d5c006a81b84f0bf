import type { EmitText, LedgerText, SqlText } from '../engine/dialect.js';
import { mapKey } from '../engine/id-maps.js';
import { createLedgerSql } from '../engine/ledger-tables.js';
import { INT64 } from '../engine/parking.js';
import { writesPlatformId } from '../engine/platform-ids.js';
import { quoteIdentifier } from '../sql-names.js';
import { FAILURE_PREFIX, literalFormatter, SHARED_TEXT, updateFromSql } from './shared-text.js';

/** An integer literal. SQLite would parse the smallest 64-bit integer, written in decimal, as a real. */
export function integerSql(value: bigint): string {
  return value === INT64[0] ? '(-9223372036854775807 - 1)' : `(${value})`;
}

const typeMark = (term: string) => `CASE typeof(${term}) WHEN 'integer' THEN 'i' ELSE 't' END`;

/** SQLite's SQL for the shared operations. The ledger stores cells and keys with their own types. */
export const SQLITE_TEXT: SqlText & LedgerText = {
  ...SHARED_TEXT,
  kind: 'sqlite',
  quote: quoteIdentifier,
  foldName: (name) => name.toLowerCase(),
  tableSql: quoteIdentifier,
  declaredType: (type) => (type === 'without type' ? '' : type),
  platformIdType: { type: 'TEXT', maxChars: null, allowsNulCharacter: true },
  temporary: (name) => `temp.${name}`,
  asText: (term) => `CAST(${term} AS TEXT)`,
  // A real is equal to an integer, and is no id: as the bytes of its text it differs from both. An expression has neither
  // affinity nor collation, with which SQLite would not use the index of a map.
  exact: (term) => `iif(typeof(${term}) = 'real', CAST(CAST(${term} AS TEXT) AS BLOB), ${term})`,
  fromMap: (term) => term,
  ledgerTable: (name, { prefix }) => `${prefix}${name}`,
  // Without types: values keep their own.
  createMap: (map) => {
    const key = mapKey(map, SQLITE_TEXT);
    const drop = map.isKept ? [] : [`DROP TABLE IF EXISTS ${map.table}`];
    const columns = [...key, 'new', 'keep', 'fill'];
    return [
      ...drop,
      `CREATE TABLE ${map.table}(${columns.join(', ')}, PRIMARY KEY (${key.join(', ')}, fill)) WITHOUT ROWID`,
    ];
  },
  indexMap: () => [],
  // Reals become text, so that `42.0` is not taken for 42; JSON, and text that ids stand in, becomes a blob of the
  // same bytes.
  asCell: ({ path, pattern }, term) =>
    path === undefined && pattern === undefined
      ? `CASE typeof(${term}) WHEN 'integer'
          THEN iif(${term} BETWEEN -9007199254740991 AND 9007199254740991, ${term}, CAST(${term} AS TEXT))
          WHEN 'real' THEN CAST(${term} AS TEXT) ELSE ${term} END`
      : `CASE typeof(${term}) WHEN 'text' THEN CAST(${term} AS BLOB) WHEN 'null' THEN NULL
          ${path === undefined ? `WHEN 'integer' THEN CAST(${term} AS TEXT)` : ''} ELSE 0 END`,
  groupsCells: false,
  asEntry: (term) => term,
  fromEntry: (term) => term,
  typeMark,
  exactText: (term) =>
    `iif(typeof(${term}) = 'blob', 'b' || hex(${term}), ${typeMark(term)} || CAST(${term} AS TEXT))`,
  isSame: (one, other) => `(${one} IS ${other} COLLATE BINARY)`,
  // The first comparison uses the index of the column, the second is exact: keys that are equal in the collation of
  // the column may differ in that of an index.
  isKey: (column, value) => `${column} = ${value} AND ${column} = ${value} COLLATE BINARY`,
  // `+` removes the affinity, with which SQLite would scan all entries for each row instead of using the index.
  keySql: (terms) => {
    const plain = terms.map((term) => `+${term}`);
    return plain.length === 1 ? (plain[0] ?? '') : `json_array(${plain.join(', ')})`;
  },
  keyPart: ({ key }, rowKey, at) => (key.length === 1 ? rowKey : `json_extract(${rowKey}, '$[${at}]')`),
  keyName: (rowKey) => `CAST(${rowKey} AS TEXT)`,
  inPairs: (pairs) => `(VALUES ${pairs.join(', ')})`,
  updateFrom: (update) => updateFromSql(quoteIdentifier(update.table), update),
  // BEGIN IMMEDIATE has locked the whole database.
  lockRows: null,
  ddlCommits: false,
  integersOf: (term) => ({
    lowest: `min(${term})`,
    highest: `max(${term})`,
    where: `typeof(${term}) = 'integer'`,
  }),
  endsWith: (_, term, suffix) =>
    `typeof(${term}) = 'text' AND substr(${term}, -${suffix.length}) = '${suffix}'`,
  parkedValue: (_, at, { integers, suffix }) => {
    const text = `w.row_no || '${suffix}'`;
    if (integers === null) return text;
    const integer = `${integerSql(integers.base)} ${integers.sign} w.row_no`;
    return suffix === null ? integer : `iif(typeof(w.o${at}) = 'text', ${text}, ${integer})`;
  },
  ledgerTypes: {
    number: 'INTEGER',
    column: 'INTEGER',
    text: 'TEXT',
    json: 'TEXT',
    boolean: 'INTEGER',
    // No affinity, as ANY in a STRICT table has, which migration tools do not know.
    rowKey: 'BLOB',
    value: 'BLOB',
  },
  keepsTypes: false,
  createLedgerView: 'CREATE VIEW IF NOT EXISTS',
  jsonItem: (list, at) => `json_extract(${list}, '$[' || ${at} || ']')`,
  tableOptions: '',
  // SQLite assigns the ids.
  nextEntry: () => 'NULL',
  isTableOfRun: 'table_name = $1 COLLATE NOCASE',
  isTableName: () => true,
  isTypeName: () => true,
  foreignLedgerHint: 'Rename it first.',
};

/** A literal for a value as `exactText` has it. */
function markedLiteral(marked: string): string {
  const value = marked.slice(1);
  if (marked.startsWith('i')) return integerSql(BigInt(value));
  return marked.startsWith('b') ? `x'${value}'` : SQLITE_EMIT.literal(value);
}

/** SQL text for scripts of `apply sql`. */
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

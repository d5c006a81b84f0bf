import type { EmitText, SqlText } from '../engine/dialect.js';
import { writesPlatformId } from '../engine/id-columns.js';
import { mapKey } from '../engine/id-maps.js';
import { INT64 } from '../engine/parking.js';
import { FAILURE_PREFIX, literalFormatter, quoteIdentifier, updateFromSql } from './shared-text.js';

/** An integer literal. SQLite would parse the smallest 64-bit integer, written in decimal, as a real. */
export function integerSql(value: bigint): string {
  return value === INT64[0] ? '(-9223372036854775807 - 1)' : `(${value})`;
}

const typeMark = (term: string) => `CASE typeof(${term}) WHEN 'integer' THEN 'i' ELSE 't' END`;

const literal = literalFormatter((bytes) => `CAST(x'${bytes}' AS TEXT)`);

/** SQLite's SQL for the shared operations. The ledger stores cells and keys with their own types. */
export const SQLITE_TEXT: SqlText = {
  kind: 'sqlite',
  quote: quoteIdentifier,
  literal,
  foldName: (name) => name.toLowerCase(),
  tableSql: quoteIdentifier,
  ledgerTable: (name, { prefix }) => `${prefix}${name}`,
  isTableName: () => true,
  types: { number: 'INTEGER', text: 'TEXT', flag: 'INTEGER' },
  tableOptions: '',
  declaredType: (type) => (type === 'without type' ? '' : type),
  platformIdType: { type: 'TEXT', maxChars: null, allowsNulCharacter: true },
  temporary: (name) => `temp.${name}`,
  asText: (term) => `CAST(${term} AS TEXT)`,
  // A real is equal to an integer, and is no id: as the bytes of its text it differs from both. An expression has neither
  // affinity nor collation, with which SQLite would not use the index of a map.
  exact: (term) => `iif(typeof(${term}) = 'real', CAST(CAST(${term} AS TEXT) AS BLOB), ${term})`,
  same: (one, other) => `${one} IS ${other} COLLATE BINARY`,
  // The first comparison uses the index: `+` removes an affinity, with which SQLite could not. The second is exact: keys
  // that are equal in the collation of the column may differ in that of an index.
  isKey: (indexed, value) => `${indexed} = +${value} AND ${indexed} = ${value} COLLATE BINARY`,
  keyName: (terms) =>
    terms.length === 1 ? (terms[0] ?? '') : terms.map((term) => `CAST(${term} AS TEXT)`).join(" || ', ' || "),
  cast: (term) => term,
  // BLOB: values keep their own types.
  createMap: (map) => {
    const key = mapKey(map, SQLITE_TEXT);
    const drop = map.isKept ? [] : [`DROP TABLE IF EXISTS ${map.table}`];
    const columns = [...key, 'new', 'keep', 'fill'];
    return [
      ...drop,
      `CREATE TABLE ${map.table}(${columns.join(' BLOB, ')} INTEGER, PRIMARY KEY (${key.join(', ')}, fill)) WITHOUT ROWID`,
    ];
  },
  indexMap: () => [],
  createRows: (list, { columns, flags }) => {
    const all = [...columns.map(({ name }) => `${name} BLOB`), ...flags.map((name) => `${name} INTEGER`)];
    return [`CREATE TABLE IF NOT EXISTS ${list}(id INTEGER PRIMARY KEY, ${all.join(', ')})`];
  },
  rowsLoaded: () => [],
  rowNumber: null,
  createView: (view, query) => [`DROP VIEW IF EXISTS ${view}`, `CREATE VIEW ${view} AS ${query}`],
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
  typeMark,
  exactText: (term) =>
    `iif(typeof(${term}) = 'blob', 'b' || hex(${term}), ${typeMark(term)} || CAST(${term} AS TEXT))`,
  updateFrom: updateFromSql,
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
  parkedValue: (_, { number, own }, { integers, suffix }) => {
    const text = `${number} || '${suffix}'`;
    if (integers === null) return text;
    const integer = `${integerSql(integers.base)} ${integers.sign} ${number}`;
    return suffix === null ? integer : `iif(typeof(${own}) = 'text', ${text}, ${integer})`;
  },
  isTableOfRun: 'table_name = $1 COLLATE NOCASE',
  foreignLedgerHint: 'Rename it first.',
};

/** A literal for a value as `exactText` has it. */
function markedLiteral(marked: string): string {
  const value = marked.slice(1);
  if (marked.startsWith('i')) return integerSql(BigInt(value));
  return marked.startsWith('b') ? `x'${value}'` : literal(value);
}

/** SQL text for scripts of `apply sql`. */
export const SQLITE_EMIT: EmitText = {
  title: 'SQLite',
  settings: [],
  restore: [],
  begin: 'BEGIN IMMEDIATE',
  now: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
  problemType: 'TEXT',
  longestOld: Number.POSITIVE_INFINITY,
  createSchema: () => [],
  lock: () => ['PRAGMA defer_foreign_keys = ON'],
  countColumns: ({ table, name, type }) => {
    const isType = type === null ? '' : ` AND type = ${literal(type === 'without type' ? '' : type)}`;
    return `(SELECT count(*) FROM pragma_table_info(${literal(table)}) WHERE name = ${literal(name)} COLLATE NOCASE${isType})`;
  },
  addColumn: (table, column, type) => [
    `ALTER TABLE ${quoteIdentifier(table)} ADD COLUMN ${quoteIdentifier(column)} ${type}`.trim(),
  ],
  // Fails on purpose: the text is not a JSON path, and SQLite's error message quotes it.
  raise: (checks) =>
    `SELECT json_extract('{}', '${FAILURE_PREFIX}' || problem || ' (' || failed || ')') FROM ${checks} WHERE failed > 0`,
  runIf: (_, statement) => [statement],
  // `run` is NOT NULL, so the INSERT fails.
  rollBackIf: (condition, { run }) => [`INSERT OR ROLLBACK INTO ${run}(run) SELECT NULL WHERE ${condition}`],
  oldLiteral: markedLiteral,
  newLiteral: (old, result, id) =>
    old.startsWith('i') && !writesPlatformId(id) ? markedLiteral(`i${result}`) : literal(result),
};

import type { EmitText, SqlText, UpdateFrom } from '../engine/dialect.js';
import { isLongMap, mapKey } from '../engine/id-maps.js';
import { literalFormatter, quoteLiteral } from './shared-text.js';

/** Bytes of a row's key in the ledger; InnoDB indexes at most 3072. */
export const MAX_KEY_BYTES = 3000;

export function quoteMysqlIdentifier(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

/** A string literal for the `sql_mode` of our sessions, in which a backslash escapes. */
export function quoteMysqlLiteral(text: string): string {
  return quoteLiteral(text.replaceAll('\\', '\\\\'));
}

/** A value as the bytes of its text: collations may ignore case, accents and trailing spaces; binary strings compare exactly. */
export function exactBytes(term: string): string {
  return `CAST(CONVERT(${term} USING utf8mb4) AS BINARY)`;
}

/** A text or its bytes, converted to the type of a column, so that a comparison can use the column's index. */
export function asMysqlType(term: string, type: string): string {
  const text = `CONVERT(${term} USING utf8mb4)`;
  const [, charset, collation] = / CHARACTER SET (\w+) COLLATE (\w+)$/.exec(type) ?? [];
  if (charset !== undefined) return `CONVERT(${text} USING ${charset}) COLLATE ${collation ?? ''}`;
  const [, decimal] = /^decimal(\(\d+,\d+\))/.exec(type) ?? [];
  if (decimal !== undefined) return `CAST(${text} AS DECIMAL${decimal})`;
  if (/^[a-z]*int\b/.test(type)) return `CAST(${text} AS ${type.includes('unsigned') ? 'UN' : ''}SIGNED)`;
  if (type === 'date') return `CAST(${text} AS DATE)`;
  const [, digits = ''] = /^(?:datetime|timestamp)(\(\d\))?$/.exec(type) ?? [null, null];
  if (digits !== null) return `CAST(${text} AS DATETIME${digits})`;
  return type === 'json' ? `CAST(${text} AS JSON)` : text;
}

function updateMysql({
  table,
  set,
  from,
  where,
  autoUpdated = [],
  isTableFirst = false,
}: UpdateFrom): string {
  const cell = (name: string) => `t.${quoteMysqlIdentifier(name)}`;
  const changes = [
    ...set.map(([column, term]) => `${cell(column)} = ${term}`),
    ...autoUpdated.map((column) => `${cell(column)} = ${cell(column)}`),
  ];
  const tables = [from, `${table} AS t`];
  const join = (isTableFirst ? tables.reverse() : tables).join(' STRAIGHT_JOIN ');
  return `UPDATE ${join} SET ${changes.join(', ')} WHERE ${where}`;
}

/** Whether values of a type are compared as they are: equal integers are the same to the byte. */
function isNative(type: string): boolean {
  return /^(?:tiny|small|medium|big)?int\b/.test(type) && !type.includes('zerofill');
}

const shownText = (term: string) => `CONVERT(${term} USING utf8mb4)`;
const literal = literalFormatter((bytes) => `CONVERT(x'${bytes}' USING utf8mb4)`);
const exact = (term: string, { type }: { readonly type: string }) =>
  isNative(type) ? term : exactBytes(term);

/** The type of a column of a list. Long text that need not be indexed is kept beside its row, which has a size limit. */
function listType(type: string, isKey: boolean): string {
  const [, length, charset] = /^varchar\((\d+)\)( CHARACTER SET .*)$/.exec(type) ?? [];
  return isKey || length === undefined || Number(length) <= 768 ? type : `longtext${charset}`;
}

/** SQL of MySQL and MariaDB for the shared operations. */
export const MYSQL_TEXT: SqlText = {
  kind: 'mysql',
  quote: quoteMysqlIdentifier,
  literal,
  foldName: (name) => name.toLowerCase(),
  tableSql: quoteMysqlIdentifier,
  ledgerTable: (name, { prefix }) => `${prefix}${name}`,
  isTableName: (name) => name.length > 0,
  types: { number: 'bigint', text: 'longtext', flag: 'tinyint' },
  tableOptions: ' ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin',
  declaredType: (type) => type,
  // Longer columns cannot be indexed as a whole.
  platformIdType: {
    type: 'varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
    maxChars: 255,
    allowsNulCharacter: true,
  },
  temporary: (name) => name,
  asText: exactBytes,
  exact,
  same: (one, other, type) => `${exact(one, { type })} <=> ${exact(other, { type })}`,
  // The first comparison uses the index, the second is exact.
  isKey: (indexed, value) =>
    `${indexed} = ${value} AND CAST(${indexed} AS BINARY) = CAST(${value} AS BINARY)`,
  keyName: (terms) =>
    terms.length === 1 ? shownText(terms[0] ?? '') : `CONCAT_WS(', ', ${terms.map(shownText).join(', ')})`,
  cast: (term, type) => (isNative(type) ? term : asMysqlType(term, type)),
  createMap: (map) => {
    const [old = '', ...scopes] = mapKey(map, MYSQL_TEXT);
    const isLong = isLongMap(map);
    const type = isNative(map.column.type) ? map.column.type : isLong ? 'LONGBLOB' : 'VARBINARY(255)';
    const columns = [
      `${old} ${type}`,
      ...scopes.map((name) => `${name} VARBINARY(255)`),
      `new ${isNative(map.newType) ? map.newType : 'LONGTEXT'}, keep TINYINT, fill INT`,
      `KEY (${old}${isLong ? '(255)' : ''})`,
    ];
    const end = `(${columns.join(', ')}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`;
    if (map.isKept) return [`CREATE TABLE IF NOT EXISTS ${map.table}${end}`];
    return [`DROP TEMPORARY TABLE IF EXISTS ${map.table}`, `CREATE TEMPORARY TABLE ${map.table}${end}`];
  },
  indexMap: () => [],
  createRows: (list, { columns, flags, index }) => {
    const all = [
      'id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY',
      ...columns.map(({ name, type, isKey }) => `${name} ${listType(type, isKey)}`),
      ...flags.map((name) => `${name} tinyint`),
      `KEY (${index.join(', ')})`,
    ];
    return [
      `CREATE TABLE IF NOT EXISTS ${list}(${all.join(', ')}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
    ];
  },
  rowsLoaded: () => [],
  rowNumber: null,
  createView: (view, query) => [`CREATE OR REPLACE VIEW ${view} AS ${query}`],
  asCell: (_, term) => exactBytes(term),
  // Grouping in a temporary table on disk costs more than looking every row up.
  groupsCells: false,
  typeMark: () => "''",
  exactText: exactBytes,
  updateFrom: updateMysql,
  lockRows: 'FOR UPDATE',
  ddlCommits: true,
  integersOf: (term) => ({
    lowest: `coalesce(min(CAST(${shownText(term)} AS DECIMAL(65))), 0)`,
    highest: `coalesce(max(CAST(${shownText(term)} AS DECIMAL(65))), 0)`,
    where: 'TRUE',
  }),
  endsWith: ({ holds }, term, suffix) => {
    const end = holds === 'json' ? `${suffix}"` : suffix;
    return `RIGHT(${exactBytes(term)}, ${end.length}) = '${end}'`;
  },
  parkedValue: ({ type, holds }, { number }, { integers, suffix }) => {
    if (integers !== null)
      return asMysqlType(`(CAST('${integers.base}' AS DECIMAL(65)) ${integers.sign} ${number})`, type);
    const text = `CONCAT(${number}, '${suffix}')`;
    return asMysqlType(holds === 'json' ? `JSON_QUOTE(${text})` : text, type);
  },
  isTableOfRun: 'table_name = $1',
  foreignLedgerHint: 'Rename it first.',
};

/** Statements that run another one if a condition holds: MySQL has no IF outside stored programs. */
function runIf(condition: string, statement: string): string[] {
  return [
    `SET @svc_migrate = (SELECT IF(${condition}, ${literal(statement)}, 'DO 0'))`,
    'PREPARE svc_migrate FROM @svc_migrate',
    'EXECUTE svc_migrate',
    'DEALLOCATE PREPARE svc_migrate',
  ];
}

/** SQL text for scripts of `apply sql`. */
export const MYSQL_EMIT: EmitText = {
  title: 'MySQL and MariaDB',
  settings: [
    "SET @svc_migrate_mode = @@SESSION.sql_mode, @svc_migrate_safe = @@SESSION.sql_safe_updates, SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION sql_safe_updates = 0",
  ],
  restore: ['SET SESSION sql_mode = @svc_migrate_mode, SESSION sql_safe_updates = @svc_migrate_safe'],
  begin: null,
  now: "DATE_FORMAT(UTC_TIMESTAMP(3), '%Y-%m-%dT%H:%i:%s.%fZ')",
  problemType: 'varchar(700)',
  longestOld: 255,
  createSchema: () => [],
  // Every row and the gaps between them: others can neither change nor add rows.
  lock: (tables) => tables.map((table) => `SELECT count(*) FROM ${quoteMysqlIdentifier(table)} FOR UPDATE`),
  countColumns: ({ table, name, type }) => {
    const isType =
      type === null ? '' : ` AND COLUMN_TYPE = ${literal(type.split(' CHARACTER SET ')[0] ?? '')}`;
    return `(SELECT count(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()
  AND TABLE_NAME = ${literal(table)} AND COLUMN_NAME = ${literal(name)}${isType})`;
  },
  addColumn: (table, column, type) =>
    runIf(
      `${MYSQL_EMIT.countColumns({ table, name: column, type: null })} = 0`,
      `ALTER TABLE ${quoteMysqlIdentifier(table)} ADD COLUMN ${quoteMysqlIdentifier(column)} ${type}`,
    ),
  // `problem` is unique: MySQL's error message quotes the value that would be there twice.
  raise: (checks) =>
    `INSERT INTO ${checks}(problem, failed) SELECT problem, failed FROM (SELECT problem, failed FROM ${checks} WHERE failed > 0) AS c`,
  runIf,
  rollBackIf: () => [],
  oldLiteral: (old) => literal(old),
  newLiteral: (_, result) => literal(result),
};

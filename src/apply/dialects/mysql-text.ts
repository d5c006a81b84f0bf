import type { EmitText, LedgerText, SqlText, UpdateFrom } from '../engine/dialect.js';
import { isLongMap, mapKey } from '../engine/id-maps.js';
import { createLedgerSql } from '../engine/ledger-tables.js';
import { quoteLiteral } from '../sql-names.js';
import { literalFormatter } from './shared-text.js';

/** Bytes of a row's key in the ledger; InnoDB indexes at most 3072. */
export const MAX_KEY_BYTES = 3000;

const TYPE_NAME =
  /^[a-z]+(?:\(\d+(?:,\d+)?\))?(?: unsigned)?(?: zerofill)?(?: CHARACTER SET \w+ COLLATE \w+)?$/;

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

/** `autoUpdated`: columns to keep, which the server would set to the time of the UPDATE. */
export function updateMysql(
  { table, set, from, where, isTableFirst = false }: Omit<UpdateFrom, 'part'>,
  autoUpdated: readonly string[],
): string {
  const cell = (name: string) => `t.${quoteMysqlIdentifier(name)}`;
  const changes = [
    ...set.map(([column, term]) => `${cell(column)} = ${term}`),
    ...autoUpdated.map((column) => `${cell(column)} = ${cell(column)}`),
  ];
  const tables = [from, `${quoteMysqlIdentifier(table)} AS t`];
  const join = (isTableFirst ? tables.reverse() : tables).join(' STRAIGHT_JOIN ');
  return `UPDATE ${join} SET ${changes.join(', ')} WHERE ${where}`;
}

/** Whether values of a type are compared as they are: equal integers are the same to the byte. */
function isNative(type: string): boolean {
  return /^(?:tiny|small|medium|big)?int\b/.test(type) && !type.includes('zerofill');
}

const ledgerText = (term: string) => `CONVERT(${term} USING utf8mb4)`;

/** SQL of MySQL and MariaDB for the shared operations. The ledger stores values as text, and keys as the bytes of their text. */
export const MYSQL_TEXT: SqlText & LedgerText = {
  kind: 'mysql',
  quote: quoteMysqlIdentifier,
  foldName: (name) => name.toLowerCase(),
  tableSql: quoteMysqlIdentifier,
  declaredType: (type) => type,
  // Longer columns cannot be indexed as a whole.
  platformIdType: {
    type: 'varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin',
    maxChars: 255,
    allowsNulCharacter: true,
  },
  temporary: (name) => name,
  // Without TEMPORARY it would end the transaction.
  dropTemporary: (name) => `DROP TEMPORARY TABLE IF EXISTS ${name}`,
  createValues: (name, query) =>
    `CREATE TEMPORARY TABLE ${name}(value LONGBLOB NOT NULL, KEY (value(64))) ENGINE=InnoDB AS ${query}`,
  // MySQL uses an index only in an UPDATE that joins the table.
  markParked: (list, values, at) =>
    `UPDATE ${list} AS w JOIN ${values} AS v ON v.value = w.o${at} SET w.parked = TRUE`,
  deleteEntries: (entry, where) => `DELETE e FROM ${entry} AS e WHERE ${where}`,
  asText: exactBytes,
  exact: (term, { type }) => (isNative(type) ? term : exactBytes(term)),
  fromMap: (term, { newType }) => (isNative(newType) ? term : asMysqlType(term, newType)),
  ledgerTable: (name, { prefix }) => `${prefix}${name}`,
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
  asCell: (_, term) => exactBytes(term),
  // Grouping in a temporary table on disk costs more than looking every row up.
  groupsCells: false,
  asEntry: exactBytes,
  fromEntry: asMysqlType,
  typeMark: () => "''",
  exactText: exactBytes,
  isSame: (one, other) => `(${exactBytes(one)} <=> CAST(${other} AS BINARY))`,
  // The first comparison uses the index of the column, the second is exact.
  isKey: (column, value) => `${column} = ${value} AND CAST(${column} AS BINARY) = CAST(${value} AS BINARY)`,
  keySql: (terms) =>
    terms.length === 1
      ? exactBytes(terms[0] ?? '')
      : `CAST(JSON_ARRAY(${terms.map((term) => `CONVERT(${term} USING utf8mb4)`).join(', ')}) AS BINARY)`,
  keyPart: ({ key, keyTypes }, rowKey, at) => {
    const text = ledgerText(rowKey);
    const part = key.length === 1 ? text : `JSON_UNQUOTE(JSON_EXTRACT(${text}, '$[${at}]'))`;
    return asMysqlType(part, keyTypes[at] ?? '');
  },
  keyName: ledgerText,
  inPairs: (pairs) => `(${pairs.join(', ')})`,
  updateFrom: (update) => updateMysql(update, []),
  lockRows: 'FOR UPDATE',
  ddlCommits: true,
  integersOf: (term) => ({
    lowest: `coalesce(min(CAST(${ledgerText(term)} AS DECIMAL(65))), 0)`,
    highest: `coalesce(max(CAST(${ledgerText(term)} AS DECIMAL(65))), 0)`,
    where: 'TRUE',
  }),
  endsWith: ({ holds }, term, suffix) => {
    const end = holds === 'json' ? `${suffix}"` : suffix;
    return `RIGHT(${exactBytes(term)}, ${end.length}) = '${end}'`;
  },
  parkedValue: ({ type, holds }, _, { integers, suffix }) => {
    if (integers !== null)
      return asMysqlType(`(CAST('${integers.base}' AS DECIMAL(65)) ${integers.sign} w.row_no)`, type);
    const text = `CONCAT(w.row_no, '${suffix}')`;
    return asMysqlType(holds === 'json' ? `JSON_QUOTE(${text})` : text, type);
  },
  ledgerTypes: {
    number: 'bigint',
    column: 'int',
    text: 'longtext',
    json: 'longtext',
    boolean: 'tinyint',
    rowKey: `varbinary(${MAX_KEY_BYTES})`,
    value: 'longtext',
  },
  keepsTypes: true,
  // OR REPLACE would need the privilege to drop tables.
  createLedgerView: 'CREATE VIEW',
  jsonItem: (list, at) => `JSON_UNQUOTE(JSON_EXTRACT(${list}, CONCAT('$[', ${at}, ']')))`,
  tableOptions: ' ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin',
  // Without it, joins by key compare every row with every entry.
  entryIndex: ', KEY row_key (row_key)',
  // `lockLedger` sets it to the last id. A window function, or reading the ledger, would copy all rows first.
  nextEntry: () => '@svc_migrate_entry := @svc_migrate_entry + 1',
  isTableOfRun: 'table_name = $1',
  isTableName: (name) => name.length > 0,
  isTypeName: (name) => TYPE_NAME.test(name),
  foreignLedgerHint: 'Rename it first.',
};

/** Statements that run another one if a condition holds: MySQL has no IF outside stored programs. */
function runIf(condition: string, statement: string): string[] {
  return [
    `SET @svc_migrate = (SELECT IF(${condition}, ${MYSQL_EMIT.literal(statement)}, 'DO 0'))`,
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

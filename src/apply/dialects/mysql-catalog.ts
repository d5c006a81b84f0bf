import type { MysqlTarget } from '../../config/apply-targets.js';
import { groupBy } from '../../text/rows.js';
import type { Cells } from '../engine/dialect.js';
import { addedColumns } from '../engine/id-columns.js';
import {
  type ForeignKey,
  type ListedTable,
  missingTable,
  type TableColumn,
  type TableFacts,
  type UniqueColumns,
} from '../engine/table-facts.js';
import { blocks, blocksOf, type Mode, type Note } from '../plan.js';
import type { MysqlSession } from './mysql-session.js';
import { quoteMysqlIdentifier } from './shared-text.js';

/** Every table and view of the connection's database, except the ledger. */
export async function listMysqlTables(session: MysqlSession): Promise<ListedTable[]> {
  const sql = `SELECT TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'svc\\_migrate\\_%' ORDER BY 1`;
  const { rows } = await session.query(sql);
  return rows.map(([name, kind]) => ({ name: name ?? '', obstacle: kind === 'VIEW' ? 'a view' : null }));
}

/** Reads the catalog on a table of the connection's database; a missing table gets a note and no columns. */
export async function readMysqlFacts(session: MysqlSession, target: MysqlTarget): Promise<TableFacts> {
  const read = async (sql: string, values: readonly string[] = []) => (await session.query(sql, values)).rows;
  const tables = await read(TABLES);
  const isFolded = (await session.one('SELECT @@lower_case_table_names')) !== '0';
  const isNamed = ([name]: Cells) =>
    name === target.table || (isFolded && name?.toLowerCase() === target.table.toLowerCase());
  const [table, kind, engine, isTransactional] = tables.find(isNamed) ?? [];
  if (typeof table !== 'string')
    return missingTable(target.table, await listMysqlTables(session), ' in this database');
  const checks = await readChecks(session, table);
  const described = await read(COLUMNS, [table]);
  const columns = described.map((cells) => describeColumn(cells, checks));
  const uniques = describeUniques(await read(UNIQUES, [table]), columns);
  const autoUpdated = described
    .filter(([, , , , extra]) => extra?.includes('on update') === true)
    .map(([name]) => name ?? '');
  return {
    table,
    kind: kind === 'BASE TABLE' || kind === 'SYSTEM VERSIONED' ? 'table' : (kind ?? '').toLowerCase(),
    columns,
    keys: keysOf(uniques, columns).filter((key) => !key.some((name) => autoUpdated.includes(name))),
    uniques,
    foreignKeys: await readForeignKeys(session, table),
    triggers: (await read(TRIGGERS, [table])).map(([name]) => `trigger ${name ?? ''}`),
    autoUpdated,
    rowIds: [],
    notes: blocksOf({
      system_versioned:
        kind === 'SYSTEM VERSIONED' && `${table} is system-versioned: its history would keep the V3 ids.`,
      engine:
        kind !== 'VIEW' &&
        isTransactional !== 'YES' &&
        `${table} uses ${engine}, which has no transactions: ALTER TABLE … ENGINE=InnoDB.`,
    }),
  };
}

const TABLES = `
  SELECT t.TABLE_NAME, t.TABLE_TYPE, t.ENGINE, e.TRANSACTIONS FROM information_schema.TABLES t
    LEFT JOIN information_schema.ENGINES e ON e.ENGINE = t.ENGINE WHERE t.TABLE_SCHEMA = DATABASE() ORDER BY 1`;

const COLUMNS = `
  SELECT COLUMN_NAME, COLUMN_TYPE, DATA_TYPE, IS_NULLABLE, EXTRA, CHARACTER_SET_NAME, COLLATION_NAME, CHARACTER_MAXIMUM_LENGTH
  FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = $1 ORDER BY ORDINAL_POSITION`;

const INTEGER_BITS: Readonly<Record<string, bigint>> = {
  tinyint: 8n,
  smallint: 16n,
  mediumint: 24n,
  int: 32n,
  bigint: 64n,
};
const TEXT_TYPES = new Set(['char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext']);

function describeColumn(
  [name, type, data, nullable, extra, charset, collation, length]: Cells,
  checks: readonly string[],
): TableColumn {
  const declared = type ?? '';
  const base = data ?? '';
  return {
    name: name ?? '',
    type: charset === null ? declared : `${declared} CHARACTER SET ${charset} COLLATE ${collation}`,
    holds: holdsOf(base, declared),
    isNullable: nullable === 'YES',
    isGenerated: /\b(?:VIRTUAL|STORED|PERSISTENT)\b/.test(extra ?? ''),
    isChecked: checks.some((clause) => clause.includes(quoteMysqlIdentifier(name ?? '').toLowerCase())),
    range: rangeOf(base, declared),
    maxChars: base === 'char' || base === 'varchar' ? Number(length) : null,
  };
}

/** The check constraints of a table in lower case, except those that only require valid JSON. */
async function readChecks(session: MysqlSession, table: string): Promise<string[]> {
  // In MariaDB, names of check constraints are unique only within a table.
  const isMariaDb = (await session.one('SELECT version()'))?.includes('MariaDB') === true;
  const sql = `SELECT LOWER(c.CHECK_CLAUSE) FROM information_schema.TABLE_CONSTRAINTS t
      JOIN information_schema.CHECK_CONSTRAINTS c ON c.CONSTRAINT_SCHEMA = t.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = t.CONSTRAINT_NAME
        ${isMariaDb ? 'AND c.TABLE_NAME = t.TABLE_NAME' : ''}
    WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME = $1 AND t.CONSTRAINT_TYPE = 'CHECK'`;
  const { rows } = await session.query(sql, [table]);
  return rows.map(([clause]) => clause ?? '').filter((clause) => !/^\(*json_valid\(`[^`]*`\)+$/.test(clause));
}

function holdsOf(base: string, type: string): TableColumn['holds'] {
  // A zero-filled integer reads as text with leading zeros, and ids have none.
  if (type.includes('zerofill')) return 'other';
  if (base in INTEGER_BITS || base === 'decimal') return 'integer';
  if (TEXT_TYPES.has(base)) return 'text';
  return base === 'json' ? 'json' : 'other';
}

function rangeOf(base: string, type: string): TableColumn['range'] {
  const isUnsigned = type.includes('unsigned');
  const bits = INTEGER_BITS[base];
  if (bits !== undefined)
    return isUnsigned ? [0n, 2n ** bits - 1n] : [-(2n ** (bits - 1n)), 2n ** (bits - 1n) - 1n];
  const [, precision = '10', scale = '0'] = /^decimal\((\d+),(\d+)\)/.exec(type) ?? [];
  if (base !== 'decimal') return null;
  const highest = 10n ** BigInt(Math.max(0, Number(precision) - Number(scale))) - 1n;
  return [isUnsigned ? 0n : -highest, highest];
}

const UNIQUES = `
  SELECT INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS
  WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = $1 AND NON_UNIQUE = 0
  ORDER BY INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`;

/** An index on an expression or a generated column may depend on any column, so it lists all of them. */
function describeUniques(rows: readonly Cells[], columns: readonly TableColumn[]): UniqueColumns[] {
  return [...groupByFirst(rows)].map(([name, parts]) => {
    const names = parts.map(([, column]) => column ?? '');
    const isComputed = !names.every((one) =>
      columns.some((column) => column.name === one && !column.isGenerated),
    );
    return {
      name: name === 'PRIMARY' ? 'the primary key' : name,
      columns: isComputed ? columns.map((column) => column.name) : names,
      isPlain: !isComputed && parts.every(([, , prefix]) => prefix === null),
    };
  });
}

const groupByFirst = (rows: readonly Cells[]) => groupBy(rows, ([first]) => first ?? '');

const KEY_TYPE =
  /^(?:(?:tiny|small|medium|big)?int\b|decimal|date$|datetime|timestamp|(?:var)?char\(\d+\) CHARACTER SET)/;

/** Keys whose values the ledger can keep: no binary strings, floating-point numbers, enums or sets. */
function keysOf(uniques: readonly UniqueColumns[], columns: readonly TableColumn[]): (readonly string[])[] {
  const isUsable = (name: string) =>
    columns.some((one) => one.name === name && !one.isNullable && KEY_TYPE.test(one.type));
  return uniques
    .filter(({ isPlain, columns: key }) => isPlain && key.every(isUsable))
    .map((one) => one.columns);
}

const FOREIGN_KEYS = `
  SELECT CONCAT(k.TABLE_SCHEMA, '.', k.TABLE_NAME, '.', k.CONSTRAINT_NAME), k.CONSTRAINT_NAME, k.COLUMN_NAME, k.REFERENCED_COLUMN_NAME,
    IF(k.TABLE_SCHEMA = DATABASE(), k.TABLE_NAME, CONCAT(k.TABLE_SCHEMA, '.', k.TABLE_NAME)),
    IF(k.REFERENCED_TABLE_SCHEMA = DATABASE(), k.REFERENCED_TABLE_NAME, CONCAT(k.REFERENCED_TABLE_SCHEMA, '.', k.REFERENCED_TABLE_NAME)),
    r.UPDATE_RULE, IF(k.REFERENCED_TABLE_SCHEMA = DATABASE(), NULL, k.REFERENCED_TABLE_SCHEMA), k.REFERENCED_TABLE_NAME
  FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r
    ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME
  WHERE k.TABLE_SCHEMA = DATABASE() AND k.TABLE_NAME = $1 AND k.REFERENCED_TABLE_NAME IS NOT NULL
    OR k.REFERENCED_TABLE_SCHEMA = DATABASE() AND k.REFERENCED_TABLE_NAME = $1
  ORDER BY 1, k.ORDINAL_POSITION`;

/** A foreign key, and the table it refers to as SQL. */
export interface MysqlForeignKey extends ForeignKey {
  readonly parentSql: string;
}

/** Foreign keys of a table, and those that refer to it, also from and to other databases of the server. */
export async function readForeignKeys(session: MysqlSession, table: string): Promise<MysqlForeignKey[]> {
  const { rows } = await session.query(FOREIGN_KEYS, [table]);
  return [...groupByFirst(rows).values()].flatMap((parts) => {
    const [, name, , , child, parent, rule, schema, parentName] = parts[0] ?? [];
    const parentParts = [...(typeof schema === 'string' ? [schema] : []), parentName ?? ''];
    const [from, to] = [2, 3].map((at) => parts.map((part) => part[at] ?? ''));
    const directions = [
      ...(child === table ? ['out' as const] : []),
      ...(parent === table ? ['in' as const] : []),
    ];
    return directions.map((direction) => ({
      name: name ?? '',
      direction,
      columns: (direction === 'out' ? from : to) ?? [],
      otherTable: (direction === 'out' ? parent : child) ?? '',
      otherColumns: (direction === 'out' ? to : from) ?? [],
      onUpdate: rule === 'CASCADE' ? 'cascade' : (rule ?? '').startsWith('SET') ? 'set' : 'none',
      // As `deferForeignKeys` does.
      isDeferrable: 'linked',
      parentSql: parentParts.map(quoteMysqlIdentifier).join('.'),
    }));
  });
}

const TRIGGERS = `
  SELECT TRIGGER_NAME FROM information_schema.TRIGGERS
  WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = $1 AND EVENT_MANIPULATION = 'UPDATE' ORDER BY 1`;

const LEDGER_NAMES = "'svc_migrate_run', 'svc_migrate_ledger'";

/** Existing objects that have names of the ledger: a table with its columns, anything else with its type. */
export async function readMysqlLedger(session: MysqlSession): Promise<ReadonlyMap<string, string>> {
  // Both sides are limited by constants: MariaDB would otherwise open every table of every database for each of the names.
  const sql = `SELECT SUBSTRING(t.TABLE_NAME, 13), t.TABLE_TYPE, c.COLUMN_NAME, c.COLUMN_TYPE FROM information_schema.TABLES t
      JOIN information_schema.COLUMNS c ON c.TABLE_NAME = t.TABLE_NAME
    WHERE t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME IN (${LEDGER_NAMES})
      AND c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME IN (${LEDGER_NAMES})
    ORDER BY t.TABLE_NAME, c.ORDINAL_POSITION`;
  const { rows } = await session.query(sql);
  // MariaDB shows the widths of integers, newer versions of MySQL do not.
  const typeOf = (type: string) => type.replace(/^([a-z]*int)\(\d+\)/, '$1');
  return new Map(
    [...groupByFirst(rows)].map(([name, columns]) => [
      name,
      columns[0]?.[1] === 'VIEW'
        ? 'view'
        : columns.map(([, , column, type]) => `${column} ${typeOf(type ?? '')}`).join(', '),
    ]),
  );
}

/** Properties of the server that prevent writing. */
async function serverNotes(session: MysqlSession): Promise<Note[]> {
  const sql = 'SELECT version(), @@read_only, @@log_bin, @@binlog_format';
  const { rows } = await session.query(sql);
  const [version, readOnly, logs, format] = rows[0] ?? [];
  return blocksOf({
    old_server:
      isOld(version ?? '') && `Version ${version} is too old: MySQL 8.0.21 or MariaDB 10.5 is needed.`,
    read_only_server: readOnly !== '0' && 'This server is read-only (read_only): connect to the primary.',
    binlog_format:
      logs === '1' &&
      format === 'STATEMENT' &&
      'binlog_format=STATEMENT cannot log READ COMMITTED transactions: set it to MIXED or ROW.',
  });
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  const number = major * 1_000_000 + minor * 1000 + patch;
  return number < (version.includes('MariaDB') ? 10_005_000 : 8_000_021);
}

/** MySQL refuses longer names. */
const MAX_NAME_CHARS = 64;

/** Notes on the server, on privileges and on keys that prevent or affect a rewrite. */
export async function mysqlObstacles(
  session: MysqlSession,
  facts: TableFacts,
  target: MysqlTarget,
  mode: Mode,
): Promise<Note[]> {
  const added = addedColumns(mode, target.ids);
  const tooLong = added
    .filter((name) => name.length > MAX_NAME_CHARS)
    .map((name) => blocks('new_column_name', `"${name}" is too long for a column: set "newColumn".`));
  const server = await serverNotes(session);
  if (facts.notes.some(({ code }) => code === 'unknown_table')) return [...server, ...tooLong];
  const names = target.ids
    .map((id) => id.column)
    .filter((name) => facts.columns.some((one) => one.name === name));
  return [
    ...server,
    ...(await privilegeNotes(session, facts.table, mode === 'in_place' ? names : [], added)),
    ...tooLong,
  ];
}

/**
 * Missing privileges; none if the user has a role, whose privileges the catalog does not list. `columns`: those to update;
 * `added`: new ones, which are filled.
 */
async function privilegeNotes(
  session: MysqlSession,
  table: string,
  columns: readonly string[],
  added: readonly string[],
): Promise<Note[]> {
  const { rows: users } = await session.query('SELECT CURRENT_ROLE(), CURRENT_USER()');
  const [role, user] = users[0] ?? [];
  if (typeof role === 'string' && role !== 'NONE' && role !== '') return [];
  const { rows } = await session.query(PRIVILEGES);
  const may = (privilege: string, of: string | null, column: string | null = null) =>
    rows.some(
      ([name, onTable, onColumn]) =>
        name === privilege &&
        (onTable === null || onTable === of) &&
        (onColumn === null || onColumn === column),
    );
  const adds = added.length > 0;
  const mayRead = may('SELECT', table);
  const ledgerRights = LEDGER_RIGHTS.join(', ');
  const lacks = {
    'may not update these columns: GRANT UPDATE.': !columns.every((column) => may('UPDATE', table, column)),
    [`may not add a column: GRANT ALTER${columns.length > 0 ? '' : ', or use --in-place'}.`]:
      adds && !may('ALTER', table),
    'may not fill the new column: GRANT UPDATE on the whole table.': adds && !may('UPDATE', table),
    'may not create temporary tables: GRANT CREATE TEMPORARY TABLES.': !may('CREATE TEMPORARY TABLES', null),
    [`cannot keep the ledger, which has tables for each run: GRANT ${ledgerRights} on the database.`]:
      !LEDGER_RIGHTS.every((privilege) => may(privilege, null)),
  };
  return [
    ...blocksOf({ no_select: !mayRead && 'The user may not read this table: GRANT SELECT.' }),
    ...Object.entries(lacks).flatMap(([text, applies]) =>
      applies ? [blocks('privilege', `User ${user ?? ''} ${text}`)] : [],
    ),
  ];
}

/** `'user'@'host'` as the catalog has it. */
const ME = `CONCAT('\\'', REPLACE(CURRENT_USER(), '@', '\\'@\\''), '\\'')`;
/** Privileges with the table and column they are limited to. */
const PRIVILEGES = `
  SELECT PRIVILEGE_TYPE, NULL, NULL FROM information_schema.USER_PRIVILEGES WHERE GRANTEE = ${ME}
  UNION ALL SELECT PRIVILEGE_TYPE, NULL, NULL FROM information_schema.SCHEMA_PRIVILEGES
    WHERE GRANTEE = ${ME} AND DATABASE() LIKE TABLE_SCHEMA
  UNION ALL SELECT PRIVILEGE_TYPE, TABLE_NAME, NULL FROM information_schema.TABLE_PRIVILEGES
    WHERE GRANTEE = ${ME} AND TABLE_SCHEMA = DATABASE()
  UNION ALL SELECT PRIVILEGE_TYPE, TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMN_PRIVILEGES
    WHERE GRANTEE = ${ME} AND TABLE_SCHEMA = DATABASE()`;
const LEDGER_RIGHTS = ['CREATE', 'CREATE VIEW', 'DROP', 'SELECT', 'INSERT', 'UPDATE', 'DELETE'];

import { at } from '../../text/at.js';
import { groupBy } from '../../text/rows.js';
import type { ColumnFacts, ForeignKey, ListedTable, Obstacle, TableFacts, Value } from './database.js';

export type MysqlQuery = (sql: string) => Promise<Value[][]>;

export async function listMysqlTables(query: MysqlQuery): Promise<ListedTable[]> {
  const rows = await query(
    'select table_name, table_type from information_schema.tables where table_schema = database() order by 1',
  );
  return rows.map(([name, kind]) => ({
    schema: null,
    name: String(name),
    obstacle: kind === 'VIEW' ? 'a view' : null,
  }));
}

/** Reads the catalog on a table of the connection's database; null if there is none of that name. */
export async function introspectMysql(
  query: MysqlQuery,
  wanted: string,
  literal: (text: string) => string,
): Promise<TableFacts | null> {
  const [server = []] = await query(SERVER);
  const isFolded = server[4] !== 0n;
  const fold = (text: string) => (isFolded ? text.toLowerCase() : text);
  const tables = await query(TABLES);
  const match = tables.find(([name]) => fold(String(name)) === fold(wanted));
  if (match === undefined) return null;
  const [table, kind, engine, hasTransactions] = match.map(String);
  const name = String(table);
  const read = (sql: string) => query(sql.replaceAll('$1', () => literal(name)));
  const described = await read(COLUMNS);
  const columns = described.map(describeColumn);
  const uniques = describeUniques(await read(UNIQUES), columns);
  const triggers = await read(TRIGGERS);
  return {
    table: name,
    schema: null,
    name,
    columns,
    key: uniques.find((unique) => unique.isPlain && isNeverNull(unique.columns, columns))?.columns ?? [],
    uniques,
    foreignKeys: describeForeignKeys(await read(FOREIGN_KEYS), name),
    triggers: triggers.map(([trigger]) => String(trigger)),
    obstacles: [
      ...describeObstacles(name, String(kind), String(engine), hasTransactions === 'YES', server),
      ...describeLimits(name, described),
      ...(await findLostDefiners(query, name, triggers)),
    ],
  };
}

const SERVER = 'select version(), @@read_only, @@log_bin, @@binlog_format, @@lower_case_table_names';

const TABLES = `
  select t.table_name, t.table_type, t.engine, e.transactions from information_schema.tables t
    left join information_schema.engines e on e.engine = t.engine where t.table_schema = database() order by 1`;

const COLUMNS = `
  select column_name, column_type, data_type, is_nullable, extra, character_set_name, collation_name
  from information_schema.columns where table_schema = database() and table_name = $1 order by ordinal_position`;

const INTEGER_TYPES = new Set(['tinyint', 'smallint', 'mediumint', 'int', 'bigint']);
const TEXT_TYPES = new Set(['char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext']);

function describeColumn([
  name,
  type,
  data,
  nullable,
  extra,
  charset,
  collation,
]: readonly Value[]): ColumnFacts {
  const declared = String(type);
  return {
    name: String(name),
    type: charset === null ? declared : `${declared} character set ${charset} collate ${collation}`,
    holds: holdsOf(String(data), declared),
    isNullable: nullable === 'YES',
    isGenerated: /\b(?:VIRTUAL|STORED|PERSISTENT) GENERATED|^(?:VIRTUAL|STORED|PERSISTENT)\b/.test(
      String(extra),
    ),
    isUnsigned: declared.includes('unsigned'),
  };
}

function holdsOf(data: string, declared: string): ColumnFacts['holds'] {
  // A zero-filled integer reads as text with leading zeros.
  if (declared.includes('zerofill')) return 'other';
  if (INTEGER_TYPES.has(data)) return 'integer';
  const [, precision] = /^decimal\((\d+),0\)/.exec(declared) ?? [];
  if (precision !== undefined && Number(precision) <= 18) return 'integer';
  if (TEXT_TYPES.has(data) || data === 'decimal') return 'text';
  return data === 'json' ? 'json' : 'other';
}

const UNIQUES = `
  select index_name, column_name, sub_part from information_schema.statistics
  where table_schema = database() and table_name = $1 and non_unique = 0
  order by index_name <> 'PRIMARY', index_name, seq_in_index`;

type Unique = TableFacts['uniques'][number] & { readonly isPlain: boolean };

/** An index of an expression or a generated column may depend on any column, so it lists all of them. */
function describeUniques(rows: readonly (readonly Value[])[], columns: readonly ColumnFacts[]): Unique[] {
  return [...groupBy(rows, ([name]) => String(name))].map(([name, parts]) => {
    const names = parts.map(([, column]) => String(column));
    const isStored = names.every((part) =>
      columns.some((column) => column.name === part && !column.isGenerated),
    );
    return {
      name: name === 'PRIMARY' ? 'the primary key' : name,
      columns: isStored ? names : columns.map((column) => column.name),
      isPlain: isStored && parts.every(([, , prefix]) => prefix === null),
    };
  });
}

function isNeverNull(names: readonly string[], columns: readonly ColumnFacts[]): boolean {
  return names.every((name) => columns.some((column) => column.name === name && !column.isNullable));
}

const FOREIGN_KEYS = `
  select k.constraint_schema, k.constraint_name, k.column_name, k.referenced_column_name, k.table_name, k.referenced_table_name,
    r.update_rule, k.table_schema = database(), k.referenced_table_schema = database()
  from information_schema.key_column_usage k join information_schema.referential_constraints r
    on r.constraint_schema = k.constraint_schema and r.constraint_name = k.constraint_name and r.table_name = k.table_name
  where k.table_schema = database() and k.table_name = $1 and k.referenced_table_name is not null
    or k.referenced_table_schema = database() and k.referenced_table_name = $1
  order by 1, 5, 2, k.ordinal_position`;

function describeForeignKeys(rows: readonly (readonly Value[])[], table: string): ForeignKey[] {
  const keyOf = (row: readonly Value[]) =>
    JSON.stringify(row.filter((_, index) => [0, 1, 4].includes(index)).map(String));
  return [...groupBy(rows, keyOf).values()].flatMap((parts) => {
    const [, name, , , child, parent, rule, isChildHere, isParentHere] = at(parts, 0);
    const key = (direction: ForeignKey['direction'], position: number): ForeignKey => ({
      name: String(name),
      direction,
      columns: parts.map((part) => String(part[position])),
      otherTable: String(direction === 'out' ? parent : child),
      onUpdate: rule === 'CASCADE' ? 'cascade' : String(rule).startsWith('SET') ? 'set' : 'none',
    });
    return [
      ...(child === table && isChildHere === 1n ? [key('out', 2)] : []),
      ...(parent === table && isParentHere === 1n ? [key('in', 3)] : []),
    ];
  });
}

const TRIGGERS = `
  select trigger_name, definer from information_schema.triggers
  where event_object_schema = database() and event_object_table = $1 and event_manipulation = 'UPDATE' order by 1`;

/** Every update of the table fails if such a trigger fires. Only administrators can read who exists. */
async function findLostDefiners(
  query: MysqlQuery,
  table: string,
  triggers: readonly (readonly Value[])[],
): Promise<Obstacle[]> {
  if (triggers.length === 0) return [];
  const users = await query("select concat(user, '@', host) from mysql.user").catch(() => null);
  if (users === null || users.length === 0) return [];
  return triggers
    .filter(([, definer]) => !users.some(([user]) => user === definer))
    .map(([trigger, definer]) =>
      stop(
        'lost_definer',
        `The trigger ${trigger} of ${table} belongs to ${definer}, who does not exist, so no row can be updated.`,
      ),
    );
}

function describeObstacles(
  table: string,
  kind: string,
  engine: string,
  hasTransactions: boolean,
  [version, readOnly, logs, format]: readonly Value[],
): Obstacle[] {
  if (kind === 'VIEW') return [stop('not_a_table', `${table} is a view: name the table behind it.`)];
  const isReadOnly = readOnly !== 0n && readOnly !== 'OFF';
  const list: readonly (readonly [boolean, string, string])[] = [
    [
      kind === 'SYSTEM VERSIONED',
      'system_versioned',
      `${table} is system-versioned: its history would keep the V3 ids.`,
    ],
    [
      !hasTransactions,
      'engine',
      `${table} uses ${engine}, which has no transactions: ALTER TABLE … ENGINE=InnoDB.`,
    ],
    [
      isOld(String(version)),
      'old_server',
      `Version ${version} is too old: MySQL 8.0.21 or MariaDB 10.5 is needed.`,
    ],
    [isReadOnly, 'read_only_server', 'This server is read-only (read_only): connect to the primary.'],
    [
      logs === 1n && format === 'STATEMENT',
      'binlog_format',
      'binlog_format=STATEMENT cannot log READ COMMITTED transactions: set it to MIXED or ROW.',
    ],
  ];
  return list.flatMap(([applies, code, text]) => (applies ? [stop(code, text)] : []));
}

const MOST_COLUMNS = 1017;
const MAX_NAME_CHARS = 64;

function describeLimits(table: string, described: readonly (readonly Value[])[]): Obstacle[] {
  const names = described.map(([name]) => String(name));
  const updated = described
    .filter((row) => String(row[4]).toLowerCase().includes('on update'))
    .map(([name]) => name);
  return [
    ...(names.length + 2 > MOST_COLUMNS
      ? [
          stop(
            'too_many_columns',
            `${table} has no room for two more columns: InnoDB allows ${MOST_COLUMNS}.`,
          ),
        ]
      : []),
    ...names
      .filter((name) => `${name}_v4`.length > MAX_NAME_CHARS)
      .map((name) => ({ ...stop('long_name', `"${name}_v4" is too long for a column.`), column: name })),
    ...updated.map(
      (name): Obstacle => ({
        stops: 'none',
        code: 'auto_updated',
        text: `${table}.${name} changes with every update of a row (ON UPDATE), so also when ids are written.`,
      }),
    ),
  ];
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  const number = major * 1_000_000 + minor * 1000 + patch;
  return number < (version.includes('MariaDB') ? 10_005_000 : 8_000_021);
}

function stop(code: string, text: string): Obstacle {
  return { stops: 'write', code, text };
}

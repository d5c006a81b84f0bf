import type { ColumnFacts, ListedTable, Obstacle, TableFacts, Value } from './database.js';

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
  const [server = []] = await query('select @@lower_case_table_names');
  const isFolded = server[0] !== 0n;
  const fold = (text: string) => (isFolded ? text.toLowerCase() : text);
  const tables = await query(TABLES);
  const match = tables.find(([name]) => fold(String(name)) === fold(wanted));
  if (match === undefined) return null;
  const [name, kind, engine, hasTransactions] = match.map(String);
  const table = String(name);
  const read = (sql: string) => query(sql.replaceAll('$1', () => literal(table)));
  const columns = (await read(COLUMNS)).map(describeColumn);
  const uniques = await read(UNIQUES);
  return {
    table,
    schema: null,
    name: table,
    columns,
    key: uniques.flatMap(([index, column]) => (index === 'PRIMARY' ? [String(column)] : [])),
    uniqueColumns: uniqueColumns(uniques, columns),
    cascades: (await read(CASCADES)).map(([other, column]) => ({
      table: String(other),
      columns: [String(column)],
    })),
    triggers: (await read(TRIGGERS)).map(([trigger]) => String(trigger)),
    obstacles: describeObstacles(table, String(kind), String(engine), hasTransactions === 'YES'),
  };
}

const TABLES = `
  select t.table_name, t.table_type, t.engine, e.transactions from information_schema.tables t
    left join information_schema.engines e on e.engine = t.engine where t.table_schema = database() order by 1`;

const COLUMNS = `
  select column_name, column_type, data_type, extra, character_set_name, collation_name
  from information_schema.columns where table_schema = database() and table_name = $1 order by ordinal_position`;

const INTEGER_TYPES = new Set(['tinyint', 'smallint', 'mediumint', 'int', 'bigint']);
const TEXT_TYPES = new Set(['char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext']);

function describeColumn([name, type, data, extra, charset, collation]: readonly Value[]): ColumnFacts {
  const declared = String(type);
  return {
    name: String(name),
    type: charset === null ? declared : `${declared} character set ${charset} collate ${collation}`,
    holds: holdsOf(String(data), declared),
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
  select index_name, column_name from information_schema.statistics
  where table_schema = database() and table_name = $1 and non_unique = 0 order by index_name, seq_in_index`;

/** An index of an expression or a generated column may depend on any column. */
function uniqueColumns(
  uniques: readonly (readonly Value[])[],
  columns: readonly ColumnFacts[],
): readonly string[] {
  const names = uniques.map(([, column]) => String(column));
  const isStored = (name: string) => columns.some((column) => column.name === name && !column.isGenerated);
  return names.every(isStored) ? names : columns.map(({ name }) => name);
}

const CASCADES = `
  select k.table_name, k.referenced_column_name
  from information_schema.key_column_usage k join information_schema.referential_constraints r
    on r.constraint_schema = k.constraint_schema and r.constraint_name = k.constraint_name and r.table_name = k.table_name
  where k.referenced_table_schema = database() and k.referenced_table_name = $1
    and r.update_rule not in ('NO ACTION', 'RESTRICT')`;

const TRIGGERS = `
  select trigger_name from information_schema.triggers
  where event_object_schema = database() and event_object_table = $1 and event_manipulation = 'UPDATE' order by 1`;

/** What would be changed silently or could not be rolled back. Missing rights and full rows are errors of the statements. */
function describeObstacles(
  table: string,
  kind: string,
  engine: string,
  hasTransactions: boolean,
): Obstacle[] {
  const stop = (code: string, text: string): Obstacle[] => [{ stops: 'write', code, text }];
  if (kind === 'VIEW') return stop('not_a_table', `${table} is a view: name the table behind it.`);
  if (kind === 'SYSTEM VERSIONED')
    return stop('system_versioned', `${table} is system-versioned: its history would keep the V3 ids.`);
  return hasTransactions
    ? []
    : stop('engine', `${table} uses ${engine}, which has no transactions: ALTER TABLE … ENGINE=InnoDB.`);
}

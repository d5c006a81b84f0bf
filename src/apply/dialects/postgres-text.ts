import type { EmitText, IdMap, SqlText } from '../engine/dialect.js';
import { isLongMap, mapKey } from '../engine/id-maps.js';
import type { Ledger } from '../engine/ledger.js';
import { FAILURE_PREFIX, literalFormatter, quoteIdentifier, updateFromSql } from './shared-text.js';

/** Quoted schema and table. */
const TABLE_NAME = /^"(?:[^"]|"")+"\."(?:[^"]|"")+"$/;
export const OTHER_SCHEMA = 'Name another schema with "ledgerSchema".';

/** Whether values of a type are compared as they are: equal integers are the same to the byte. */
function isNative(type: string): boolean {
  return /^(?:smallint|integer|bigint)$/.test(type);
}

function mapType(type: string): string {
  return isNative(type) ? type : 'text COLLATE "C"';
}

/** `"svc_migrate".map_1_0` → `map_1_0_old` */
function indexName({ table }: IdMap): string {
  return `${table.split('.').at(-1)}_old`;
}

const literal = literalFormatter((bytes) => `convert_from(decode('${bytes}', 'hex'), 'UTF8')`);

const exact = (term: string, { type }: { readonly type: string }) =>
  isNative(type) ? term : `${term}::text COLLATE "C"`;

/** PostgreSQL's SQL for the shared operations. */
export const POSTGRES_TEXT: SqlText = {
  kind: 'postgres',
  quote: quoteIdentifier,
  literal,
  foldName: (name) => name,
  // `TableFacts.table` is already quoted, with its schema.
  tableSql: (table) => table,
  ledgerTable: (name, { name: schema }) => `${quoteIdentifier(schema)}.${name}`,
  isTableName: (name) => TABLE_NAME.test(name),
  types: { number: 'bigint', text: 'text', flag: 'smallint' },
  tableOptions: '',
  declaredType: (type) => type,
  platformIdType: { type: 'text', maxChars: null, allowsNulCharacter: false },
  temporary: (name) => `pg_temp.${name}`,
  asText: (term) => `${term}::text`,
  exact,
  same: (one, other, type) => `${exact(one, { type })} IS NOT DISTINCT FROM ${exact(other, { type })}`,
  isKey: (indexed, value) => `${indexed} = ${value}`,
  keyName: (terms) => `(${terms.map((term) => `${term}::text`).join(" || ', ' || ")}) COLLATE "C"`,
  cast: (term, type) => `(${term})::${type}`,
  createMap: (map) => {
    const columns = [
      `old ${mapType(map.column.type)}`,
      ...mapKey(map, POSTGRES_TEXT)
        .slice(1)
        .map((name) => `${name} text COLLATE "C"`),
      `new ${mapType(map.newType)}, keep smallint, fill integer`,
    ];
    const create = (how: string, end: string) =>
      `CREATE ${how}TABLE ${map.table}(${columns.join(', ')})${end}`;
    if (map.isKept) return [create('', '')];
    return [`DROP TABLE IF EXISTS ${map.table}`, create('TEMP ', ' ON COMMIT DROP')];
  },
  // Only a hash index takes texts of any length. It lies in the schema of its table.
  indexMap: (map) => [
    ...(map.isKept
      ? [
          isLongMap(map)
            ? `CREATE INDEX IF NOT EXISTS ${indexName(map)} ON ${map.table} USING hash (old)`
            : `CREATE INDEX IF NOT EXISTS ${indexName(map)} ON ${map.table} (${mapKey(map, POSTGRES_TEXT).join(', ')})`,
        ]
      : []),
    `ANALYZE ${map.table}`,
  ],
  // Like the columns of the table, with their types and collations.
  createRows: (list, { table, columns, flags }) => {
    const terms = [
      '0::bigint AS id',
      ...columns.map(({ name, of, type }) => `${of ?? `NULL::${type}`} AS ${name}`),
      ...flags.map((name) => `0::smallint AS ${name}`),
    ];
    return [
      `CREATE TABLE IF NOT EXISTS ${list} AS SELECT ${terms.join(', ')} FROM ${table} WHERE false`,
      // A publication may be of all tables.
      `ALTER TABLE ${list} REPLICA IDENTITY FULL`,
    ];
  },
  rowsLoaded: (list) => [
    `CREATE UNIQUE INDEX IF NOT EXISTS ${list.split('.').at(-1)}_id ON ${list} (id)`,
    `ANALYZE ${list}`,
  ],
  rowNumber: 'row_number() OVER ()',
  createView: (view, query) => [`CREATE OR REPLACE VIEW ${view} AS ${query}`],
  asCell: (_, term) => `${term}::text`,
  groupsCells: true,
  typeMark: () => `''::text`,
  exactText: (term) => `${term}::text`,
  updateFrom: updateFromSql,
  lockRows: 'FOR UPDATE OF t',
  ddlCommits: false,
  // NaN sorts above infinity.
  integersOf: (term) => ({
    lowest: `coalesce(floor(min(${term}::numeric)), 0)::text`,
    highest: `coalesce(ceil(max(${term}::numeric)), 0)::text`,
    where: `${term}::numeric > '-Infinity' AND ${term}::numeric < 'Infinity'`,
  }),
  endsWith: ({ holds }, term, suffix) => {
    const end = holds === 'json' ? `${suffix}"` : suffix;
    return `right(${term}::text, ${end.length}) = '${end}'`;
  },
  parkedValue: ({ type, holds }, { number }, { integers, suffix }) => {
    if (integers !== null) return `((${integers.base})::numeric ${integers.sign} ${number})::${type}`;
    const text = `(${number} || '${suffix}')`;
    return `${holds === 'json' ? `to_json(${text})` : text}::${type}`;
  },
  isTableOfRun: 'table_name = $1',
  foreignLedgerHint: OTHER_SCHEMA,
};

/** The ledger in a schema. */
export function ledgerIn(schema: string): Ledger {
  const s = quoteIdentifier(schema);
  return {
    name: schema,
    prefix: `${schema}.`,
    run: `${s}.run`,
    view: `${s}.ledger`,
  };
}

/** SQL text for scripts of `apply sql`. */
export const POSTGRES_EMIT: EmitText = {
  title: 'PostgreSQL',
  settings: [],
  restore: [],
  begin: 'BEGIN',
  now: `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  problemType: 'text',
  longestOld: 2000,
  createSchema: ({ name }) => [`CREATE SCHEMA IF NOT EXISTS ${quoteIdentifier(name)}`],
  lock: (tables, { run }) => [
    `LOCK TABLE ${run} IN SHARE ROW EXCLUSIVE MODE`,
    `LOCK TABLE ${tables.join(', ')} IN SHARE ROW EXCLUSIVE MODE`,
    'SET CONSTRAINTS ALL DEFERRED',
  ],
  countColumns: ({ table, name, type }) => {
    // How the other types are written depends on the search path.
    const isType =
      type === null || type.includes('.') ? '' : ` AND format_type(atttypid, atttypmod) = ${literal(type)}`;
    return `(SELECT count(*) FROM pg_catalog.pg_attribute WHERE attrelid = to_regclass(${literal(table)})
  AND attname = ${literal(name)} AND NOT attisdropped${isType})`;
  },
  addColumn: (table, column, type) => [
    `ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS ${quoteIdentifier(column)} ${type}`,
  ],
  // The cast fails on purpose: PostgreSQL's error message quotes the text.
  raise: (checks) =>
    `SELECT CAST('${FAILURE_PREFIX}' || string_agg(problem || ' (' || failed || ')', ', ') AS integer)
FROM ${checks} WHERE failed > 0 HAVING count(*) > 0`,
  runIf: (_, statement) => [statement],
  rollBackIf: () => [],
  oldLiteral: (old) => literal(old),
  newLiteral: (_, result) => literal(result),
};

import type { EmitText, IdMap, LedgerText, SqlText } from '../engine/dialect.js';
import { isLongMap, mapKey } from '../engine/id-maps.js';
import type { Ledger } from '../engine/ledger.js';
import { createLedgerSql } from '../engine/ledger-tables.js';
import { quoteIdentifier } from '../sql-names.js';
import { FAILURE_PREFIX, literalFormatter, SHARED_TEXT, updateFromSql } from './shared-text.js';

/** Quoted schema and table. */
const TABLE_NAME = /^"(?:[^"]|"")+"\."(?:[^"]|"")+"$/;
const TYPE_NAME =
  /^(?:"(?:[^"]|"")+"|[a-z_][a-z0-9_ ]*)(?:\.(?:"(?:[^"]|"")+"|[a-z_][a-z0-9_]*))?(?:\(\d+(?:,-?\d+)?\))?(?:\[\])*$/;

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

/** PostgreSQL's SQL for the shared operations. The ledger stores values as texts and keys as arrays of texts. */
export const POSTGRES_TEXT: SqlText & LedgerText = {
  ...SHARED_TEXT,
  kind: 'postgres',
  quote: quoteIdentifier,
  foldName: (name) => name,
  // `TableFacts.table` is already quoted, with its schema.
  tableSql: (table) => table,
  declaredType: (type) => type,
  platformIdType: { type: 'text', maxChars: null, allowsNulCharacter: false },
  temporary: (name) => `pg_temp.${name}`,
  asText: (term) => `${term}::text`,
  exact: (term, { type }) => (isNative(type) ? term : `${term}::text COLLATE "C"`),
  fromMap: (term, { newType }) => (isNative(newType) ? term : `(${term})::${newType}`),
  ledgerTable: (name, { name: schema }) => `${quoteIdentifier(schema)}.${name}`,
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
  asCell: (_, term) => `${term}::text`,
  groupsCells: true,
  asEntry: (term) => `${term}::text`,
  fromEntry: (term, type) => `(${term})::${type}`,
  typeMark: () => `''::text`,
  exactText: (term) => `${term}::text`,
  isSame: (one, other) => `(${one}::text IS NOT DISTINCT FROM ${other})`,
  isKey: (column, value) => `${column} = ${value}`,
  keySql: (terms) => `ARRAY[${terms.map((term) => `${term}::text`).join(', ')}]`,
  keyPart: ({ keyTypes }, rowKey, at) => `(${rowKey}[${at + 1}])::${keyTypes[at]}`,
  keyName: (rowKey) => `array_to_string(${rowKey}, ', ')`,
  inPairs: (pairs) => `(${pairs.join(', ')})`,
  updateFrom: (update) => updateFromSql(update.table, update),
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
  parkedValue: ({ type, holds }, _, { integers, suffix }) => {
    if (integers !== null) return `((${integers.base})::numeric ${integers.sign} w.row_no)::${type}`;
    const text = `(w.row_no || '${suffix}')`;
    return `${holds === 'json' ? `to_json(${text})` : text}::${type}`;
  },
  ledgerTypes: {
    number: 'bigint',
    column: 'integer',
    text: 'text',
    json: 'jsonb',
    boolean: 'boolean',
    rowKey: 'text[]',
    value: 'text',
  },
  keepsTypes: true,
  createLedgerView: 'CREATE OR REPLACE VIEW',
  jsonItem: (list, at) => `${list} ->> ${at}`,
  tableOptions: '',
  nextEntry: ({ entry }) => `(SELECT coalesce(max(id), 0) FROM ${entry}) + row_number() OVER ()`,
  isTableOfRun: 'table_name = $1',
  isTableName: (name) => TABLE_NAME.test(name),
  isTypeName: (name) => TYPE_NAME.test(name),
  foreignLedgerHint: OTHER_SCHEMA,
};

/** The ledger in a schema. */
export function ledgerIn(schema: string): Ledger {
  const s = quoteIdentifier(schema);
  return {
    name: schema,
    prefix: `${schema}.`,
    run: `${s}.run`,
    entry: `${s}.entry`,
    skipped: `${s}.skipped`,
    view: `${s}.ledger`,
  };
}

/** SQL text for scripts of `apply sql`. */
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

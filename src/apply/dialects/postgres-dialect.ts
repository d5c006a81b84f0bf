import type { PostgresTarget, TableTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ApplyContext, DataStore } from '../context.js';
import type { Cells, Dialect, EmitText, Engine, IdMap, MapSource, SqlText } from '../engine/dialect.js';
import { isLongMap, mapKey } from '../engine/id-maps.js';
import { cellText, judgeCells } from '../engine/judge-cells.js';
import { ledgerNotes, readRunsOfTable } from '../engine/ledger-runs.js';
import { ledgerIn, OTHER_SCHEMA, type TableFacts } from '../engine/table-facts.js';
import { blocks, type Note } from '../plan.js';
import { listPgTables, obstacleNotes, readPgFacts } from './postgres-catalog.js';
import { PgSession } from './postgres-session.js';
import { openServerStore } from './server-session.js';
import { FAILURE_PREFIX, literalFormatter, quoteIdentifier, updateFromSql } from './shared-text.js';

/** Opens the tables of one PostgreSQL database. */
export function openPostgresStore(context: ApplyContext, targets: readonly PostgresTarget[]): DataStore {
  const open = (source: PostgresTarget) => new PgSession(context, source);
  return openServerStore(targets, open, (session) => postgresEngine(context, session));
}

function asPostgres(target: TableTarget): PostgresTarget {
  if (target.kind === 'postgres') return target;
  throw new Error(`${target.name} is no PostgreSQL table`);
}

/** The cost of a batch must depend on its own size, not on the size of the table. */
const PLAN_BY_ROW =
  'SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_bitmapscan = off';

export function postgresEngine(context: ApplyContext, session: PgSession): Engine {
  const dialect: Dialect = {
    ...POSTGRES_TEXT,
    emit: POSTGRES_EMIT,
    readLedger: async ({ name }, table) => ({
      shape: await readPostgresLedger(session, name),
      notes: table === undefined ? [] : await ledgerOwnerNotes(session, name, table),
    }),
    // The transaction's snapshot is taken by its first query, after this lock.
    lockLedger: ({ run }) => session.exec(`LOCK TABLE ${run} IN SHARE ROW EXCLUSIVE MODE`),
    listTables: (target) => listPgTables(session, asPostgres(target).ledgerSchema),
    readFacts: (target) => readPgFacts(session, asPostgres(target)),
    obstacleNotes: async (target, facts, handling) => [
      ...(await obstacleNotes(session, facts, asPostgres(target), context.policy.mode, handling)),
      ...(await otherLedgerNotes(engine, session, facts, asPostgres(target))),
    ],
    deferForeignKeys: async () => async () => {},
    beforeUpdate: async (triggers, keyTypes, isBatch) => {
      // The operators of types outside pg_catalog are found on the user's search path.
      if (triggers.length > 0 || keyTypes.some((type) => type.includes('.'))) await session.useUserPath();
      if (isBatch) await session.exec(PLAN_BY_ROW);
    },
    loadMap: (map, source) => loadPostgresMap(engine, session, map, source),
  };
  const engine = { context, session, dialect };
  return engine;
}

/** A ledger in another schema may record that the table was already rewritten. */
async function otherLedgerNotes(
  engine: Engine,
  session: PgSession,
  { table }: TableFacts,
  { ledgerSchema }: PostgresTarget,
): Promise<Note[]> {
  for (const schema of await listLedgers(session)) {
    const ledger = ledgerIn(schema, quoteIdentifier);
    // Tables of these names that are no ledger, or that an untrusted user owns, are ignored.
    if (schema === ledgerSchema || (await ledgerNotes(engine, ledger, table)).length > 0) continue;
    const [run] = await readRunsOfTable(engine, ledger, table);
    if (run === undefined) continue;
    const text = `Run ${run.run} on this table is in the ledger of schema ${schema}: set "ledgerSchema" to it.`;
    return [blocks('other_ledger', text)];
  }
  return [];
}

/** Tables in a schema that have the names of ledger tables, with their columns. */
async function readPostgresLedger(session: PgSession, schema: string): Promise<Map<string, string>> {
  const sql = `SELECT c.relname, CASE c.relkind WHEN 'v' THEN 'view' WHEN 'r' THEN (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum)
        FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) END
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = $1 AND c.relname IN ('run', 'ledger')`;
  const { rows } = await session.query(sql, [schema]);
  return new Map(rows.map(([name, columns]) => [name ?? '', columns ?? '']));
}

/**
 * Blocks a schema whose owner could make our session run their code. Trusted owners are this user, a role it is a
 * member of, a superuser, and the owner of the database or of the rewritten table. `table`: its quoted name.
 */
async function ledgerOwnerNotes(session: PgSession, schema: string, table: string): Promise<Note[]> {
  const sql = `WITH owned AS (
      SELECT 'schema ' || nspname AS what, nspowner AS owner FROM pg_namespace WHERE nspname = $1
      UNION ALL SELECT 'table ' || n.nspname || '.' || c.relname, c.relowner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relname ~ '^(run|ledger|(rows|map)_.*)$'
    )
    SELECT o.what, r.rolname FROM owned o JOIN pg_roles r ON r.oid = o.owner JOIN pg_roles me ON me.rolname = current_user
    WHERE NOT (r.oid = me.oid OR r.rolsuper OR r.rolname = 'pg_database_owner'
      OR r.oid = (SELECT datdba FROM pg_database WHERE datname = current_database())
      OR r.oid = (SELECT relowner FROM pg_class WHERE oid = to_regclass($2))
      OR NOT me.rolsuper AND pg_has_role(r.oid, 'USAGE'))
    LIMIT 1`;
  const { rows } = await session.query(sql, [schema, table]);
  const [what, owner] = rows[0] ?? [];
  if (what === undefined) return [];
  const text = `The ${what} belongs to ${owner ?? ''}, whose code would run here. ${OTHER_SCHEMA}`;
  return [blocks('foreign_ledger', text)];
}

/** Schemas that hold a ledger the user may read. */
async function listLedgers(session: PgSession): Promise<string[]> {
  const sql = `SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = 'run' AND c.relkind = 'r' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
      AND (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname IN ('plan_sha256', 'remap_sha256', 'suffix')) = 3
    ORDER BY 1`;
  const { rows } = await session.query(sql);
  return rows.map(([name]) => name ?? '');
}

/** Looks up every distinct value. */
async function loadPostgresMap(
  engine: Engine,
  session: PgSession,
  map: IdMap,
  { work, mode, from, where, fill }: MapSource,
): Promise<void> {
  const names = [...mapKey(map, POSTGRES_TEXT), 'new', 'keep', 'fill'];
  let done = 0;
  const query = { work, mode, from: `${from} WHERE ${where}`, isGrouped: true };
  for await (const judged of judgeCells(engine, query)) {
    const rows = judged.flatMap(({ group, result }): Cells[] =>
      result === undefined || (mode === 'new' && result === null)
        ? []
        : [[...group.map(cellText), result, '0', String(fill)]],
    );
    if (rows.length > 0) await session.copyIn(map.table, names, rows);
    done += judged.length;
    engine.context.onProgress({ kind: 'step', name: `looking up ${map.id.column}`, done, total: null });
  }
  await session.exec(
    POSTGRES_TEXT.loaded(map.table, map.isKept ? mapKey(map, POSTGRES_TEXT) : [], isLongMap(map)).join(';'),
  );
}

/** Quoted schema and table. */
const TABLE_NAME = /^"(?:[^"]|"")+"\."(?:[^"]|"")+"$/;

/** Whether values of a type are compared as they are: equal integers are the same to the byte. */
function isNative(type: string): boolean {
  return /^(?:smallint|integer|bigint)$/.test(type);
}

function mapType(type: string): string {
  return isNative(type) ? type : 'text COLLATE "C"';
}

/** Escapes have no type of their own, so that they can be values of any type. */
const literal = literalFormatter((text) => {
  const escaped = (char: string) => `\\U${(char.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`;
  return `E'${text.replaceAll(/[^A-Za-z0-9 ]/gu, escaped)}'`;
});

const exact = (term: string, { type }: { readonly type: string }) =>
  isNative(type) ? term : `${term}::text COLLATE "C"`;

/** PostgreSQL's SQL for the shared operations. */
const POSTGRES_TEXT: SqlText = {
  quote: quoteIdentifier,
  literal,
  foldName: (name) => name,
  // Already quoted, with its schema.
  tableSql: (table) => {
    if (TABLE_NAME.test(table)) return table;
    throw new SvcError('bad_input', `${table} is no name of a table.`);
  },
  ledgerTypes: { number: 'bigint', text: 'text', name: 'text', options: '' },
  platformIdType: { type: 'text', maxChars: null, allowsNulCharacter: false },
  asText: (term) => `${term}::text`,
  exact,
  same: (one, other, type) => `${exact(one, { type })} IS NOT DISTINCT FROM ${exact(other, { type })}`,
  isKey: (indexed, value) => `${indexed} = ${value}`,
  keyName: (terms) => `(${terms.map((term) => `${term}::text`).join(" || ', ' || ")}) COLLATE "C"`,
  createMap: (map) => {
    const columns = [
      `old ${mapType(map.column.type)}`,
      ...mapKey(map, POSTGRES_TEXT)
        .slice(1)
        .map((name) => `${name} text COLLATE "C"`),
      `new ${map.newType}, keep smallint, fill integer`,
    ];
    const create = (how: string, end: string) =>
      `CREATE ${how}TABLE ${map.table}(${columns.join(', ')})${end}`;
    if (map.isKept) return [create('', '')];
    return [`DROP TABLE IF EXISTS pg_temp.${map.table}`, create('TEMP ', ' ON COMMIT DROP')];
  },
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
  // Only a hash index takes texts of any length. It lies in the schema of its table.
  loaded: (table, index, isLong = false) => {
    const columns = isLong ? `USING hash (${index[0]})` : `(${index.join(', ')})`;
    const create = `CREATE INDEX IF NOT EXISTS ${table.split('.').at(-1)}_key ON ${table} ${columns}`;
    return [...(index.length === 0 ? [] : [create]), `ANALYZE ${table}`];
  },
  rowNumber: 'row_number() OVER ()',
  createView: (view, query) => [`CREATE OR REPLACE VIEW ${view} AS ${query}`],
  asCell: (_, term) => `${term}::text COLLATE "C"`,
  groupsCells: true,
  exactText: (term) => `('t' || (${term})::text)`,
  updateFrom: updateFromSql,
  // The operators of other types are not on our search path.
  batchKey: ({ keys, columns }) => {
    const key = (keys[0] ?? []).map((column) => {
      const type = columns.find(({ name }) => name === column)?.type ?? '';
      return { column, type, valueSql: (text: string) => `${literal(text)}::${type}` };
    });
    return key.some(({ type }) => type.includes('.')) ? [] : key;
  },
  lockRows: 'FOR UPDATE OF t',
  ddlCommits: false,
  // NaN sorts above infinity.
  integersOf: (term) => ({
    lowest: `coalesce(floor(min(${term}::numeric)), 0)::text`,
    highest: `coalesce(ceil(max(${term}::numeric)), 0)::text`,
    where: `${term}::numeric > '-Infinity' AND ${term}::numeric < 'Infinity'`,
  }),
  parkedValue: ({ type, holds }, _, integer, suffix) => {
    const text = `(w.id || '${suffix}')`;
    return `${integer ?? (holds === 'json' ? `to_json(${text})` : text)}::${type}`;
  },
  // The snapshot is taken after these locks, so it includes the last writer's rows.
  lockTables: (tables) => [
    `LOCK TABLE ${tables.join(', ')} IN SHARE ROW EXCLUSIVE MODE`,
    'SET CONSTRAINTS ALL DEFERRED',
  ],
  checkKeys: ['SET CONSTRAINTS ALL IMMEDIATE'],
};

/** SQL text for scripts of `apply sql`. */
const POSTGRES_EMIT: EmitText = {
  settings: { set: [], restore: [] },
  now: `to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
  countColumns: (table, name, type) => {
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
};

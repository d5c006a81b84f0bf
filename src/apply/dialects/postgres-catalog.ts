import type { PostgresTarget } from '../../config/apply-targets.js';
import type { Cells } from '../engine/dialect.js';
import { addedColumns } from '../engine/id-columns.js';
import {
  type ForeignKey,
  type Handling,
  type ListedTable,
  missingTable,
  type TableColumn,
  type TableFacts,
  type UniqueColumns,
} from '../engine/table-facts.js';
import { blocks, blocksOf, type Mode, type Note } from '../plan.js';
import type { PgSession } from './postgres-session.js';
import { quoteIdentifier } from './shared-text.js';

const KINDS: Readonly<Record<string, string>> = {
  r: 'table',
  p: 'table',
  v: 'view',
  m: 'materialized view',
  f: 'foreign table',
  S: 'sequence',
};

/** Reads the catalog on a table; a missing table gets a note and no columns. */
export async function readPgFacts(session: PgSession, target: PostgresTarget): Promise<TableFacts> {
  const oid = await findOid(session, target.table);
  if (oid === null) return missingTable(target.table, await listPgTables(session, target.ledgerSchema));
  const sql = `SELECT n.nspname, c.relname, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.oid = $1::oid`;
  const { rows } = await session.query(sql, [oid]);
  const [schema = '', name = '', kind = ''] = (rows[0] ?? []).map((cell) => cell ?? '');
  const read = async (query: string) => (await session.query(query, [oid])).rows;
  return {
    table: `${quoteIdentifier(schema)}.${quoteIdentifier(name)}`,
    kind: KINDS[kind] ?? 'relation without rows',
    columns: (await read(COLUMNS)).map(describeColumn),
    keys: (await read(KEYS)).map(([names]) => parseNames(names)),
    uniques: (await read(UNIQUES)).map(
      ([unique, isPlain, columns]): UniqueColumns => ({
        name: unique ?? '',
        isPlain: isPlain === 't',
        columns: parseNames(columns),
      }),
    ),
    foreignKeys: (await read(FOREIGN_KEYS)).flatMap(describeForeignKey),
    triggers: (await read(TRIGGERS)).map(([trigger]) => trigger ?? ''),
    autoUpdated: [],
    rowIds: ['ctid'],
    notes: await readNotes(session, oid),
  };
}

/** SQL for the position of schema `n` on the user's search path; NULL if it is not on it. */
const SEARCH_PATH_POSITION =
  "array_position(ARRAY(SELECT json_array_elements_text(current_setting('svc_migrate.schemas')::json)), n.nspname::text)";

/** Every table and view outside the ledger's schema; one that the user's search path does not lead to has its schema in front. */
export async function listPgTables(session: PgSession, ledgerSchema: string): Promise<ListedTable[]> {
  const sql = `SELECT CASE WHEN ${SEARCH_PATH_POSITION} IS NOT NULL
      AND row_number() OVER (PARTITION BY c.relname ORDER BY ${SEARCH_PATH_POSITION}) = 1
      THEN c.relname ELSE n.nspname || '.' || c.relname END, c.relkind, has_table_privilege(c.oid, 'SELECT')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname !~ '^pg_'
      AND n.nspname NOT IN ('information_schema', $1) ORDER BY 1`;
  const { rows } = await session.query(sql, [ledgerSchema]);
  return rows.map(([name, kind, mayRead]) => ({
    name: name ?? '',
    obstacle: scanObstacle(kind ?? '', mayRead === 't'),
  }));
}

/** `kind`: as `relkind` in `pg_class`. */
function scanObstacle(kind: string, mayRead: boolean): string | null {
  if (kind === 'f') return 'a foreign table';
  if (kind !== 'r' && kind !== 'p') return 'a view';
  return mayRead ? null : 'the user may not read it';
}

/** Finds a table by its name as SQL reads it, otherwise by the name exactly as written. */
async function findOid(session: PgSession, table: string): Promise<string | null> {
  const sql = `SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND (
      n.nspname || '.' || c.relname = $1 OR quote_ident(n.nspname) || '.' || quote_ident(c.relname) = $1
      OR lower($1) = n.nspname || '.' || c.relname AND ${SEARCH_PATH_POSITION} IS NOT NULL
      OR (c.relname IN ($1, lower($1)) OR quote_ident(c.relname) = $1) AND ${SEARCH_PATH_POSITION} IS NOT NULL)
    ORDER BY c.relname = $1 DESC, n.nspname || '.' || c.relname = $1 DESC, ${SEARCH_PATH_POSITION} LIMIT 1`;
  const { rows } = await session.query(sql, [table]);
  return rows[0]?.[0] ?? null;
}

const INTEGERS: Readonly<Record<string, readonly [bigint, bigint] | null>> = {
  int2: [-32768n, 32767n],
  int4: [-2147483648n, 2147483647n],
  int8: null,
  numeric: null,
};
const TEXT_TYPES = new Set(['text', 'varchar', 'bpchar', 'citext']);

/** Domains, checks and partition keys, also of the partitions of a table and of what it is a partition of, may refuse values. */
const COLUMNS = `
  WITH related AS (SELECT $1::oid AS relid UNION SELECT relid FROM pg_partition_tree($1::oid)
    UNION SELECT relid FROM pg_partition_ancestors($1::oid))
  SELECT a.attname, format_type(a.atttypid, a.atttypmod), coalesce(b.typname, t.typname), a.attnotnull,
    a.attgenerated <> '' OR a.attidentity = 'a',
    CASE t.typtype WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod) ELSE format_type(a.atttypid, a.atttypmod) END,
    t.typtype = 'd' OR EXISTS (SELECT 1 FROM related r JOIN pg_constraint k ON k.contype = 'c' AND k.conrelid = r.relid
        LEFT JOIN pg_attribute o ON o.attrelid = r.relid AND o.attnum = ANY (k.conkey)
        WHERE o.attname = a.attname OR 0 = ANY (k.conkey))
      OR EXISTS (SELECT 1 FROM related r JOIN pg_partitioned_table p ON p.partrelid = r.relid
        LEFT JOIN pg_attribute o ON o.attrelid = p.partrelid AND o.attnum = ANY (p.partattrs::int2[])
        WHERE p.partexprs IS NOT NULL OR o.attname = a.attname)
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype AND t.typtype = 'd'
  WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;

function describeColumn([name, type, base, notNull, generated, baseType, isChecked]: Cells): TableColumn {
  const [, length] = /^character(?: varying)?\((\d+)\)$/.exec(baseType ?? '') ?? [];
  return {
    name: name ?? '',
    type: type ?? '',
    baseType: baseType ?? '',
    holds: holdsOf(base ?? ''),
    isNullable: notNull === 'f',
    isGenerated: generated === 't',
    isChecked: isChecked === 't',
    range: rangeOf(base ?? '', baseType ?? ''),
    maxChars: length === undefined ? null : Number(length),
  };
}

/** `numeric(5,2)` allows three digits before the point. */
function rangeOf(base: string, type: string): TableColumn['range'] {
  const [, precision, scale] = /^numeric\((\d+),(-?\d+)\)$/.exec(type) ?? [];
  if (precision === undefined || scale === undefined) return INTEGERS[base] ?? null;
  const highest = 10n ** BigInt(Math.max(0, Number(precision) - Number(scale))) - 1n;
  return [-highest, highest];
}

function holdsOf(base: string): TableColumn['holds'] {
  if (base in INTEGERS) return 'integer';
  if (TEXT_TYPES.has(base)) return 'text';
  return base === 'json' || base === 'jsonb' ? 'json' : 'other';
}

const KEYS = `
  SELECT json_agg(a.attname ORDER BY k.at) FROM pg_index i
    CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, at)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
  WHERE i.indrelid = $1::oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
    AND k.at <= i.indnkeyatts
  GROUP BY i.indexrelid, i.indisprimary, i.indnkeyatts HAVING bool_and(a.attnotnull) AND count(*) = i.indnkeyatts
  ORDER BY i.indisprimary DESC, i.indnkeyatts, i.indexrelid`;

function parseNames(json: string | null | undefined): string[] {
  const names: unknown = JSON.parse(json ?? '[]');
  return Array.isArray(names) ? names.map(String) : [];
}

/** Unique indexes and exclusion constraints, with every column they depend on, including in expressions. */
const UNIQUES = `
  SELECT c.relname, i.indpred IS NULL AND i.indexprs IS NULL AND i.indisunique,
    coalesce((SELECT json_agg(DISTINCT a.attname) FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum > 0 AND (
      a.attnum = ANY (i.indkey::int2[]) OR a.attnum IN (
        SELECT d.refobjsubid FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid))), '[]')
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE i.indrelid = $1::oid AND (i.indisunique OR i.indisexclusion) ORDER BY c.relname`;

const namesOf = (relation: string, keys: string) =>
  `(SELECT json_agg(a.attname ORDER BY k.at) FROM unnest(${keys}) WITH ORDINALITY AS k(attnum, at)
    JOIN pg_attribute a ON a.attrelid = ${relation} AND a.attnum = k.attnum)`;

/** A key that partitions have from a table they are part of is there once for each of them. */
const FOREIGN_KEYS = `
  SELECT f.conname, f.conrelid = $1::oid, ${namesOf('f.conrelid', 'f.conkey')}, ${namesOf('f.confrelid', 'f.confkey')},
    f.conrelid = f.confrelid, f.confupdtype, f.condeferrable,
    (SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid = CASE WHEN f.conrelid = $1::oid THEN f.confrelid ELSE f.conrelid END)
  FROM pg_constraint f LEFT JOIN pg_constraint p ON p.oid = f.conparentid AND $1::oid IN (p.conrelid, p.confrelid)
  WHERE f.contype = 'f' AND p.oid IS NULL AND $1::oid IN (f.conrelid, f.confrelid) ORDER BY f.conname`;

const ON_UPDATE: Readonly<Record<string, ForeignKey['onUpdate']>> = { c: 'cascade', n: 'set', d: 'set' };

function describeForeignKey([
  name,
  isOut,
  from,
  to,
  isSelf,
  onUpdate,
  deferrable,
  other,
]: Cells): ForeignKey[] {
  const directions: ForeignKey['direction'][] =
    isSelf === 't' ? ['out', 'in'] : [isOut === 't' ? 'out' : 'in'];
  return directions.map((direction) => ({
    name: name ?? '',
    direction,
    columns: parseNames(direction === 'out' ? from : to),
    otherTable: normalName(other ?? ''),
    otherColumns: parseNames(direction === 'out' ? to : from),
    onUpdate: ON_UPDATE[onUpdate ?? ''] ?? 'none',
    // RESTRICT looks for child rows as soon as an id changes.
    isDeferrable: deferrable === 't' && (direction === 'out' || onUpdate !== 'r'),
  }));
}

/** `public.orders` → `"public"."orders"`, the form of `TableFacts.table`. */
function normalName(text: string): string {
  return text.replace(/"(?:[^"]|"")*"|[^".]+/g, (part) =>
    part.startsWith('"') ? part : quoteIdentifier(part),
  );
}

/** Triggers that fire on UPDATE, and rules. */
const TRIGGERS = `
  SELECT 'trigger ' || tgname FROM pg_trigger WHERE tgrelid = $1::oid AND NOT tgisinternal AND tgenabled <> 'D'
    AND tgtype & 16 <> 0
  UNION ALL SELECT 'rule ' || rulename FROM pg_rewrite WHERE ev_class = $1::oid AND ev_type = '2' AND rulename <> '_RETURN'
  ORDER BY 1`;

async function readNotes(session: PgSession, oid: string): Promise<Note[]> {
  const sql = `SELECT pg_is_in_recovery(), has_table_privilege($1::oid, 'SELECT'), row_security_active($1::oid),
      (SELECT relispartition FROM pg_class WHERE oid = $1::oid),
      EXISTS (SELECT 1 FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid WHERE h.inhparent = $1::oid AND NOT c.relispartition),
      EXISTS (SELECT 1 FROM pg_rewrite WHERE ev_class = $1::oid AND ev_type = '2' AND rulename <> '_RETURN')`;
  const { rows } = await session.query(sql, [oid]);
  const [standby, mayRead, isRowSecured, isPartition, hasChildren, hasRules] = rows[0] ?? [];
  const partition = 'This is one partition of a larger table.';
  return [
    ...blocksOf({
      read_only_server: standby === 't' && 'This server is a standby: connect to the primary.',
      no_select: mayRead === 'f' && 'The user may not read this table: GRANT SELECT.',
      row_security:
        isRowSecured === 't' &&
        'Row-level security hides rows from this user: connect as the owner of the table.',
      inheritance:
        hasChildren === 't' && 'Other tables inherit from this one: add a target for each of them.',
      rules: hasRules === 't' && 'A rule rewrites updates of this table, so the result would be uncertain.',
    }),
    ...(isPartition === 't' ? [{ level: 'warning', code: 'partition', text: partition } as const] : []),
  ];
}

/** PostgreSQL truncates longer names. */
const MAX_NAME_BYTES = 63;

/** Notes on privileges and catalog entries that prevent a rewrite or affect it. */
export async function obstacleNotes(
  session: PgSession,
  { table, columns, notes }: TableFacts,
  target: PostgresTarget,
  mode: Mode,
  { isAtomic }: Handling,
): Promise<Note[]> {
  const names = target.ids.map((id) => id.column);
  const added = addedColumns(mode, target.ids);
  const tooLong = added
    .filter((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)
    .map((name) => blocks('new_column_name', `"${name}" is too long for a column: set "newColumn".`));
  if (notes.some(({ code }) => code === 'unknown_table')) return tooLong;
  const known = names.filter((name) => columns.some((one) => one.name === name));
  const { rows } = await session.query(RIGHTS, [table, JSON.stringify(known), target.ledgerSchema]);
  const [mayUpdate, mayLock, isOwner, mayUseSchema, mayCreate, ownsLedger, mayTemp, user, ...others] =
    rows[0] ?? [];
  const [isReadOnly, isPartition, isTyped] = others;
  const [inPlace, adds, schema] = [mode === 'in_place', added.length > 0, target.ledgerSchema];
  const lacks = {
    'may not update these columns: GRANT UPDATE.': inPlace && mayUpdate === 'f',
    [`does not own the table and cannot add a column: connect as its owner${inPlace ? '' : ', or --in-place'}.`]:
      adds && isOwner === 'f',
    [`cannot keep the ledger in schema ${schema}: CREATE SCHEMA … AUTHORIZATION, or set another "ledgerSchema".`]:
      (mayUseSchema ?? mayCreate) === 'f',
    'may not lock the table, which is necessary because constraints include the ids: GRANT UPDATE on the whole table.':
      inPlace && isAtomic && mayLock === 'f',
    [`does not own the ledger in schema ${schema}, to which each run adds tables: connect as its owner, or set another "ledgerSchema".`]:
      ownsLedger === 'f',
    'may not create temporary tables: GRANT TEMPORARY ON DATABASE.': mayTemp === 'f',
  };
  return [
    ...Object.entries(lacks).flatMap(([text, applies]) =>
      applies ? [blocks('privilege', `User ${user ?? ''} ${text}`)] : [],
    ),
    ...blocksOf({
      read_only_session:
        isReadOnly === 't' &&
        'Sessions of this user or database are read-only (default_transaction_read_only): use another user, or reset it.',
    }),
    ...(await replicaIdentityNotes(session, table)),
    ...blocksOf({
      partition:
        adds &&
        isPartition === 't' &&
        `${table} is a partition, to which no column can be added: make the partitioned table the target.`,
      typed_table:
        adds &&
        isTyped === 't' &&
        `${table} is a typed table, to which no column can be added: use --in-place.`,
    }),
    ...(inPlace ? await viewNotes(session, table, names) : []),
    ...tooLong,
  ];
}

/** What the user may do with a table, some of its columns, the schema of the ledger and the ledger; and what a session and the table are. */
const RIGHTS = `
  SELECT (SELECT bool_and(has_column_privilege($1::regclass, name, 'UPDATE')) FROM json_array_elements_text($2::json) AS name),
    has_table_privilege($1::regclass, 'UPDATE, DELETE, TRUNCATE'), pg_has_role(t.relowner, 'USAGE'),
    (SELECT has_schema_privilege(oid, 'USAGE') AND has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $3),
    has_database_privilege(current_database(), 'CREATE'),
    (SELECT bool_and(pg_has_role(c.relowner, 'USAGE')) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $3 AND c.relname IN ('run', 'ledger')),
    has_database_privilege(current_database(), 'TEMP'), current_user,
    current_setting('default_transaction_read_only')::boolean, t.relispartition, t.reloftype <> 0
  FROM pg_class t WHERE t.oid = $1::regclass`;

/** PostgreSQL refuses UPDATE on a published table without a replica identity. */
async function replicaIdentityNotes(session: PgSession, table: string): Promise<Note[]> {
  const sql = `SELECT c.relname, string_agg(DISTINCT p.pubname, ', ') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_publication_tables pt ON c.oid = $1::regclass AND pt.schemaname = n.nspname AND pt.tablename = c.relname
        OR (pt.schemaname, pt.tablename) IN (SELECT an.nspname, a.relname FROM pg_partition_ancestors(c.oid) AS anc
          JOIN pg_class a ON a.oid = anc.relid JOIN pg_namespace an ON an.oid = a.relnamespace)
      JOIN pg_publication p ON p.pubname = pt.pubname AND p.pubupdate
    WHERE c.relkind = 'r' AND (c.oid = $1::regclass OR c.oid IN (SELECT relid FROM pg_partition_tree($1::regclass)))
      AND CASE c.relreplident WHEN 'f' THEN false WHEN 'n' THEN true
        WHEN 'i' THEN NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisreplident)
        ELSE NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary) END
    GROUP BY c.relname ORDER BY 1`;
  const { rows } = await session.query(sql, [table]);
  return rows.map(([name, publications]) =>
    blocks(
      'replica_identity',
      `${name ?? ''} is published (${publications ?? ''}) and has no replica identity, so PostgreSQL refuses UPDATE: ALTER TABLE … REPLICA IDENTITY FULL.`,
    ),
  );
}

/** Materialized views that copy these columns, directly or through other views. */
async function viewNotes(session: PgSession, table: string, columns: readonly string[]): Promise<Note[]> {
  const sql = `WITH RECURSIVE dependent AS (
      SELECT r.ev_class AS view FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid
        LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
      WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1::regclass
        AND (d.refobjsubid = 0 OR a.attname = ANY (ARRAY(SELECT json_array_elements_text($2::json))))
      UNION SELECT r.ev_class FROM dependent v JOIN pg_depend d ON d.refobjid = v.view AND d.refclassid = 'pg_class'::regclass
        JOIN pg_rewrite r ON r.oid = d.objid AND d.classid = 'pg_rewrite'::regclass
    )
    SELECT DISTINCT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM dependent v JOIN pg_class c ON c.oid = v.view
      JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'm' ORDER BY 1`;
  const { rows } = await session.query(sql, [table, JSON.stringify(columns)]);
  return rows.map(([view]) => ({
    level: 'warning',
    code: 'materialized_view',
    text: `${view ?? ''} keeps the V3 ids until it is refreshed: REFRESH MATERIALIZED VIEW ${view ?? ''}.`,
  }));
}

import type { PostgresTarget } from '../../config/apply-targets.js';
import { addedColumns } from '../engine/id-columns.js';
import type { Handling, TableFacts } from '../engine/table-facts.js';
import { blocks, type Mode, type Note } from '../plan.js';
import type { PgSession } from './postgres-session.js';

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
  return [
    ...(await privilegeNotes(session, table, known, target.ledgerSchema, { mode, isAtomic, added })),
    ...(await readOnlyNotes(session)),
    ...(await replicaIdentityNotes(session, table)),
    ...(added.length === 0 ? [] : await addColumnNotes(session, table)),
    ...(mode === 'new' ? [] : await viewNotes(session, table, names)),
    ...tooLong,
  ];
}

/** Privileges that the plan needs and the user lacks. */
async function privilegeNotes(
  session: PgSession,
  table: string,
  columns: readonly string[],
  ledgerSchema: string,
  {
    mode,
    isAtomic,
    added,
  }: { readonly mode: Mode; readonly isAtomic: boolean; readonly added: readonly string[] },
): Promise<Note[]> {
  const sql = `SELECT (SELECT bool_and(has_column_privilege($1::regclass, name, 'UPDATE')) FROM json_array_elements_text($2::json) AS name),
      (SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = $1::regclass),
      (SELECT has_schema_privilege(oid, 'USAGE') AND has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = $3),
      has_database_privilege(current_database(), 'CREATE'), has_database_privilege(current_database(), 'TEMP'), current_user,
      has_table_privilege($1::regclass, 'UPDATE, DELETE, TRUNCATE'),
      (SELECT bool_and(pg_has_role(c.relowner, 'USAGE')) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = $3 AND c.relname IN ('run', 'ledger'))`;
  const { rows } = await session.query(sql, [table, JSON.stringify(columns), ledgerSchema]);
  const [mayUpdate, isOwner, mayUseSchema, mayCreate, mayTemp, user, mayLock, ownsLedger] = rows[0] ?? [];
  const lacks: readonly (readonly [boolean, string])[] = [
    [mode === 'in_place' && mayUpdate === 'f', 'may not update these columns: GRANT UPDATE.'],
    [
      added.length > 0 && isOwner === 'f',
      `does not own the table and cannot add a column: connect as its owner${mode === 'new' ? ', or --in-place' : ''}.`,
    ],
    [
      mayUseSchema === null ? mayCreate === 'f' : mayUseSchema === 'f',
      `cannot keep the ledger in schema ${ledgerSchema}: CREATE SCHEMA … AUTHORIZATION, or set another "ledgerSchema".`,
    ],
    [
      mode === 'in_place' && isAtomic && mayLock === 'f',
      'may not lock the table, which is necessary because constraints include the ids: GRANT UPDATE on the whole table.',
    ],
    [
      ownsLedger === 'f',
      `does not own the ledger in schema ${ledgerSchema}, to which each run adds tables: connect as its owner, or set another "ledgerSchema".`,
    ],
    [mayTemp === 'f', 'may not create temporary tables: GRANT TEMPORARY ON DATABASE.'],
  ];
  return lacks.flatMap(([applies, text]) =>
    applies ? [blocks('privilege', `User ${user ?? ''} ${text}`)] : [],
  );
}

async function readOnlyNotes(session: PgSession): Promise<Note[]> {
  if ((await session.one("SELECT current_setting('default_transaction_read_only')")) !== 'on') return [];
  const text =
    'Sessions of this user or database are read-only (default_transaction_read_only): use another user, or reset it.';
  return [blocks('read_only_session', text)];
}

/** PostgreSQL refuses UPDATE on a published table without a replica identity. */
async function replicaIdentityNotes(session: PgSession, table: string): Promise<Note[]> {
  const sql = `SELECT c.relname, string_agg(DISTINCT p.pubname, ', ') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_publication_tables pt ON c.oid = $1::regclass AND pt.schemaname = n.nspname AND pt.tablename = c.relname
        OR (pt.schemaname, pt.tablename) IN (SELECT an.nspname, a.relname FROM pg_partition_ancestors(c.oid) AS anc
          JOIN pg_class a ON a.oid = anc.relid JOIN pg_namespace an ON an.oid = a.relnamespace)
      JOIN pg_publication p ON p.pubname = pt.pubname AND p.pubupdate
    WHERE c.relkind = 'r' AND (c.oid = $1::regclass OR c.oid IN (SELECT relid FROM pg_partition_tree($1::regclass)))
      AND CASE c.relreplident WHEN 'f' THEN false WHEN 'n' THEN true
        WHEN 'i' THEN NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisreplident AND i.indisvalid)
        ELSE NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisvalid) END
    GROUP BY c.relname ORDER BY 1`;
  const { rows } = await session.query(sql, [table]);
  return rows.map(([name, publications]) =>
    blocks(
      'replica_identity',
      `${name ?? ''} is published (${publications ?? ''}) and has no replica identity, so PostgreSQL refuses UPDATE: ALTER TABLE … REPLICA IDENTITY FULL.`,
    ),
  );
}

async function addColumnNotes(session: PgSession, table: string): Promise<Note[]> {
  const sql = 'SELECT relispartition, reloftype <> 0 FROM pg_class WHERE oid = $1::regclass';
  const { rows } = await session.query(sql, [table]);
  const [isPartition, isTyped] = rows[0] ?? [];
  if (isPartition === 't')
    return [
      blocks(
        'partition',
        `${table} is a partition, to which no column can be added: make the partitioned table the target.`,
      ),
    ];
  return isTyped === 't'
    ? [blocks('typed_table', `${table} is a typed table, to which no column can be added: use --in-place.`)]
    : [];
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

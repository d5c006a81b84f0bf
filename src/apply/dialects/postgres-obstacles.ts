import { blocks } from '../column-work.js';
import type { Mode, Note } from '../plan.js';
import type { PgFacts } from './postgres-facts.js';
import type { PgSession } from './postgres-session.js';

/** What the catalog says would stop or spoil a rewriting of these columns. */
export async function obstacleNotes(
  session: PgSession,
  facts: PgFacts,
  columns: readonly string[],
  mode: Mode,
): Promise<Note[]> {
  if (facts.oid === '0') return [];
  return [
    ...(await readOnlyNotes(session)),
    ...(await replicaIdentityNotes(session, facts)),
    ...(mode === 'new' ? await addColumnNotes(session, facts) : await viewNotes(session, facts, columns)),
  ];
}

async function readOnlyNotes(session: PgSession): Promise<Note[]> {
  if ((await session.one("SELECT current_setting('default_transaction_read_only')")) !== 'on') return [];
  const text =
    'Sessions of this user or database are read-only (default_transaction_read_only): use another user, or reset it.';
  return [blocks('read_only_session', text)];
}

/** A published table takes no UPDATE while subscribers could not tell its rows apart. */
async function replicaIdentityNotes(session: PgSession, { oid }: PgFacts): Promise<Note[]> {
  const { rows } = await session.query(
    `SELECT c.relname, string_agg(DISTINCT p.pubname, ', ') FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       JOIN pg_publication_tables pt ON c.oid = $1::oid AND pt.schemaname = n.nspname AND pt.tablename = c.relname
         OR (pt.schemaname, pt.tablename) IN (SELECT an.nspname, a.relname FROM pg_partition_ancestors(c.oid) AS anc
           JOIN pg_class a ON a.oid = anc.relid JOIN pg_namespace an ON an.oid = a.relnamespace)
       JOIN pg_publication p ON p.pubname = pt.pubname AND p.pubupdate
     WHERE c.relkind = 'r' AND (c.oid = $1::oid OR c.oid IN (SELECT relid FROM pg_partition_tree($1::oid::regclass)))
       AND CASE c.relreplident WHEN 'f' THEN false WHEN 'n' THEN true
         WHEN 'i' THEN NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisreplident AND i.indisvalid)
         ELSE NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisvalid) END
     GROUP BY c.relname ORDER BY 1`,
    [oid],
  );
  return rows.map(([table, publications]) =>
    blocks(
      'replica_identity',
      `${table ?? ''} is published (${publications ?? ''}) and has no replica identity, so it takes no updates: ALTER TABLE … REPLICA IDENTITY FULL.`,
    ),
  );
}

async function addColumnNotes(session: PgSession, { oid, table }: PgFacts): Promise<Note[]> {
  const { rows } = await session.query(
    'SELECT relispartition, reloftype <> 0 FROM pg_class WHERE oid = $1::oid',
    [oid],
  );
  const [isPartition, isTyped] = rows[0] ?? [];
  if (isPartition === 't')
    return [blocks('partition', `${table} is a partition and takes no new column: name the whole table.`)];
  return isTyped === 't'
    ? [blocks('typed_table', `${table} is made of a type and takes no new column: use --in-place.`)]
    : [];
}

/** Materialized views that hold a copy of these columns, also by way of other views. */
async function viewNotes(session: PgSession, { oid }: PgFacts, columns: readonly string[]): Promise<Note[]> {
  const { rows } = await session.query(
    `WITH RECURSIVE dependent AS (
       SELECT r.ev_class AS view FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid
         LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
       WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1::oid
         AND (d.refobjsubid = 0 OR a.attname = ANY (ARRAY(SELECT json_array_elements_text($2::json))))
       UNION SELECT r.ev_class FROM dependent v JOIN pg_depend d ON d.refobjid = v.view AND d.refclassid = 'pg_class'::regclass
         JOIN pg_rewrite r ON r.oid = d.objid AND d.classid = 'pg_rewrite'::regclass
     )
     SELECT DISTINCT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM dependent v JOIN pg_class c ON c.oid = v.view
       JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'm' ORDER BY 1`,
    [oid, JSON.stringify(columns)],
  );
  return rows.map(([view]) => ({
    level: 'warning',
    code: 'materialized_view',
    text: `${view ?? ''} keeps the V3 ids until it is refreshed: REFRESH MATERIALIZED VIEW ${view ?? ''}.`,
  }));
}

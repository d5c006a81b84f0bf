import type { Engine } from '../engine/dialect.js';
import { createLedgerSql, hasLedger } from '../engine/ledger-tables.js';
import { blocks, type Note } from '../plan.js';
import { quoteName } from '../sql-names.js';
import type { PgSession } from './postgres-session.js';
import { ledgerIn, OTHER_SCHEMA, POSTGRES_TEXT } from './postgres-text.js';

/** Tables in a schema that have the names of ledger tables, with their columns. */
export async function readPostgresLedger(session: PgSession, schema: string): Promise<Map<string, string>> {
  const { rows } = await session.query(
    `SELECT c.relname, CASE WHEN c.relkind = 'r' THEN (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum)
         FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) END
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relname IN ('run', 'entry', 'skipped')`,
    [schema],
  );
  return new Map(rows.map(([name, columns]) => [name ?? '', columns ?? '']));
}

/**
 * Blocks a schema whose owner could make our session run their code. Trusted owners are this user, a role it is a
 * member of, a superuser, and the owner of the database or of the rewritten table. `table`: its quoted name.
 */
export async function ledgerOwnerNotes(session: PgSession, schema: string, table: string): Promise<Note[]> {
  const { rows } = await session.query(
    `WITH owned AS (
       SELECT 'schema ' || nspname AS what, nspowner AS owner FROM pg_namespace WHERE nspname = $1
       UNION ALL SELECT 'table ' || n.nspname || '.' || c.relname, c.relowner FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = $1 AND c.relname IN ('run', 'entry', 'skipped', 'ledger')
     )
     SELECT o.what, r.rolname FROM owned o JOIN pg_roles r ON r.oid = o.owner JOIN pg_roles me ON me.rolname = current_user
     WHERE NOT (r.oid = me.oid OR r.rolsuper OR r.rolname = 'pg_database_owner'
       OR r.oid = (SELECT datdba FROM pg_database WHERE datname = current_database())
       OR r.oid = (SELECT relowner FROM pg_class WHERE oid = to_regclass($2))
       OR NOT me.rolsuper AND pg_has_role(r.oid, 'USAGE'))
     LIMIT 1`,
    [schema, table],
  );
  const [what, owner] = rows[0] ?? [];
  if (what === undefined) return [];
  const text = `The ${what} belongs to ${owner ?? ''}, whose code would run here. ${OTHER_SCHEMA}`;
  return [blocks('foreign_ledger', text)];
}

/** Creates the ledger if it is missing, in its own transaction: two processes may do so at once. */
export async function ensureLedger(engine: Engine, schema: string): Promise<void> {
  const { session } = engine;
  const ledger = ledgerIn(schema);
  if (await session.retry(() => hasLedger(engine, ledger))) return;
  await session.transaction('latest', async () => {
    await session.exec("SELECT pg_advisory_xact_lock(hashtextextended('svc-migrate ledger', 0))");
    const hasSchema = await session.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
    // CREATE SCHEMA IF NOT EXISTS would need the privilege even if the schema exists.
    if (hasSchema.count === 0) await session.exec(`CREATE SCHEMA ${quoteName(schema)}`);
    await session.exec(createLedgerSql(POSTGRES_TEXT, ledger).join(';'));
  });
}

/** Schemas that hold a ledger the user may read. */
export async function listLedgers(session: PgSession): Promise<string[]> {
  const { rows } = await session.query(
    `SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relname = 'run' AND c.relkind = 'r' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
       AND (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname IN ('plan_sha256', 'remap_sha256', 'done_entry')) = 3
     ORDER BY 1`,
  );
  return rows.map(([name]) => name ?? '');
}

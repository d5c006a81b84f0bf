import { SvcError } from '../../errors.js';
import { blocks } from '../column-work.js';
import type { Note } from '../plan.js';
import type { PgSession } from './pg-session.js';

/** The columns of the ledger's tables, as `pg_attribute` lists them. */
const COLUMNS: Readonly<Record<string, string>> = {
  run: `unit bigint, run text, target text, table_name text, column_names jsonb, definition jsonb, key_columns jsonb,
    key_types jsonb, column_types jsonb, mode text, is_atomic boolean, policy jsonb, remap_sha256 text, plan_sha256 text,
    state text, first_entry bigint, last_entry bigint, done_entry bigint, changed bigint, skipped bigint,
    started_at text, finished_at text, tool text`.replace(/\s+/g, ' '),
  entry: 'id bigint, unit bigint, col integer, row_key text[], old text, new text',
  skipped: 'unit bigint, col integer, row_key text[], old text, new text',
};

/**
 * Whether a schema holds a ledger.
 *
 * @throws SvcError `bad_input` where it holds tables of these names that are something else
 */
export async function hasLedger(session: PgSession, schema: string): Promise<boolean> {
  const tables = await readTables(session, schema);
  if (tables.size === 0) return false;
  const foreign = foreignTable(tables);
  if (foreign === null) return true;
  throw new SvcError('bad_input', `${schema}.${foreign} is not a ledger of svc-migrate.`, {
    hint: OTHER_SCHEMA,
  });
}

const OTHER_SCHEMA = 'Name another schema with "ledgerSchema" (--ledger-schema).';

async function readTables(session: PgSession, schema: string): Promise<Map<string, string>> {
  const { rows } = await session.query(
    `SELECT c.relname, CASE WHEN c.relkind = 'r' THEN (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum)
         FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) END
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = $1 AND c.relname IN ('run', 'entry', 'skipped')`,
    [schema],
  );
  return new Map(rows.map(([name, columns]) => [name ?? '', columns ?? '']));
}

/** The name of the first table that the ledger would not have so; null where all are as they should be. */
function foreignTable(tables: ReadonlyMap<string, string>): string | null {
  for (const [name, columns] of Object.entries(COLUMNS)) if (tables.get(name) !== columns) return name;
  return null;
}

/**
 * What speaks against keeping the ledger in a schema: tables of the same names, or an owner who could make our
 * session run code of theirs. Owners are trusted where they are this user or one whose rights it has, a superuser,
 * or the owner of the database or of the table that is rewritten. `table`: its quoted name.
 */
export async function ledgerNotes(session: PgSession, schema: string, table: string): Promise<Note[]> {
  const tables = await readTables(session, schema);
  const foreign = tables.size === 0 ? null : foreignTable(tables);
  if (foreign !== null) {
    return [blocks('foreign_ledger', `${schema}.${foreign} is not a ledger of svc-migrate. ${OTHER_SCHEMA}`)];
  }
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

/** @throws SvcError `bad_input` as `ledgerNotes` says */
export async function assertOwnLedger(session: PgSession, schema: string, table: string): Promise<void> {
  const [note] = await ledgerNotes(session, schema, table);
  if (note !== undefined) throw new SvcError('bad_input', note.text);
}

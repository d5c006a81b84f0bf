import { SvcError } from '../../errors.js';
import { blocks } from '../column-work.js';
import type { Ledger, RunTable } from '../engine/dialect.js';
import type { Note } from '../plan.js';
import { quoteName } from '../sql-names.js';
import type { PgSession } from './postgres-session.js';

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

/**
 * The ledger in the user's database, in a schema of its own. `entry` is written ahead: all changes of a unit (one
 * table in one run) are entered first, then carried out in batches; `done_entry` moves in the same transaction as
 * the rows. The view `ledger` shows what was carried out.
 */
function ledgerSql(schema: string): string {
  const s = quoteName(schema);
  return `
CREATE TABLE IF NOT EXISTS ${s}.run(
  unit bigint PRIMARY KEY, run text NOT NULL, target text NOT NULL, table_name text NOT NULL,
  column_names jsonb NOT NULL, definition jsonb NOT NULL, key_columns jsonb NOT NULL, key_types jsonb NOT NULL,
  column_types jsonb NOT NULL, mode text NOT NULL, is_atomic boolean NOT NULL, policy jsonb NOT NULL,
  remap_sha256 text NOT NULL, plan_sha256 text NOT NULL,
  state text NOT NULL CHECK (state IN ('working', 'done', 'undoing', 'undone')),
  first_entry bigint NOT NULL, last_entry bigint NOT NULL, done_entry bigint NOT NULL,
  changed bigint NOT NULL DEFAULT 0, skipped bigint NOT NULL DEFAULT 0,
  started_at text NOT NULL, finished_at text, tool text NOT NULL
);
CREATE TABLE IF NOT EXISTS ${s}.entry(
  id bigint PRIMARY KEY, unit bigint NOT NULL, col integer NOT NULL, row_key text[] NOT NULL,
  old text NOT NULL, new text
);
CREATE TABLE IF NOT EXISTS ${s}.skipped(
  unit bigint NOT NULL, col integer NOT NULL, row_key text[] NOT NULL, old text NOT NULL, new text
);
CREATE OR REPLACE VIEW ${s}.ledger AS
  SELECT r.run, r.target, r.table_name, e.row_key, r.column_names ->> e.col AS column_name, e.old, e.new, r.remap_sha256
  FROM ${s}.entry e JOIN ${s}.run r ON r.unit = e.unit WHERE e.id <= r.done_entry;`;
}

/** Makes the ledger where it is missing; its own transaction, for two processes may do it at once. */
export async function ensureLedger(session: PgSession, schema: string): Promise<void> {
  if (await session.retry(() => hasLedger(session, schema))) return;
  await session.transaction('latest', async () => {
    await session.exec("SELECT pg_advisory_xact_lock(hashtextextended('svc-migrate ledger', 0))");
    const hasSchema = await session.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
    // Also where the schema is there it would take the right to make one.
    if (hasSchema.count === 0) await session.exec(`CREATE SCHEMA ${quoteName(schema)}`);
    await session.exec(ledgerSql(schema));
  });
}

/** Schemas with a ledger that the user may read. */
export async function listLedgers(session: PgSession): Promise<string[]> {
  const { rows } = await session.query(
    `SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE c.relname = 'run' AND c.relkind = 'r' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
       AND (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname IN ('plan_sha256', 'remap_sha256', 'done_entry')) = 3
     ORDER BY 1`,
  );
  return rows.map(([name]) => name ?? '');
}

/** A schema's ledger. */
export function ledgerIn(schema: string): Ledger {
  const s = quoteName(schema);
  return { name: schema, run: `${s}.run`, entry: `${s}.entry`, skipped: `${s}.skipped` };
}

const TABLE_NAME = /^"(?:[^"]|"")+"\."(?:[^"]|"")+"$/;
const TYPE_NAME =
  /^(?:"(?:[^"]|"")+"|[a-z_][a-z0-9_ ]*)(?:\.(?:"(?:[^"]|"")+"|[a-z_][a-z0-9_]*))?(?:\(\d+(?:,-?\d+)?\))?(?:\[\])*$/;

/** As the catalog shows names. */
export const RUN_TABLE: RunTable = {
  types: ['key_types', 'column_types'],
  ofTable: 'table_name = $1',
  isTable: (name) => TABLE_NAME.test(name),
  isType: (name) => TYPE_NAME.test(name),
};

import { SvcError } from '../../errors.js';
import { Sqlite } from '../../store/sqlite.js';
import { blocks } from '../column-work.js';
import type { Ledger } from '../engine/dialect.js';
import type { Note } from '../plan.js';
import type { UserDb } from './sqlite-session.js';

/** The ledger's tables in the user's database; the view `svc_migrate_ledger` shows what was carried out. */
export const LEDGER = `
CREATE TABLE IF NOT EXISTS svc_migrate_run(
  unit INTEGER PRIMARY KEY, run TEXT NOT NULL, target TEXT NOT NULL, table_name TEXT NOT NULL,
  column_names TEXT NOT NULL, definition TEXT NOT NULL, key_columns TEXT NOT NULL,
  mode TEXT NOT NULL, is_atomic INTEGER NOT NULL, policy TEXT NOT NULL,
  remap_sha256 TEXT NOT NULL, plan_sha256 TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('working', 'done', 'undoing', 'undone')),
  first_entry INTEGER NOT NULL, last_entry INTEGER NOT NULL, done_entry INTEGER NOT NULL,
  changed INTEGER NOT NULL DEFAULT 0, skipped INTEGER NOT NULL DEFAULT 0,
  started_at TEXT NOT NULL, finished_at TEXT, tool TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS svc_migrate_entry(
  id INTEGER PRIMARY KEY, unit INTEGER NOT NULL, col INTEGER NOT NULL, row_key ANY NOT NULL, old ANY NOT NULL, new ANY
) STRICT;
CREATE TABLE IF NOT EXISTS svc_migrate_skipped(
  unit INTEGER NOT NULL, col INTEGER NOT NULL, row_key ANY NOT NULL, old ANY NOT NULL, new ANY
) STRICT;
CREATE VIEW IF NOT EXISTS svc_migrate_ledger AS
  SELECT r.run, r.target, r.table_name, e.row_key, json_extract(r.column_names, '$[' || e.col || ']') AS column_name,
    e.old, e.new, r.remap_sha256
  FROM svc_migrate_entry e JOIN svc_migrate_run r ON r.unit = e.unit WHERE e.id <= r.done_entry;`;

/** Names of the ledger's tables. */
export const SQLITE_LEDGER: Ledger = {
  name: 'svc_migrate',
  run: 'svc_migrate_run',
  entry: 'svc_migrate_entry',
  skipped: 'svc_migrate_skipped',
};

/**
 * Whether the database holds a ledger.
 *
 * @throws SvcError `bad_input` where tables of these names are something else
 */
export function hasLedger(db: UserDb): boolean {
  const foreign = foreignLedger(db);
  if (foreign === null) return readShape(db).size > 0;
  throw new SvcError('bad_input', `${foreign} is not a ledger of svc-migrate.`, { hint: 'Rename it first.' });
}

/** What speaks against keeping the ledger here: other tables of the same names. */
export function ledgerNotes(db: UserDb): Note[] {
  const foreign = foreignLedger(db);
  if (foreign === null) return [];
  return [blocks('foreign_ledger', `${foreign} is not a ledger of svc-migrate: rename it first.`)];
}

/** The name of the first part of the ledger that is there and not as we make it; null where there is none. */
function foreignLedger(db: UserDb): string | null {
  const found = readShape(db);
  if (found.size === 0) return null;
  const ours = new Sqlite(':memory:');
  try {
    ours.exec(LEDGER);
    for (const [name, shape] of readShape(ours)) if (found.get(name) !== shape) return name;
    return null;
  } finally {
    ours.close();
  }
}

/** The columns of everything that goes by a name of the ledger. */
function readShape(db: UserDb): Map<string, string> {
  const rows = db
    .prepare<[], { name: string; shape: string | null }>(
      `SELECT m.name, m.type || ' ' || (SELECT group_concat(c.name || ' ' || c.type) FROM pragma_table_info(m.name) AS c) AS shape
       FROM sqlite_schema AS m WHERE m.name IN ('svc_migrate_run', 'svc_migrate_entry', 'svc_migrate_skipped', 'svc_migrate_ledger')`,
    )
    .all();
  return new Map(rows.map(({ name, shape }) => [name, shape ?? '']));
}

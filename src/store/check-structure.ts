import { SvcError } from '../errors.js';
import { damaged } from './checksum.js';
import type { Db } from './open.js';
import { Sqlite } from './sqlite.js';

/** Tables, views and indexes with their columns and these columns' types, a line each. */
const SHAPE = `
  SELECT m.type || ' ' || m.name || ' ' || c.name || ' ' || c.type
    FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c WHERE m.type IN ('table', 'view')
  UNION ALL
  SELECT 'index ' || m.name || ' ' || m.tbl_name || ' ' || c.seqno || ' ' || ifnull(c.name, '')
    FROM sqlite_schema AS m JOIN pragma_index_info(m.name) AS c WHERE m.type = 'index'`;

/**
 * Compares the layout of a database with that of an empty one: nothing may be missing; what was added is left alone.
 *
 * @throws SvcError `corrupt_database`
 */
export function assertShape(db: Db, empty: Db): void {
  const found = new Set(readStored(db));
  const missing = read(empty).find((line) => !found.has(line));
  if (missing !== undefined) throw damaged(`The layout of the database (${missing.trim()})`);
}

function read(db: Db): string[] {
  return db.prepare<[], string>(SHAPE).pluck().all();
}

/** SQLite reads a view when it is asked for its columns: damaged text is then an error of SQL. */
function readStored(db: Db): string[] {
  try {
    return read(db);
  } catch (error) {
    if (error instanceof Sqlite.SqliteError && error.code === 'SQLITE_ERROR') {
      throw damaged('The layout of the database', { error: error.message });
    }
    throw error;
  }
}

/** Tables whose content decides what a remap says. */
export const EXPORTED_TABLES = ['meta', 'stream', 'record', 'v4_company'] as const;

/** Every table of the file. */
export function listTables(db: Db): string[] {
  return db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all();
}

/**
 * Checks the structure of tables and their indexes: that pages hold what they must, in order, and that each index has
 * an entry for each row. That takes a thirtieth of a remap; without the indexes it would take half of that.
 *
 * @param onTable called before each table; what it throws ends the check
 * @throws SvcError `corrupt_database`
 */
export function checkFile(db: Db, tables: readonly string[], onTable: (done: number) => void): void {
  for (const [done, table] of tables.entries()) {
    onTable(done);
    const found = db.prepare<[], string>(`PRAGMA integrity_check("${table}")`).pluck().get() ?? '';
    if (found === 'ok') continue;
    throw new SvcError('corrupt_database', `The table ${table} of the database is damaged: ${found}.`, {
      hint: 'Restore a backup, or export again into a new database; nothing was repaired.',
    });
  }
}

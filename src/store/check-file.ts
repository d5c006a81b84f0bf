import { SvcError } from '../errors.js';
import type { Db } from './open.js';

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

import type { Config } from '../config/config.js';
import { assertSameExport } from '../store/fingerprint.js';
import { closeDatabase, guardDatabase, openDatabase } from '../store/open.js';
import type { Db } from '../store/sqlite.js';

/**
 * Runs `work` on a read-only snapshot of the configured database. If it fails for a reason that it does not foresee, the
 * whole file and the remap are checked, because damage can be the cause.
 *
 * @throws SvcError `other_configuration` if it was exported with another configuration, and as `openDatabase` does
 */
export async function readDatabase<T>(config: Config, work: (db: Db) => T | Promise<T>): Promise<T> {
  const db = openDatabase(config.database, 'read');
  try {
    guardDatabase(config.database, () => {
      db.exec('begin');
      assertSameExport(db, config);
    });
    return await work(db);
  } catch (error) {
    const { assertUndamaged, isBug, verifyRemap } = await import('../store/integrity.js');
    return guardDatabase(config.database, () => {
      if (isBug(error)) {
        assertUndamaged(db);
        verifyRemap(db);
      }
      throw error;
    });
  } finally {
    closeDatabase(db);
  }
}

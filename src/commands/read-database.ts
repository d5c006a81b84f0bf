import type { Config } from '../config/config.js';
import { buildFingerprint } from '../config/fingerprint.js';
import { assertSameExport } from '../store/fingerprint.js';
import { type Db, guardDatabase, openDatabase } from '../store/open.js';
import { namingOwner } from './hold-database.js';

/**
 * Runs `work` on the database as it is at one moment, read-only.
 *
 * @throws SvcError `other_configuration` where it was exported with another one, and as `openDatabase` does
 */
export async function readDatabase<T>(config: Config, work: (db: Db) => Promise<T>): Promise<T> {
  const db = namingOwner(config.database, () => openDatabase(config.database, 'read'));
  try {
    guardDatabase(config.database, () => {
      db.exec('BEGIN');
      assertSameExport(db, buildFingerprint(config));
    });
    return await work(db);
  } catch (error) {
    return guardDatabase(config.database, () => {
      throw error;
    });
  } finally {
    db.close();
  }
}

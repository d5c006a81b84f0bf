import type { Config } from '../config/config.js';
import type { Db } from '../store/sqlite.js';

/**
 * Runs `work` on the configured database, which this process alone may write.
 *
 * @param mode `create` also creates the database
 * @throws SvcError `locked`, and as `openDatabase` does
 */
export async function writeDatabase<T>(
  { database }: Pick<Config, 'database'>,
  mode: 'create' | 'write',
  work: (db: Db) => Promise<T>,
): Promise<T> {
  const { closeDatabase, guardDatabase, openDatabase } = await import('../store/open.js');
  const db = openDatabase(database, mode);
  try {
    return await work(db);
  } catch (error) {
    return guardDatabase(database, () => {
      throw error;
    });
  } finally {
    closeDatabase(db);
  }
}

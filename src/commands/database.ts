import type { Config } from '../config/config.js';
import { assertSameExport } from '../store/fingerprint.js';
import { closeDatabase, guardDatabase, openDatabase } from '../store/open.js';
import { assertUsableRemap, readStaleness } from '../store/readiness.js';
import type { Db } from '../store/sqlite.js';
import type { Io } from './command.js';

/**
 * Runs `work` on a read-only snapshot of the configured database. If it fails for a reason that it does not foresee, the
 * whole file and the remap are checked, because damage can be the cause.
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

interface RemapOptions {
  readonly allowIncomplete?: boolean | undefined;
}

/** Reads the last remap, and warns if it is stale. @throws SvcError `incomplete` if there is none */
export function readLastRemap<T>(
  config: Config,
  { allowIncomplete }: RemapOptions,
  { onProgress }: Io,
  work: (db: Db, isStale: boolean) => T | Promise<T>,
): Promise<T> {
  return readDatabase(config, (db) => {
    assertUsableRemap(db, config, { allowIncomplete: allowIncomplete === true, allowStale: true });
    const changes = readStaleness(db, config);
    const text = `The remap is stale. Changed since it was built: ${changes.join(', ')}.`;
    if (changes.length > 0) onProgress({ kind: 'note', level: 'warning', text });
    return work(db, changes.length > 0);
  });
}

/** Reads a remap that is current and unchanged since it was built. @throws SvcError `incomplete`, `corrupt_database` */
export async function readVerifiedRemap<T>(
  config: Config,
  { allowIncomplete }: RemapOptions,
  work: (db: Db) => T | Promise<T>,
): Promise<T> {
  const { verifyRemap } = await import('../store/integrity.js');
  return readDatabase(config, (db) => {
    assertUsableRemap(db, config, { allowIncomplete: allowIncomplete === true });
    verifyRemap(db);
    return work(db);
  });
}

/** Runs `work` on the configured database, which this process alone may write. @throws SvcError `locked` */
export async function writeDatabase<T>(
  { database }: Pick<Config, 'database'>,
  mode: 'create' | 'write',
  work: (db: Db) => Promise<T>,
): Promise<T> {
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

import type { HostWait } from '../api/host-limits.js';
import { SvcError } from '../errors.js';
import { readHostWaits, saveHostWaits } from '../store/host-waits.js';
import { type Db, guardDatabase, openDatabase } from '../store/open.js';
import type { Io } from './io.js';

/**
 * Runs `work`, which asks the service: hosts that asked an earlier process to wait are left alone until then, and
 * what they ask of this one is kept in the database for the next. Call it while nobody holds the database.
 */
export async function withHostWaits<T>(file: string, io: Io, work: () => Promise<T>): Promise<T> {
  io.hostLimits.resume(onDatabase(file, 'read', (db) => readHostWaits(db, io.clock.now())) ?? []);
  try {
    return await work();
  } finally {
    const waits: readonly HostWait[] = io.hostLimits.waits();
    if (waits.length > 0) {
      onDatabase(file, 'write', (db) =>
        db.transaction(() => saveHostWaits(db, waits, io.clock.now())).immediate(),
      );
    }
  }
}

/** What `work` gives; undefined where the database cannot be used, which the command itself reports. */
function onDatabase<T>(file: string, mode: 'read' | 'write', work: (db: Db) => T): T | undefined {
  try {
    const db = openDatabase(file, mode);
    try {
      return guardDatabase(file, () => work(db));
    } finally {
      db.close();
    }
  } catch (error) {
    if (error instanceof SvcError) return undefined;
    throw error;
  }
}

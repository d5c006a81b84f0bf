import { existsSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { Database } from 'better-sqlite3';
import { SvcError } from '../../errors.js';
import { APPLICATION_ID } from '../../store/schema.js';
import { Sqlite } from '../../store/sqlite.js';
import type { ApplyContext } from '../context.js';

/** Somebody else's SQLite database. */
export type UserDb = Database;

/** Short, because SQLite waits without letting signals in; longer waits are made of several. */
const BUSY_MS = 100;

/**
 * Opens the user's database: read-only, or to write.
 *
 * @throws SvcError `bad_input`: missing, not SQLite, or the svc-migrate database itself
 */
export function openUserDb(file: string, isWriter: boolean): UserDb {
  if (!existsSync(file) || !statSync(file).isFile()) {
    throw new SvcError('bad_input', `There is no SQLite database at ${file}.`, { hint: 'Check the path.' });
  }
  try {
    const db = isWriter ? connect(file, false) : openReader(file);
    if (db.pragma('application_id', { simple: true }) === APPLICATION_ID) {
      db.close();
      throw new SvcError('bad_input', `${file} is the svc-migrate database, not your own data.`, {
        hint: 'Name the database that holds your records.',
      });
    }
    if (isWriter) db.pragma('synchronous = FULL');
    db.pragma('temp_store = FILE');
    return db;
  } catch (error) {
    throw sqliteError(error, file);
  }
}

function connect(file: string, readonly: boolean): UserDb {
  return new Sqlite(file, { readonly, fileMustExist: true, timeout: BUSY_MS });
}

/**
 * A killed writer leaves a journal that must be rolled back before anybody can read what was committed. A
 * connection that is read-only may not, so one that writes does it, as every program that opens the file would.
 */
function openReader(file: string): UserDb {
  const db = connect(file, true);
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return db;
  } catch (error) {
    db.close();
    if (!(error instanceof Sqlite.SqliteError) || !NEEDS_RECOVERY.has(error.code)) throw error;
  }
  const writer = connect(file, false);
  try {
    writer.prepare('SELECT count(*) FROM sqlite_schema').get();
  } finally {
    writer.close();
  }
  return connect(file, true);
}

const NEEDS_RECOVERY = new Set(['SQLITE_READONLY_ROLLBACK', 'SQLITE_READONLY_RECOVERY']);

/** SQLite's errors about the user's database as ours; others as they are. */
export function sqliteError(error: unknown, file: string): unknown {
  if (!(error instanceof Sqlite.SqliteError)) return error;
  const options = { facts: { error: error.code }, cause: error };
  if (isBusy(error)) {
    return new SvcError('locked', `${file} is locked by another program.`, {
      ...options,
      hint: 'Try again when it is less busy, or raise --lock-timeout.',
    });
  }
  if (/^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|PERM)/.test(error.code)) {
    return new SvcError('disk', `Cannot write ${file}: ${error.message}.`, {
      ...options,
      hint: 'Make room or mend the rights, then run the same command again.',
    });
  }
  return new SvcError('bad_input', `${file}: ${error.message}.`, options);
}

function isBusy(error: unknown): boolean {
  return error instanceof Sqlite.SqliteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code);
}

/**
 * Runs `work` in one write transaction, again while the database is busy, up to the lock timeout. `work` must
 * not wait for anything.
 *
 * @throws SvcError `locked`, `interrupted`, and what SQLite says otherwise
 */
export async function inTransaction<T>(context: ApplyContext, db: UserDb, work: () => T): Promise<T> {
  const until = context.now() + context.tuning.lockTimeoutMs;
  for (let attempt = 1; ; attempt += 1) {
    // Between two transactions signals are let in.
    await setImmediate();
    if (context.signal.aborted) throw interrupted();
    try {
      return runOnce(db, work);
    } catch (error) {
      if (!isBusy(error) || context.now() > until || attempt > MAX_ATTEMPTS) throw error;
      await context.sleep(50 + context.random() * 100);
    }
  }
}

/** Bounds the attempts also where the clock stands still. */
const MAX_ATTEMPTS = 10_000;

function runOnce<T>(db: UserDb, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

export function interrupted(): SvcError {
  return new SvcError('interrupted', 'Stopped between two steps; the ledger says where.', {
    hint: 'Run the same command again to go on, or `svc-migrate undo RUN` to take it back.',
  });
}

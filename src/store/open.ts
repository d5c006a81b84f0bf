import { statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { SvcError } from '../errors.js';
import { assertShape } from './check-structure.js';
import { registerChecksum } from './checksum.js';
import {
  assertVersion,
  createPrivately,
  hasUnfinished,
  isInWalMode,
  noDatabase,
  notOurs,
  prepareFile,
} from './database-file.js';
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './schema.js';
import { Sqlite } from './sqlite.js';

type SqliteError = InstanceType<typeof Sqlite.SqliteError>;

/** An open database. Integers read from it are `bigint`: ids pass through it. */
export type Db = Database;

export type OpenMode = 'create' | 'write' | 'read';

/** The first SQLite without the WAL-reset corruption bug. */
const OLDEST_SQLITE = [3, 51, 3] as const;

/** What others may hold the file for: to recover after a crash, or to begin or end writing. */
const BUSY_TIMEOUT_MS = 5000;
/** A second writer is refused after that. */
const WRITER_TIMEOUT_MS = 250;

/**
 * Opens the one database of a migration.
 *
 * `create` makes it where there is none; `write` and `read` refuse a missing one. With `create` and `write` it is the
 * only writer until `closeDatabase`. Readers see the last commit, and what they read in one transaction stays as it is.
 *
 * @throws SvcError `locked`, `not_our_database`, `newer_database`, `older_database`, `corrupt_database`, `disk`, `bad_input`
 */
export function openDatabase(file: string, mode: OpenMode): Db {
  prepareFile(file, mode === 'create');
  return guardDatabase(file, () => {
    if (mode === 'read') rollBackInterrupted(file);
    // prepareFile could not look at it, and a writer's connection changes other programs' files when it is closed
    else if (isInWalMode(file)) openDatabase(file, 'read').close();
    const db = new Sqlite(file, { readonly: mode === 'read', timeout: BUSY_TIMEOUT_MS });
    try {
      db.defaultSafeIntegers(true);
      registerChecksum(db);
      assertSqliteVersion(db);
      if (mode === 'read') db.pragma('query_only = ON');
      else lockWriters(db, file);
      if (isBlank(db)) {
        if (mode !== 'create') throw noDatabase(file);
        createSchema(db);
      }
      assertOurs(db, file);
      if (mode !== 'read') allowReaders(db);
      assertWhole(db, file);
      assertLayout(db);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/**
 * Closes a database. Without other readers a written one is then one file again, which can be copied, and be read where
 * nothing can be written; otherwise the next writer makes it so.
 */
export function closeDatabase(db: Db): void {
  try {
    if (db.readonly) return;
    db.pragma('busy_timeout = 0');
    // readers are let in while this copies
    db.pragma('main.wal_checkpoint(PASSIVE)');
    db.pragma('main.journal_mode = DELETE');
  } catch (error) {
    // Readers, or a full disk: what was committed stays in the log.
    if (!(error instanceof Sqlite.SqliteError)) throw error;
  } finally {
    db.close();
  }
}

/** A process that died while it made the database, or began or ended writing: readers may not roll that back. */
function rollBackInterrupted(file: string): void {
  if (!hasUnfinished(file, '-journal')) return;
  const db = new Sqlite(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    isBlank(db);
  } finally {
    db.close();
  }
}

/** The lock is on a file of its own, and held between transactions: on the database it would keep readers out. */
function lockWriters(db: Db, file: string): void {
  // only takes where there is nothing yet: pages of 16 KiB hold payloads a third faster than the usual 4 KiB
  db.pragma('page_size = 16384');
  const lock = `${file}-writer`;
  createPrivately(lock);
  db.prepare('ATTACH ? AS writer_lock').run(lock);
  db.pragma('writer_lock.locking_mode = EXCLUSIVE');
  db.pragma('writer_lock.journal_mode = MEMORY');
  db.pragma(`busy_timeout = ${WRITER_TIMEOUT_MS}`);
  // the lock outlives the transaction
  db.exec('BEGIN IMMEDIATE; ROLLBACK');
  db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
}

/** Where the file system cannot share memory, as on some network drives, the mode stays: readers are then kept out. */
function allowReaders(db: Db): void {
  db.pragma('main.journal_mode = WAL');
  db.pragma('main.synchronous = FULL');
  db.pragma('main.cache_size = -8192');
}

/**
 * Copies the database as it is at one moment, whatever is written meanwhile, into an empty file.
 *
 * @param onStep told how many pages are copied; returns how many are copied next, and may throw
 */
export async function copyDatabase(
  db: Db,
  copy: string,
  onStep: (done: number, total: number) => number,
): Promise<void> {
  db.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
  await db.backup(copy, {
    progress: ({ totalPages, remainingPages }) => onStep(totalPages - remainingPages, totalPages),
  });
  // made during writing, it says that there is a log
  closeDatabase(new Sqlite(copy));
}

/** A database in memory that holds nothing: for work that needs no remap. */
export function openEmptyDatabase(): Db {
  const db = new Sqlite(':memory:');
  db.defaultSafeIntegers(true);
  registerChecksum(db);
  createSchema(db);
  return db;
}

/** New, or left so by a process that died while it made it. */
function isBlank(db: Db): boolean {
  return db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0n;
}

function createSchema(db: Db): void {
  db.transaction(() => {
    db.exec(SCHEMA);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${SCHEMA_VERSION}`);
  }).immediate();
}

function assertOurs(db: Db, file: string): void {
  if (Number(db.pragma('application_id', { simple: true })) !== APPLICATION_ID) throw notOurs(file);
  const version = Number(db.pragma('user_version', { simple: true }));
  assertVersion(file, version);
}

function assertLayout(db: Db): void {
  const empty = openEmptyDatabase();
  try {
    assertShape(db, empty);
  } finally {
    empty.close();
  }
}

/** SQLite reads a last page that was cut as if it were filled up with zeros. The last pages may still be in the log. */
function assertWhole(db: Db, file: string): void {
  const bytes =
    Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }));
  if (hasUnfinished(file, '-wal') || statSync(file).size >= bytes) return;
  throw new SvcError('corrupt_database', `${file} is damaged: its end is missing.`, { hint: DAMAGED });
}

const DAMAGED = 'Move it away and export again; nothing was repaired.';

/** The version of SQLite, such as `3.51.3`; null where it cannot be loaded. */
export function readSqliteVersion(): string | null {
  try {
    const db = new Sqlite(':memory:');
    const version = String(db.prepare('SELECT sqlite_version()').pluck().get());
    db.close();
    return version;
  } catch {
    return null;
  }
}

function assertSqliteVersion(db: Db): void {
  const text = String(db.prepare('SELECT sqlite_version()').pluck().get());
  const parts = text.split('.').map(Number);
  for (const [at, least] of OLDEST_SQLITE.entries()) {
    const part = parts[at] ?? 0;
    if (part > least) return;
    if (part < least) throw new SvcError('internal', `SQLite ${text} is too old: 3.51.3 or later is needed.`);
  }
}

/**
 * Runs `work` and turns SQLite's errors into ours.
 *
 * @throws SvcError `locked`, `corrupt_database`, `disk`
 */
export function guardDatabase<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Sqlite.SqliteError ? fromSqlite(file, error) : error;
  }
}

/** What functions say of values that no export and no remap writes. */
const UNREADABLE = /malformed JSON|JSON cannot hold BLOB values/;

/** SQLite's error as ours; unknown ones stay internal errors with their stack. */
function fromSqlite(file: string, error: SqliteError): Error {
  const facts = { error: error.code };
  if (/^SQLITE_(BUSY|LOCKED)/.test(error.code)) {
    return new SvcError('locked', `Another process is using ${file}.`, {
      hint: 'Wait until it has finished; one process at a time writes a database.',
      facts,
      cause: error,
    });
  }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(error.code) || UNREADABLE.test(error.message)) {
    return new SvcError('corrupt_database', `${file} is damaged: ${error.message}.`, {
      hint: DAMAGED,
      facts,
      cause: error,
    });
  }
  if (/^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|PERM)/.test(error.code)) {
    return new SvcError('disk', `Cannot write ${file}: ${error.message}.`, {
      hint: 'Free space or mend the folder, then run the same command again: it continues where it stopped.',
      facts,
      cause: error,
    });
  }
  return error;
}

import { statSync } from 'node:fs';
import { SvcError } from '../errors.js';
import { realPath } from '../runtime/write-output.js';
import { registerChecksum } from './checksum.js';
import {
  assertVersion,
  createPrivateFile,
  hasUnfinishedLog,
  isInWalMode,
  noDatabase,
  notOurs,
  prepareFile,
} from './database-file.js';
import { assertShape, checkFile, readShape, type Shape, UNCOUNTED_TABLES } from './integrity.js';
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './schema.js';
import { type Db, Sqlite } from './sqlite.js';

type SqliteError = InstanceType<typeof Sqlite.SqliteError>;

export type { Db };

export type OpenMode = 'create' | 'write' | 'read';

/** The first version of SQLite without the WAL-reset corruption bug. */
const OLDEST_SQLITE = [3, 51, 3] as const;

/** Time to wait for others that lock the file briefly: to recover after a crash, or to begin or end writing. */
const BUSY_TIMEOUT_MS = 5000;
/** A second writer is refused after this time. */
const WRITER_TIMEOUT_MS = 250;

/**
 * Opens the database of a migration.
 *
 * `create` creates a missing database; `write` and `read` refuse it. With `create` and `write`, the connection is the
 * only writer until `closeDatabase`. Readers see the last commit, and one transaction always sees the same state.
 *
 * @throws SvcError `locked`, `not_our_database`, `newer_database`, `older_database`, `corrupt_database`, `disk`, `bad_input`
 */
export function openDatabase(file: string, mode: OpenMode): Db {
  prepareFile(file, mode === 'create');
  return guardDatabase(file, () => {
    if (mode === 'read') rollBackInterrupted(file);
    // `prepareFile` does not check a file in WAL mode, and closing a connection that may write would change it
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
      const indexed = assertShape(db, ourShape());
      checkFile(db, [...UNCOUNTED_TABLES, ...indexed], () => {});
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/**
 * Closes a database. If it was written and has no other readers, it becomes a single file again, which can be copied and
 * read on a read-only file system; otherwise the next writer does this.
 */
export function closeDatabase(db: Db): void {
  try {
    if (db.readonly) return;
    db.pragma('busy_timeout = 0');
    // copies most pages without blocking readers
    db.pragma('main.wal_checkpoint(PASSIVE)');
    db.pragma('main.journal_mode = DELETE');
  } catch (error) {
    // Busy readers or a full disk: commits stay in the log.
    if (!(error instanceof Sqlite.SqliteError)) throw error;
  } finally {
    db.close();
  }
}

/** Rolls back a transaction of a crashed process, because a read-only connection cannot. */
function rollBackInterrupted(file: string): void {
  if (!hasUnfinishedLog(file, '-journal')) return;
  const db = new Sqlite(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    isBlank(db);
  } finally {
    db.close();
  }
}

/** Takes the writer lock until the connection is closed. It is on a separate file, so that it does not block readers. */
function lockWriters(db: Db, file: string): void {
  // takes effect only in a new database: with pages of 16 KiB, payloads are a third faster than with the usual 4 KiB
  db.pragma('page_size = 16384');
  // waits for others that lock the database itself briefly
  isBlank(db);
  attachLock(db, `${realPath(file)}-writer`);
}

function attachLock(db: Db, lock: string): void {
  createPrivateFile(lock);
  db.pragma(`busy_timeout = ${WRITER_TIMEOUT_MS}`);
  db.prepare('ATTACH ? AS writer_lock').run(lock);
  db.pragma('writer_lock.locking_mode = EXCLUSIVE');
  db.pragma('writer_lock.journal_mode = MEMORY');
  // in exclusive mode, the lock is kept after the transaction
  db.exec('BEGIN IMMEDIATE; ROLLBACK');
  db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
}

/** Sets WAL mode. Without shared memory, as on some network drives, it has no effect: a writer then blocks readers. */
function allowReaders(db: Db): void {
  db.pragma('main.journal_mode = WAL');
  db.pragma('main.synchronous = FULL');
  db.pragma('main.cache_size = -8192');
}

/**
 * Copies a consistent state of the database into an empty file, even while it is written.
 *
 * @param onStep called with the number of pages copied; returns how many to copy next, and may throw
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
  // the copy of a database in WAL mode expects a log: closing it resets the mode
  closeDatabase(new Sqlite(copy));
}

/** An empty database in memory, for work that needs no remap. */
export function openEmptyDatabase(): Db {
  const db = new Sqlite(':memory:');
  db.defaultSafeIntegers(true);
  registerChecksum(db);
  createSchema(db);
  return db;
}

/** Whether the database has no tables: it is new, or its creation was interrupted. */
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

/** What every database has; read once in each process. */
let shape: Shape | null = null;

function ourShape(): Shape {
  if (shape !== null) return shape;
  const empty = openEmptyDatabase();
  try {
    shape = readShape(empty);
    return shape;
  } finally {
    empty.close();
  }
}

/** SQLite reads a truncated last page as zeros, so the file size is checked, unless the last pages may be in a log. */
function assertWhole(db: Db, file: string): void {
  const bytes =
    Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }));
  if (hasUnfinishedLog(file, '-wal') || statSync(file).size >= bytes) return;
  throw new SvcError('corrupt_database', `${file} is damaged: its end is missing.`, { hint: DAMAGED });
}

const DAMAGED = 'Move it away and export again; nothing was repaired.';

/** The version of SQLite, such as `3.51.3`; null if it cannot be loaded. */
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

/** Messages about values and versions that can only be there through damage; their code is SQLITE_ERROR. */
const UNREADABLE = /malformed JSON|JSON cannot hold BLOB values|unsupported file format/;

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
      hint: "Free disk space or fix the folder's permissions, then run the same command again; an export goes on where it stopped.",
      facts,
      cause: error,
    });
  }
  return error;
}

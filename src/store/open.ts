import { chmodSync, closeSync, existsSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { describeFileError, errorCodeOf, SvcError } from '../errors.js';
import schema from './schema.sql';
import { type Db, Sqlite } from './sqlite.js';

export type OpenMode = 'create' | 'write' | 'read';

/** `SVCM` */
export const APPLICATION_ID = 0x5356434d;
const SCHEMA_VERSION = 12;

const BUSY_TIMEOUT_MS = 5000;
const WRITER_TIMEOUT_MS = 250;

const HEADER_BYTES = 100;
const SCHEMA_COOKIE_AT = 40;
const USER_VERSION_AT = 60;
const APPLICATION_ID_AT = 68;

/**
 * Opens the database of a migration.
 *
 * `create` creates a missing database; `write` and `read` refuse it. With `create` and `write`, the connection is the
 * only writer until `closeDatabase`. Readers see the last commit, and one transaction always sees the same state.
 *
 * @throws SvcError `locked`, `not_our_database`, `newer_database`, `older_database`, `corrupt_database`, `disk`,
 *   `bad_input`; `incomplete` if there is no database
 */
export function openDatabase(file: string, mode: OpenMode): Db {
  return guardDatabase(file, () => guardFile(file, () => openFile(file, mode)));
}

function openFile(file: string, mode: OpenMode): Db {
  prepareFile(file, mode === 'create');
  if (mode === 'read') rollBackInterrupted(file);
  // `prepareFile` does not check a file in WAL mode, and closing a connection that may write would change it.
  else if (isInWalMode(file)) openFile(file, 'read').close();
  const db = new Sqlite(file, { readonly: mode === 'read', timeout: BUSY_TIMEOUT_MS });
  try {
    db.defaultSafeIntegers(true);
    if (mode === 'read') db.pragma('query_only = on');
    else lockWriters(db, file);
    if (isBlank(db)) {
      if (mode !== 'create') throw noDatabase(file);
      createSchema(db);
    }
    assertOurs(db, file);
    if (mode !== 'read') allowReaders(db);
    assertWhole(db, file);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
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
    db.pragma('main.wal_checkpoint(passive)');
    db.pragma('main.journal_mode = delete');
  } catch (error) {
    // Busy readers or a full disk: commits stay in the log.
    if (!(error instanceof Sqlite.SqliteError)) throw error;
  } finally {
    db.close();
  }
}

export function transact<T>(db: Db, work: () => T): T {
  return db.transaction(work).immediate();
}

/** Turns SQLite's errors into ours. @throws SvcError `locked`, `corrupt_database`, `disk` */
export function guardDatabase<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Sqlite.SqliteError ? fromSqlite(file, error) : error;
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

/**
 * Takes the writer lock until the connection is closed: SQLite's own lock on a separate file, so that it does not block
 * readers. The system releases it when the process ends.
 */
function lockWriters(db: Db, file: string): void {
  // Takes effect only in a new database. Pages of 8 KiB store bodies faster than the default of 4 KiB.
  db.pragma('page_size = 8192');
  isBlank(db);
  const lock = `${realpathSync(file)}-writer`;
  createPrivateFile(lock);
  db.pragma(`busy_timeout = ${WRITER_TIMEOUT_MS}`);
  db.prepare('attach ? as writer_lock').run(lock);
  db.pragma('writer_lock.locking_mode = exclusive');
  db.pragma('writer_lock.journal_mode = memory');
  // In exclusive mode, the lock is kept after the transaction.
  db.exec('begin immediate; rollback');
  db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
}

/** Sets WAL mode. Without shared memory, as on some network drives, it has no effect: a writer then blocks readers. */
function allowReaders(db: Db): void {
  db.pragma('main.journal_mode = wal');
  db.pragma('main.synchronous = full');
  // 4 MiB: 16 MiB were no faster at 200,000 records.
  db.pragma('main.cache_size = -4096');
}

function isBlank(db: Db): boolean {
  return db.prepare('select count(*) from sqlite_schema').pluck().get() === 0n;
}

function createSchema(db: Db): void {
  transact(db, () => {
    db.exec(schema);
    db.pragma(`application_id = ${APPLICATION_ID}`);
    db.pragma(`user_version = ${SCHEMA_VERSION}`);
  });
}

function assertOurs(db: Db, file: string): void {
  if (Number(db.pragma('application_id', { simple: true })) !== APPLICATION_ID) throw notOurs(file);
  assertVersion(file, Number(db.pragma('user_version', { simple: true })));
}

/** SQLite reads a truncated last page as zeros, so the file size is checked, unless the last pages may be in a log. */
function assertWhole(db: Db, file: string): void {
  const pages = Number(db.pragma('page_count', { simple: true }));
  const bytes = pages * Number(db.pragma('page_size', { simple: true }));
  if (hasUnfinishedLog(file, '-wal') || statSync(file).size >= bytes) return;
  throw new SvcError('corrupt_database', `${file} is damaged: its end is missing.`, { hint: DAMAGED });
}

export const DAMAGED = 'Move it away and export again; nothing was repaired.';

/** Messages about values and versions that can only be there through damage; their code is SQLITE_ERROR. */
const UNREADABLE = /malformed JSON|JSON cannot hold BLOB values|unsupported file format/;

function fromSqlite(file: string, error: InstanceType<typeof Sqlite.SqliteError>): Error {
  const options = (hint: string) => ({ hint, facts: { error: error.code }, cause: error });
  if (/^SQLITE_(BUSY|LOCKED)/.test(error.code)) {
    const hint = 'Wait until it has finished; one process at a time writes a database.';
    return new SvcError('locked', `Another process is using ${file}.`, options(hint));
  }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(error.code) || UNREADABLE.test(error.message)) {
    return new SvcError('corrupt_database', `${file} is damaged: ${error.message}.`, options(DAMAGED));
  }
  if (/^SQLITE_(FULL|IOERR|READONLY|CANTOPEN|PERM)/.test(error.code)) {
    const hint =
      "Free disk space or fix the folder's permissions, then run the same command again; an export continues where it stopped.";
    return new SvcError('disk', `Cannot write ${file}: ${error.message}.`, options(hint));
  }
  return error;
}

function guardFile<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof Error) || !('syscall' in cause)) throw cause;
    throw new SvcError('disk', `Cannot open ${file}: ${describeFileError(cause)}.`, {
      hint: 'Check that its folder exists, and the permissions of both.',
      facts: { error: errorCodeOf(cause) },
      cause,
    });
  }
}

/**
 * Checks the header of a file before SQLite opens it, because opening a database can already write to it. With
 * `mayCreate`, a missing file is created. A database in WAL mode is not read here: closing the file would release this
 * process's POSIX locks on it, and another writer could then delete the log that a reader uses.
 */
function prepareFile(file: string, mayCreate: boolean): void {
  const stat = statSync(file, { throwIfNoEntry: false });
  if (stat === undefined) {
    if (!mayCreate) throw noDatabase(file);
    createPrivateFile(file);
  } else if (!stat.isFile()) {
    const what = stat.isDirectory() ? 'a folder, not a database' : 'not a regular file';
    throw new SvcError('bad_input', `${file} is ${what}.`, { hint: 'Name a file with --db.' });
  } else if (stat.size === 0 && mayCreate) {
    chmodSync(file, 0o600);
  } else if (stat.size > 0 && !isInWalMode(file)) {
    assertHeader(file);
  }
}

/** Whether there are changes that SQLite must roll back (`-journal`) or copy into the database (`-wal`). */
function hasUnfinishedLog(file: string, suffix: '-journal' | '-wal'): boolean {
  return (statSync(`${file}${suffix}`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** True while a database has a writer, and later if that writer crashed or readers were still open. */
function isInWalMode(file: string): boolean {
  return existsSync(`${file}-wal`);
}

function noDatabase(file: string): SvcError {
  return new SvcError('incomplete', `There is no database at ${file}.`, {
    hint: 'Run `svc-migrate run` first, or name the database with --db.',
  });
}

function notOurs(file: string): SvcError {
  return new SvcError('not_our_database', `${file} is not a svc-migrate database; it was not touched.`, {
    hint: 'Name another file with --db, or move this one away.',
  });
}

function assertVersion(file: string, version: number): void {
  if (version === SCHEMA_VERSION) return;
  const [age, hint] =
    version > SCHEMA_VERSION
      ? (['newer', 'Update svc-migrate, or export into a new database with --db.'] as const)
      : (['older', 'Export again into a new database with --db, or use the version that wrote it.'] as const);
  const text = `${file} was written by a version of svc-migrate that is ${age} (layout ${version}).`;
  throw new SvcError(`${age}_database`, text, { hint });
}

/** Creates an empty file, unless it exists, that only its owner can read. SQLite's side files inherit the permissions. */
function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    // Another process created it first; SQLite's lock decides which one writes.
    if (errorCodeOf(error) !== 'EEXIST') throw error;
  }
}

function assertHeader(file: string): void {
  const head = Buffer.alloc(HEADER_BYTES);
  const fd = openSync(file, 'r');
  try {
    if (readSync(fd, head) < HEADER_BYTES) throw notOurs(file);
  } finally {
    closeSync(fd);
  }
  const owner = head.readUInt32BE(APPLICATION_ID_AT);
  // A process that crashed while it created the database leaves one without any table.
  const isBlankFile = head.readUInt32BE(SCHEMA_COOKIE_AT) === 0;
  const isOurs = owner === APPLICATION_ID || (owner === 0 && isBlankFile);
  if (!isOurs || head.toString('latin1', 0, 16) !== 'SQLite format 3\0') throw notOurs(file);
  // The version of an unfinished transaction does not count: SQLite rolls it back first.
  if (!isBlankFile && !hasUnfinishedLog(file, '-journal'))
    assertVersion(file, head.readInt32BE(USER_VERSION_AT));
}

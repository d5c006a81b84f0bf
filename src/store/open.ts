import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { SvcError } from '../errors.js';
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './schema.js';

type SqliteError = InstanceType<typeof Database.SqliteError>;

/** An open database. Integers read from it are `bigint`: ids pass through it. */
export type Db = Database.Database;

export type OpenMode = 'create' | 'write' | 'read';

/** The first SQLite without the WAL-reset corruption bug. */
const OLDEST_SQLITE = [3, 51, 3] as const;

/**
 * Opens the one database of a migration.
 *
 * `create` makes it where there is none; `write` and `read` refuse a missing one. `create` and `write` hold
 * it exclusively until closed; `read` only keeps writers out while a statement runs.
 *
 * @throws SvcError `locked`, `not_our_database`, `newer_database`, `corrupt_database`, `disk`, `bad_input`
 */
export function openDatabase(file: string, mode: OpenMode): Db {
  const isNew = prepareFile(file, mode);
  return guardDatabase(file, () => {
    const db = new Database(file, { readonly: mode === 'read', timeout: 0 });
    try {
      db.defaultSafeIntegers(true);
      assertSqliteVersion(db);
      if (mode === 'read') db.pragma('query_only = ON');
      else takeExclusively(db);
      if (isNew) createSchema(db);
      assertOurs(db, file);
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  });
}

/** True where the file is new or empty and is to get the schema. Touches nothing it may not own. */
function prepareFile(file: string, mode: OpenMode): boolean {
  if (existsSync(file)) {
    if (statSync(file).isDirectory()) {
      throw new SvcError('bad_input', `${file} is a folder, not a database.`, {
        hint: 'Name a file with --db.',
      });
    }
    if (statSync(file).size === 0) return mode === 'create';
    assertSqliteHeader(file);
    return false;
  }
  if (mode !== 'create') {
    throw new SvcError('bad_input', `There is no database at ${file}.`, {
      hint: 'Run `svc-migrate export v3` first, or name the database with --db.',
    });
  }
  try {
    // SQLite's side files inherit the mode of the main file.
    closeSync(openSync(file, 'wx', 0o600));
  } catch (cause) {
    throw new SvcError('disk', `Cannot create the database ${file}.`, {
      hint: 'Check that the folder exists and can be written.',
      facts: { error: errorCodeOf(cause) },
      cause,
    });
  }
  return true;
}

function assertSqliteHeader(file: string): void {
  const head = Buffer.alloc(16);
  const fd = openSync(file, 'r');
  try {
    readSync(fd, head, 0, 16, 0);
  } finally {
    closeSync(fd);
  }
  if (head.toString('latin1') === 'SQLite format 3\0') return;
  throw notOurs(file);
}

function takeExclusively(db: Db): void {
  db.pragma('locking_mode = EXCLUSIVE');
  db.pragma('journal_mode = TRUNCATE');
  db.pragma('synchronous = FULL');
  db.pragma('cache_size = -8192');
  db.exec('BEGIN EXCLUSIVE; COMMIT');
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
  if (version <= SCHEMA_VERSION) return;
  throw new SvcError('newer_database', `${file} was written by a newer svc-migrate (layout ${version}).`, {
    hint: 'Update svc-migrate, or export into a new database with --db.',
  });
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

function notOurs(file: string): SvcError {
  return new SvcError('not_our_database', `${file} is not a svc-migrate database; it was not touched.`, {
    hint: 'Name another file with --db, or move this one away.',
  });
}

function errorCodeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
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
    throw error instanceof Database.SqliteError ? fromSqlite(file, error) : error;
  }
}

/** SQLite's error as ours; unknown ones stay internal errors with their stack. */
export function fromSqlite(file: string, error: SqliteError): Error {
  const facts = { error: error.code };
  if (/^SQLITE_(BUSY|LOCKED)/.test(error.code)) {
    return new SvcError('locked', `Another process is using ${file}.`, {
      hint: 'Wait until it has finished; one process works on a database at a time.',
      facts,
      cause: error,
    });
  }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(error.code)) {
    return new SvcError('corrupt_database', `${file} is damaged: ${error.message}.`, {
      hint: 'Move it away and export again; nothing was repaired.',
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

import { chmodSync, closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { errorCodeOf, SvcError } from '../errors.js';
import { APPLICATION_ID, SCHEMA_VERSION } from './schema.js';

/** The first bytes of a SQLite file; fields are big-endian (https://www.sqlite.org/fileformat.html). */
const HEADER_BYTES = 100;
const SCHEMA_COOKIE_AT = 40;
const USER_VERSION_AT = 60;
const APPLICATION_ID_AT = 68;

/**
 * Checks the header of a file before SQLite opens it, because opening a database can already write to it. With
 * `mayCreate`, a missing file is created. A database in WAL mode is not read here: closing the file would release this
 * process's POSIX locks on it, and another writer could then delete the log that a reader uses.
 *
 * @throws SvcError `bad_input`, `not_our_database`, `newer_database`, `older_database`, `disk`
 */
export function prepareFile(file: string, mayCreate: boolean): void {
  const stat = withReadError(file, () => statSync(file, { throwIfNoEntry: false }));
  if (stat === undefined) {
    if (!mayCreate) throw noDatabase(file);
    createPrivateFile(file);
  } else if (stat.isDirectory()) {
    throw new SvcError('bad_input', `${file} is a folder, not a database.`, {
      hint: 'Name a file with --db.',
    });
  } else if (!stat.isFile()) {
    throw new SvcError('bad_input', `${file} is not a regular file.`, { hint: 'Name a file with --db.' });
  } else if (stat.size === 0 && mayCreate) {
    withReadError(file, () => chmodSync(file, 0o600));
  } else if (stat.size > 0 && !isInWalMode(file)) {
    assertHeader(
      file,
      withReadError(file, () => readHeader(file)),
    );
  }
}

/** Whether there are changes that SQLite must roll back (`-journal`) or copy into the database (`-wal`). */
export function hasUnfinishedLog(file: string, suffix: '-journal' | '-wal'): boolean {
  return (statSync(`${file}${suffix}`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * Refuses a name for a new database if the log of another one has that name: SQLite would apply it to the new one.
 *
 * @throws SvcError `usage`
 */
export function assertNoLog(file: string): void {
  const log = ['-journal', '-wal'].map((suffix) => `${file}${suffix}`).find((name) => existsSync(name));
  if (log === undefined) return;
  throw new SvcError('usage', `${log} belongs to another database of that name.`, {
    hint: 'Name another file, or move that database away.',
  });
}

/** True while a database has a writer, and later if that writer crashed or readers were still open. */
export function isInWalMode(file: string): boolean {
  return existsSync(`${file}-wal`);
}

export function noDatabase(file: string): SvcError {
  return new SvcError('incomplete', `There is no database at ${file}.`, {
    hint: 'Run `svc-migrate run` first, or name the database with --db.',
  });
}

export function notOurs(file: string): SvcError {
  return new SvcError('not_our_database', `${file} is not a svc-migrate database; it was not touched.`, {
    hint: 'Name another file with --db, or move this one away.',
  });
}

function newerDatabase(file: string, version: number): SvcError {
  return new SvcError('newer_database', `${file} was written by a newer svc-migrate (layout ${version}).`, {
    hint: 'Update svc-migrate, or export into a new database with --db.',
  });
}

/** Rows of older layouts have no checksums; adding them now would certify rows that may be damaged. */
function olderDatabase(file: string, version: number): SvcError {
  return new SvcError('older_database', `${file} was written by an older svc-migrate (layout ${version}).`, {
    hint: 'Export again into a new database with --db, or use the version that wrote this one.',
  });
}

/**
 * Creates an empty file, unless it exists, that only its owner can read. SQLite's side files inherit the permissions.
 *
 * @throws SvcError `disk`
 */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (cause) {
    // Another process created it first; SQLite's lock decides which one writes.
    if (errorCodeOf(cause) === 'EEXIST') return;
    throw new SvcError('disk', `Cannot create the database ${file}.`, {
      hint: 'Check that the folder exists and is writable.',
      facts: { error: errorCodeOf(cause) },
      cause,
    });
  }
}

function readHeader(file: string): Buffer {
  const head = Buffer.alloc(HEADER_BYTES);
  const fd = openSync(file, 'r');
  try {
    return head.subarray(0, readSync(fd, head, 0, HEADER_BYTES, 0));
  } finally {
    closeSync(fd);
  }
}

function withReadError<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new SvcError('disk', `Cannot read ${file}.`, {
      hint: 'Check the permissions of the file and its folder.',
      facts: { error: errorCodeOf(cause) },
      cause,
    });
  }
}

function assertHeader(file: string, head: Buffer): void {
  if (head.length < HEADER_BYTES || head.toString('latin1', 0, 16) !== 'SQLite format 3\0')
    throw notOurs(file);
  const owner = head.readUInt32BE(APPLICATION_ID_AT);
  // A process that crashed while it created the database leaves one without any table.
  const isBlank = head.readUInt32BE(SCHEMA_COOKIE_AT) === 0;
  if (owner !== APPLICATION_ID && (owner !== 0 || !isBlank)) throw notOurs(file);
  const version = head.readInt32BE(USER_VERSION_AT);
  // The version of an unfinished transaction does not count: SQLite rolls it back first.
  if (!isBlank && !hasUnfinishedLog(file, '-journal')) assertVersion(file, version);
}

/** @throws SvcError `newer_database`, `older_database` */
export function assertVersion(file: string, version: number): void {
  if (version > SCHEMA_VERSION) throw newerDatabase(file, version);
  if (version < SCHEMA_VERSION) throw olderDatabase(file, version);
}

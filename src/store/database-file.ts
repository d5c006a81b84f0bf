import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { errorCodeOf, SvcError } from '../errors.js';
import { APPLICATION_ID, SCHEMA_VERSION } from './schema.js';

/** The first bytes of a SQLite file; fields are big-endian (https://www.sqlite.org/fileformat.html). */
const HEADER_BYTES = 100;
const SCHEMA_COOKIE_AT = 40;
const USER_VERSION_AT = 60;
const APPLICATION_ID_AT = 68;

/**
 * Looks at a file before SQLite may: opening a database can already write to it. With `mayCreate`, a file that is not
 * there is made. A database in WAL mode is left to SQLite: closing the file would drop this process's locks on it, and
 * a writer elsewhere could then remove the log under a reader.
 *
 * @throws SvcError `bad_input`, `not_our_database`, `newer_database`, `older_database`, `disk`
 */
export function prepareFile(file: string, mayCreate: boolean): void {
  const stat = orUnreadable(file, () => statSync(file, { throwIfNoEntry: false }));
  if (stat === undefined) {
    if (!mayCreate) throw noDatabase(file);
    createPrivately(file);
  } else if (stat.isDirectory()) {
    throw new SvcError('bad_input', `${file} is a folder, not a database.`, {
      hint: 'Name a file with --db.',
    });
  } else if (!stat.isFile()) {
    throw new SvcError('bad_input', `${file} is no ordinary file.`, { hint: 'Name a file with --db.' });
  } else if (stat.size > 0 && !isInWalMode(file)) {
    assertHeader(
      file,
      orUnreadable(file, () => readHeader(file)),
    );
  }
}

/** True where SQLite still has changes to take back (`-journal`) or to copy into the database (`-wal`). */
export function hasUnfinished(file: string, suffix: '-journal' | '-wal'): boolean {
  return (statSync(`${file}${suffix}`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** True while a database is written, and after its writer died or left readers behind. */
export function isInWalMode(file: string): boolean {
  return existsSync(`${file}-wal`);
}

/** Nothing was exported yet, or somewhere else. */
export function noDatabase(file: string): SvcError {
  return new SvcError('incomplete', `There is no database at ${file}.`, {
    hint: 'Run `svc-migrate export v3` first, or name the database with --db.',
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

/** Rows of older layouts carry no checksums, and computing them now would declare sound whatever is there. */
function olderDatabase(file: string, version: number): SvcError {
  return new SvcError('older_database', `${file} was written by an older svc-migrate (layout ${version}).`, {
    hint: 'Export again into a new database with --db, or use the version that wrote this one.',
  });
}

/**
 * Makes an empty file that only its owner can read, unless it is there. SQLite's side files inherit that.
 *
 * @throws SvcError `disk`
 */
export function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (cause) {
    // Somebody else was faster: SQLite's lock decides.
    if (errorCodeOf(cause) === 'EEXIST') return;
    throw new SvcError('disk', `Cannot create the database ${file}.`, {
      hint: 'Check that the folder exists and can be written.',
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

function orUnreadable<T>(file: string, look: () => T): T {
  try {
    return look();
  } catch (cause) {
    throw new SvcError('disk', `Cannot read ${file}.`, {
      hint: 'Check the folder and who may read it.',
      facts: { error: errorCodeOf(cause) },
      cause,
    });
  }
}

function assertHeader(file: string, head: Buffer): void {
  if (head.length < HEADER_BYTES || head.toString('latin1', 0, 16) !== 'SQLite format 3\0')
    throw notOurs(file);
  const owner = head.readUInt32BE(APPLICATION_ID_AT);
  // A process that died while it made the database leaves one without a single table.
  const isBlank = head.readUInt32BE(SCHEMA_COOKIE_AT) === 0;
  if (owner !== APPLICATION_ID && (owner !== 0 || !isBlank)) throw notOurs(file);
  const version = head.readInt32BE(USER_VERSION_AT);
  // The version within an unfinished transaction says nothing: SQLite takes it back first.
  if (!isBlank && !hasUnfinished(file, '-journal')) assertVersion(file, version);
}

/** @throws SvcError `newer_database`, `older_database` */
export function assertVersion(file: string, version: number): void {
  if (version > SCHEMA_VERSION) throw newerDatabase(file, version);
  if (version < SCHEMA_VERSION) throw olderDatabase(file, version);
}

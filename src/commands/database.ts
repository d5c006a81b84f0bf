import { rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { pid } from 'node:process';
import { buildFingerprint, type Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { describeProcess, readOwner, saveOwner, thisProcess } from '../runtime/owner.js';
import { newPause } from '../runtime/pause.js';
import { moveInto, onFile, temporaryBeside, writeText } from '../runtime/write-output.js';
import { assertSameExport } from '../store/fingerprint.js';
import { closeDatabase, type Db, guardDatabase, openDatabase } from '../store/open.js';
import { findIncomplete, type Readiness, readReadiness } from '../store/readiness.js';
import { type RemapPart, verifyDigests } from '../store/remap-digest.js';
import { EVERYTHING } from '../store/remap-rows.js';
import { iterateCompanyRows } from '../store/remap-tables.js';
import { addFlags } from '../text/escape.js';
import { didYouMean } from '../text/suggest.js';
import type { Io } from './command.js';

/**
 * Runs `work` in a read-only snapshot of the database.
 *
 * @throws SvcError `other_configuration` if it was exported with another configuration, and as `openDatabase` does
 */
export async function readDatabase<T>(config: Config, work: (db: Db) => Promise<T>): Promise<T> {
  const db = withLockOwner(config.database, () => openDatabase(config.database, 'read'));
  try {
    guardDatabase(config.database, () => {
      db.exec('BEGIN');
      assertSameExport(db, buildFingerprint(config));
    });
    return await work(db);
  } catch (error) {
    return guardDatabase(config.database, () => {
      throw error;
    });
  } finally {
    db.close();
  }
}

/**
 * Runs `work` on the last remap, which it verifies, with a warning on stderr if that is incomplete or stale.
 *
 * @throws SvcError `incomplete` if there is none, `usage` for a company that is not in it, and as `readDatabase` does
 */
export function readLastRemap<T>(
  config: Config,
  companies: readonly bigint[],
  io: Io,
  work: (db: Db, facts: Readiness) => Promise<T>,
): Promise<T> {
  return readDatabase(config, async (db) => {
    await assertRemapIntact(db, io);
    const facts = readReadiness(db, config, EVERYTHING);
    if (facts.lastRun === undefined) {
      throw new SvcError('incomplete', 'There is no remap yet.', { hint: 'Run `svc-migrate remap` first.' });
    }
    assertCompanies(db, companies);
    await warnOfIncomplete(facts, io);
    return work(db, facts);
  });
}

/** Makes a database with `fill`, in a temporary file that is moved to `target` once it is whole, or removed. */
export async function writeDatabase(
  target: string,
  options: { readonly replace: boolean },
  fill: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = temporaryBeside(resolve(target));
  try {
    await fill(temporary);
    onFile(target, () => moveInto(temporary, target, options));
  } finally {
    removeDatabase(temporary);
  }
}

/** Removes a database with the files that SQLite and this program keep beside it. */
export function removeDatabase(file: string): void {
  for (const suffix of ['', '-journal', '-wal', '-shm', '-writer'])
    rmSync(`${file}${suffix}`, { force: true });
}

/** Warns on stderr if the remap is incomplete or stale. */
export function warnOfIncomplete(facts: Readiness, io: Pick<Io, 'stderr' | 'flags'>): Promise<void> {
  return warnOf(findIncomplete(facts), io);
}

/** Warns of what is not done yet, each with the command that does it. */
export function warnOf(
  blockers: ReturnType<typeof findIncomplete>,
  { stderr, flags = '' }: Pick<Io, 'stderr' | 'flags'>,
): Promise<void> {
  return writeText(
    stderr,
    blockers.map(({ text, next }) => `Warning: ${text} → ${addFlags(next, flags)}\n`),
  );
}

/**
 * Verifies the remap, or parts of it, and checks for signals meanwhile.
 *
 * @throws SvcError `corrupt_database`, `interrupted`
 */
export async function assertRemapIntact(
  db: Db,
  io: Pick<Io, 'signal' | 'onProgress'>,
  parts?: readonly RemapPart[],
): Promise<void> {
  const pause = newPause(io);
  let done = 0;
  for (const _ of verifyDigests(db, parts)) {
    await pause({ name: 'verify the remap', done, total: null });
    done += 1;
  }
}

/**
 * Checks the values of `--company` against the last remap; without a remap there is nothing to check against.
 *
 * @throws SvcError `usage` if a company is not in the remap
 */
export function assertCompanies(db: Db, companies: readonly bigint[] = []): void {
  if (companies.length === 0) return;
  const known = new Set<bigint | null>();
  for (const row of iterateCompanyRows(db)) known.add(row.v3_company_id ?? row.v4_company_id);
  const unknown = known.size === 0 ? undefined : companies.find((id) => !known.has(id));
  if (unknown === undefined) return;
  throw new SvcError('usage', `The remap holds no company ${unknown}.`, {
    hint: didYouMean(String(unknown), [...known].map(String)) ?? undefined,
  });
}

/** The database to open, and the command that uses it. */
export interface DatabaseHold {
  readonly file: string;
  readonly mode: 'create' | 'write';
  /** Such as `export v3`. */
  readonly command: string;
  readonly nowMs: number;
}

/**
 * Runs `work` on a database that is locked against other writers, with a note of the owner beside it.
 *
 * @throws SvcError as `openDatabase` does; `locked` names the owner
 */
export async function withDatabase<T>(hold: DatabaseHold, work: (db: Db) => Promise<T>): Promise<T> {
  const { file, mode, command, nowMs } = hold;
  const db = withLockOwner(file, () => openDatabase(file, mode));
  saveOwner(noteOf(file), thisProcess(command, nowMs));
  try {
    return await work(db);
  } finally {
    // Before the lock is released: afterwards the note could be the next owner's.
    rmSync(noteOf(file), { force: true });
    closeDatabase(db);
  }
}

/**
 * Runs long work on a database opened for reading, which can block writers, with a note of the owner beside it. The
 * note of a writing process is not replaced.
 */
export async function withOwnerNote<T>(
  { file, command, nowMs }: Omit<DatabaseHold, 'mode'>,
  work: () => Promise<T>,
): Promise<T> {
  if (readOwner(noteOf(file)) === null) saveOwner(noteOf(file), thisProcess(command, nowMs));
  try {
    return await work();
  } finally {
    removeOwnerNote(file);
  }
}

/** Removes the owner note if it is of this process, including its terminated threads. */
export function removeOwnerNote(file: string): void {
  if (readOwner(noteOf(file))?.pid === pid) rmSync(noteOf(file), { force: true });
}

/** Runs `open`; adds the owner to an error `locked`, if there is a note. */
export function withLockOwner<T>(file: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== 'locked') throw error;
    const owner = describeOwner(file);
    if (owner === null) throw error;
    const { hint, facts } = error;
    throw new SvcError('locked', `${file} is in use: ${owner}.`, { hint, facts, cause: error });
  }
}

/** Describes the process that uses a database; null if there is no note of one. */
export function describeOwner(file: string): string | null {
  const owner = readOwner(noteOf(file));
  return owner === null ? null : describeProcess(owner);
}

/** Whether a process of this machine uses a database. Of one on another machine, it is not known whether it still runs. */
export function isUsedHere(file: string): boolean {
  return readOwner(noteOf(file))?.host === hostname();
}

/** The file beside the database that names the process using it, for the error messages of other processes. It is not the lock. */
function noteOf(file: string): string {
  return `${file}.lock`;
}

import { rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { SvcError } from '../../errors.js';
import { describeProcess, readOwner, saveOwner, thisProcess } from '../../runtime/owner.js';
import { type Db, guardDatabase } from '../../store/open.js';
import { Sqlite } from '../../store/sqlite.js';

/** The file to lock, and the command that writes it. */
interface FileHold {
  readonly file: string;
  /** Such as `apply write`. */
  readonly command: string;
  readonly nowMs: number;
}

/**
 * Runs `work` while no other svc-migrate writes `file`. The lock is SQLite's, on an empty database beside the file: the system
 * releases it when the process ends, however it ends.
 *
 * @throws SvcError `locked`, naming the process that holds it; `bad_input` if the lock is another file
 */
export async function withFileLock<T>(
  { file, command, nowMs }: FileHold,
  work: () => Promise<T>,
): Promise<T> {
  const [lock, note] = [`${file}.svc-migrate-lock`, `${file}.svc-migrate-owner`];
  // better-sqlite3 would throw a TypeError for a missing folder.
  statSync(dirname(file));
  const db = takeLock(file, lock, note);
  try {
    saveOwner(note, thisProcess(command, nowMs));
    return await work();
  } finally {
    try {
      // Before the lock is released: afterwards they could be the next owner's.
      for (const own of [note, lock]) rmSync(own, { force: true });
    } finally {
      db.close();
    }
  }
}

function takeLock(file: string, lock: string, note: string): Db {
  try {
    for (;;) {
      const before = inodeOf(lock);
      const db = guardDatabase(lock, () => openLocked(lock));
      // Its last owner may have removed the file after it was opened here; others would then lock a new one.
      if (before !== null && inodeOf(lock) === before) return db;
      db.close();
    }
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    if (error.code === 'corrupt_database') {
      throw new SvcError('bad_input', `${lock} stands in the place of a lock, but is none.`, {
        hint: 'Move it away.',
      });
    }
    if (error.code !== 'locked') throw error;
    const owner = readOwner(note);
    const who = owner === null ? 'another process holds its lock' : describeProcess(owner);
    throw new SvcError('locked', `${file} is in use: ${who}.`, {
      hint: 'Wait until it has finished, then look again.',
      facts: { lock },
    });
  }
}

function openLocked(lock: string): Db {
  const db = new Sqlite(lock, { timeout: 0 });
  try {
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE');
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function inodeOf(file: string): bigint | null {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ino ?? null;
}

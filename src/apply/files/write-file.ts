import { closeSync, fsyncSync, openSync, rmSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { type FileTarget, outputOf, sideCarFile } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import { describeProcess, readOwner, saveOwner, thisProcess } from '../../runtime/owner.js';
import { syncFolder, writeFully } from '../../runtime/write-output.js';
import { type Db, guardDatabase } from '../../store/open.js';
import { Sqlite } from '../../store/sqlite.js';
import type { ApplyContext, RunFacts, UndoResult, WriteResult } from '../context.js';
import type { TargetPlan } from '../plan.js';
import { asDiskError, removeUnchanged, renameToFreeName, takeSnapshot } from './file-snapshot.js';
import { type SideCar, type WrittenOutput, writeSideCar, writtenOutputs } from './side-car.js';
import { Copier, openColumns, streamTarget } from './stream-file.js';
import { findEarlier } from './survey-file.js';

/**
 * Writes the new file. Its content is complete and recorded in the side-car before it gets its final name.
 *
 * @throws SvcError `bad_input` if the file changed since the plan, `locked` if another process writes it, `disk`, `interrupted`
 */
export function writeFile(
  context: ApplyContext,
  target: FileTarget,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<WriteResult> {
  const output = outputOf(target);
  const base = { target: target.name, skipped: [], skippedCount: 0 };
  return withLock(context, output, 'apply write', async () => {
    const { sideCar, earlier, notes } = await findEarlier(context, target, agreed.fingerprint);
    if (notes.length > 0 || earlier.run !== agreed.earlier.run)
      throw changedSincePlan(`${output} was written or undone by another run`);
    rmSync(temporaryOf(output), { force: true });
    if (earlier.state === 'none' || sideCar === null) {
      const changed = await writeOutput(context, target, agreed, run);
      return { ...base, run: run.run, changed, alreadyDone: false };
    }
    if (sideCar.state !== 'done') await writeSideCar(output, { ...sideCar, state: 'done' });
    return { ...base, run: sideCar.run, changed: sideCar.changed, alreadyDone: true };
  });
}

async function withLock<T>(
  { now }: ApplyContext,
  output: string,
  command: string,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await withFileLock({ file: output, command, nowMs: now() }, work);
  } catch (error) {
    throw asDiskError(error, output);
  }
}

/** The path at which a run collects the content of a new file. */
function temporaryOf(output: string): string {
  return `${output}.svc-migrate-tmp`;
}

/** Returns the number of cells that changed. */
async function writeOutput(
  context: ApplyContext,
  target: FileTarget,
  agreed: TargetPlan,
  { run, planSha256 }: RunFacts,
): Promise<number> {
  const { policy, remapVersion, tool, now } = context;
  const output = outputOf(target);
  const temporary = temporaryOf(output);
  const fd = openSync(temporary, 'wx', statSync(target.file).mode & 0o777);
  try {
    const copier = new Copier((bytes) => writeFully(fd, bytes));
    const works = openColumns(context, target);
    const pass = await streamTarget(context, target, works, { step: 'writing', copier });
    if (pass.sha256 !== agreed.fingerprint) throw changedSincePlan(`${target.file} changed`);
    fsyncSync(fd);
    const sideCar: SideCar = {
      sideCarVersion: 1,
      run,
      target: target.name,
      state: 'writing',
      input: { file: basename(target.file), sha256: pass.sha256, bytes: pass.bytes },
      output: { file: basename(output), sha256: copier.sha256, bytes: copier.bytes },
      remapSha256: remapVersion.sha256,
      planSha256,
      policy: { missing: policy.missing, mapDeleted: policy.mapDeleted },
      definition: target,
      changed: pass.edits,
      at: new Date(now()).toISOString(),
      tool,
    };
    await writeSideCar(output, sideCar);
    // Never replaces a file that was created meanwhile.
    renameToFreeName(temporary, output);
    syncFolder(dirname(output));
    await writeSideCar(output, { ...sideCar, state: 'done' });
    return sideCar.changed;
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

function changedSincePlan(what: string): SvcError {
  return new SvcError('bad_input', `${what} since the plan; nothing was written.`, {
    hint: 'Make sure that nobody writes to it, then plan again: `svc-migrate apply plan`.',
  });
}

/**
 * Undoes a run: removes the new file. One that changed since stays.
 *
 * @throws SvcError `bad_input` if the file is not the run's, `locked`, `disk`
 */
export async function undoFile(
  context: ApplyContext,
  target: FileTarget,
  run: string,
): Promise<UndoResult[]> {
  const find = () => writtenOutputs(target).find(({ sideCar }) => sideCar.run === run);
  const found = find();
  if (found === undefined) return [];
  return withLock(context, found.output, 'apply undo', async () => {
    // Another process may have continued or undone the run before the lock was taken.
    const locked = find();
    return locked === undefined ? [] : [await undoOutput(locked)];
  });
}

async function undoOutput({ output, sideCar, target }: WrittenOutput): Promise<UndoResult> {
  const seen = await takeSnapshot(output);
  if (seen !== null && seen.sha256 !== sideCar.output.sha256)
    return { target: target.name, restored: 0, changedSince: [output], changedSinceCount: 1 };
  if (seen !== null) removeUnchanged(output, seen);
  for (const file of [temporaryOf(output), sideCarFile(output)]) rmSync(file, { force: true });
  syncFolder(dirname(output));
  return { target: target.name, restored: sideCar.changed, changedSince: [], changedSinceCount: 0 };
}

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

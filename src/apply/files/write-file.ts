import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, dirname } from 'node:path';
import { columnLabel, type FileTarget, modelLabel } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ApplyContext, RunFacts, UndoResult, WriteResult } from '../context.js';
import type { TargetPlan } from '../plan.js';
import { withFileLock } from './file-lock.js';
import {
  asDiskError,
  changedMeanwhile,
  type FileSnapshot,
  isUnchangedFile,
  removeUnchanged,
  renameToFreeName,
  takeSnapshot,
} from './file-snapshot.js';
import { changedLines } from './recompute.js';
import {
  backupName,
  backupOf,
  outputOf,
  readSideCar,
  type SideCar,
  sideCarFile,
  syncFolder,
  temporaryOf,
  type WrittenOutput,
  writeSideCar,
  writtenOutputs,
} from './side-car.js';
import { Copier, openColumns, streamTarget } from './stream-file.js';
import { findEarlier } from './survey-file.js';

/**
 * Writes the rewritten file: beside the old one, or in its place with the old one kept as a backup. The new content is
 * complete and recorded in the side-car before it gets its final name.
 *
 * @throws SvcError `bad_input` if the file changed since the plan, `locked` if another process writes it, `disk`, `interrupted`
 */
export async function writeFile(
  context: ApplyContext,
  target: FileTarget,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<WriteResult> {
  const output = outputOf(target, context.policy);
  const base = { target: target.name, skipped: [], skippedCount: 0 };
  try {
    return await withFileLock({ file: output, command: 'apply write', nowMs: context.now() }, async () => {
      const before = await findEarlier(context, target, agreed.fingerprint);
      if (before.notes.length > 0 || before.earlier.run !== agreed.earlier.run)
        throw writtenSincePlan(output);
      rmSync(temporaryOf(output), { force: true });
      if (before.sideCar !== null) {
        if (before.sideCar.state !== 'done') writeSideCar(output, { ...before.sideCar, state: 'done' });
        const { run: done, changed } = before.sideCar;
        return { ...base, run: done, changed, alreadyDone: true };
      }
      const sideCar = await writeOutput(context, target, agreed, run);
      return { ...base, run: run.run, changed: sideCar.changed, alreadyDone: false };
    });
  } catch (error) {
    throw asDiskError(error, output);
  }
}

async function writeOutput(
  context: ApplyContext,
  target: FileTarget,
  agreed: TargetPlan,
  run: RunFacts,
): Promise<SideCar> {
  const output = outputOf(target, context.policy);
  const before = { stats: lstatSync(target.file, { bigint: true }) };
  const temporary = temporaryOf(output);
  const fd = openSync(temporary, 'wx', statSync(target.file).mode & 0o777);
  try {
    const copier = new Copier((bytes) => writeFully(fd, bytes));
    const works = openColumns(context, target);
    const pass = await streamTarget(context, target, works, { step: 'writing', copier });
    if (pass.sha256 !== agreed.fingerprint) throw changedSincePlan(target.file);
    fsyncSync(fd);
    const sideCar = buildSideCar(context, target, run, {
      input: { file: basename(target.file), sha256: pass.sha256, bytes: pass.bytes },
      output: { file: basename(output), sha256: copier.sha256, bytes: copier.bytes },
      changed: pass.edits,
    });
    if (sideCar.mode === 'in_place' && !isUnchangedFile(target.file, before))
      throw changedMeanwhile(target.file);
    await removeKilledRun(output);
    writeSideCar(output, sideCar);
    await putInPlace(target, output, sideCar, before);
    writeSideCar(output, { ...sideCar, state: 'done' });
    return sideCar;
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Removes the backup of a run that was killed before it replaced the file: a new run keeps its own. */
async function removeKilledRun(output: string): Promise<void> {
  const sideCar = readSideCar(output);
  const backup = sideCar === null ? null : backupOf(output, sideCar);
  const kept = backup === null ? null : await takeSnapshot(backup);
  if (backup !== null && kept !== null && kept.sha256 === sideCar?.input.sha256)
    removeUnchanged(backup, kept);
}

function writeFully(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

function buildSideCar(
  { policy, remapVersion, tool, now }: ApplyContext,
  target: FileTarget,
  run: RunFacts,
  found: Pick<SideCar, 'input' | 'output' | 'changed'>,
): SideCar {
  const isInPlace = policy.mode === 'in_place';
  return {
    sideCarVersion: 1,
    run: run.run,
    target: target.name,
    mode: policy.mode,
    state: 'writing',
    ...found,
    backup: isInPlace ? backupName(target.file, run.run) : null,
    remapSha256: remapVersion.sha256,
    planSha256: run.planSha256,
    policy: { missing: policy.missing, mapDeleted: policy.mapDeleted },
    columns: target.ids.map((one) => ({
      column: columnLabel(one),
      model: modelLabel(one),
    })),
    definition: target,
    at: new Date(now()).toISOString(),
    tool,
  };
}

/** Gives the new file its final name. `before`: the metadata of the input before it was read. */
async function putInPlace(
  target: FileTarget,
  output: string,
  sideCar: SideCar,
  before: Pick<FileSnapshot, 'stats'>,
): Promise<void> {
  const temporary = temporaryOf(output);
  const backup = backupOf(output, sideCar);
  if (backup === null) {
    // Never replaces a file that was created meanwhile.
    renameToFreeName(temporary, output);
  } else {
    await keepBackup(target.file, backup, sideCar, before);
    if (!isUnchangedFile(target.file, before)) throw changedMeanwhile(target.file);
    renameSync(temporary, output);
  }
  syncFolder(dirname(output));
}

/** Keeps the original as a hard link, so that undo restores its bytes, times and owner. */
async function keepBackup(
  file: string,
  backup: string,
  sideCar: SideCar,
  before: Pick<FileSnapshot, 'stats'>,
): Promise<void> {
  const kept = await takeSnapshot(backup);
  if (kept?.sha256 === sideCar.input.sha256) return;
  if (kept !== null) {
    throw new SvcError('bad_input', `${backup} exists and is not the original of ${file}.`, {
      hint: 'Move it away, then run the same command again.',
    });
  }
  try {
    linkSync(file, backup);
  } catch {
    // Some file systems have no hard links.
    copyFileSync(file, backup, constants.COPYFILE_EXCL);
    return;
  }
  if (isUnchangedFile(backup, before)) return;
  rmSync(backup);
  throw changedMeanwhile(file);
}

function writtenSincePlan(output: string): SvcError {
  return new SvcError(
    'bad_input',
    `${output} was written or undone by another run since the plan; nothing was written.`,
    {
      hint: 'Plan again: `svc-migrate apply plan`.',
    },
  );
}

function changedSincePlan(file: string): SvcError {
  return new SvcError('bad_input', `${file} changed since the plan; nothing was written.`, {
    hint: 'Make sure that nobody writes to it, then plan again.',
  });
}

/**
 * Undoes a run: removes the new file, or restores the original. A file that changed since is not touched, and its
 * changed lines are reported.
 *
 * @throws SvcError `bad_input` if the original is gone, or a file is not the run's, `locked`, `disk`
 */
export async function undoFile(
  context: ApplyContext,
  target: FileTarget,
  run: string,
): Promise<UndoResult[]> {
  const find = () => writtenOutputs(target).find(({ sideCar }) => sideCar.run === run);
  const found = find();
  if (found === undefined) return [];
  const { output } = found;
  try {
    return await withFileLock({ file: output, command: 'apply undo', nowMs: context.now() }, async () => {
      // Another process may have continued or undone the run before the lock was taken.
      const locked = find();
      return locked === undefined ? [] : [await undoOutput(context, locked)];
    });
  } catch (error) {
    throw asDiskError(error, output);
  }
}

async function undoOutput(
  context: ApplyContext,
  { output, sideCar, target }: WrittenOutput,
): Promise<UndoResult> {
  const backup = backupOf(output, sideCar);
  const seen = await takeSnapshot(output);
  const isOurs = seen?.sha256 === sideCar.output.sha256;
  const isRestored = backup !== null && seen?.sha256 === sideCar.input.sha256;
  if (seen !== null && !isOurs && !isRestored) {
    const lines = await changedLines(context, target, output, sideCar);
    return { target: target.name, restored: 0, changedSince: lines.names, changedSinceCount: lines.count };
  }
  if (backup !== null) await restoreOriginal(output, seen, backup, sideCar);
  else if (seen !== null) removeUnchanged(output, seen);
  for (const file of [temporaryOf(output), sideCarFile(output)]) rmSync(file, { force: true });
  syncFolder(dirname(output));
  return { target: target.name, restored: sideCar.changed, changedSince: [], changedSinceCount: 0 };
}

/** Replaces the output by the original. If that was done already, only removes the backup. */
async function restoreOriginal(
  output: string,
  seen: FileSnapshot | null,
  backup: string,
  sideCar: SideCar,
): Promise<void> {
  const kept = await takeSnapshot(backup);
  if (seen !== null && !isUnchangedFile(output, seen)) throw changedMeanwhile(output);
  const isOriginal = seen?.sha256 === sideCar.input.sha256;
  if (kept === null && isOriginal) return;
  if (kept?.sha256 !== sideCar.input.sha256) throw notTheOriginal(output, backup, sideCar);
  if (isOriginal) removeUnchanged(backup, kept);
  else if (!isUnchangedFile(backup, kept)) throw changedMeanwhile(backup);
  else if (seen === null) renameToFreeName(backup, output);
  else renameSync(backup, output);
}

function notTheOriginal(output: string, backup: string, sideCar: SideCar): SvcError {
  return new SvcError(
    'bad_input',
    `The original of ${output} is gone: ${backup} is not what run ${sideCar.run} kept.`,
    { hint: 'Restore it from your own backup.' },
  );
}

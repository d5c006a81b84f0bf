import { renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { FileTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ApplyContext, UndoResult } from '../context.js';
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
  backupOf,
  type SideCar,
  sideCarFile,
  syncFolder,
  temporaryOf,
  type WrittenOutput,
  writtenOutputs,
} from './side-car.js';

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

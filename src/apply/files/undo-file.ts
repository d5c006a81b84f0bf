import { renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { FileTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ApplyContext, Undone } from '../context.js';
import {
  changedMeanwhile,
  type FileSnapshot,
  isUnchangedFile,
  removeUnchanged,
  renameToFreeName,
  takeSnapshot,
} from './file-snapshot.js';
import { changedLines } from './recompute.js';
import { backupOf, readSideCar, type SideCar, sideCarFile, syncFolder, targetOfRun } from './side-car.js';
import { outputOf } from './stream-file.js';

/**
 * Takes a run back: removes the new file, or gives the original its name again. A file that changed since is
 * left alone and its changed lines are named.
 *
 * @throws SvcError `bad_input` where the original is gone, or a file is not what the run made
 */
export async function undoFile(context: ApplyContext, target: FileTarget, run: string): Promise<Undone[]> {
  for (const mode of ['in_place', 'new'] as const) {
    const output = outputOf(target, { ...context.policy, mode });
    const car = readSideCar(output);
    if (car !== null && car.run === run && car.mode === mode)
      return [await undoOutput(context, targetOfRun(car, target), output, car)];
  }
  return [];
}

async function undoOutput(
  context: ApplyContext,
  target: FileTarget,
  output: string,
  car: SideCar,
): Promise<Undone> {
  const backup = backupOf(output, car);
  const seen = await takeSnapshot(output);
  const isOurs = seen?.sha256 === car.output.sha256;
  const isBack = backup !== null && seen?.sha256 === car.input.sha256;
  if (seen !== null && !isOurs && !isBack) {
    const lines = await changedLines(context, target, output, car);
    return { target: target.name, restored: 0, changedSince: lines.names, changedSinceCount: lines.count };
  }
  if (backup !== null) await takeOriginal(output, isBack ? 'is_original' : seen, backup, car);
  else if (seen !== null) removeUnchanged(output, seen);
  rmSync(sideCarFile(output), { force: true });
  syncFolder(dirname(output));
  return { target: target.name, restored: car.changed, changedSince: [], changedSinceCount: 0 };
}

/** Puts the original back in the place of the output, or where it is back already removes its second name. */
async function takeOriginal(
  output: string,
  seen: FileSnapshot | 'is_original' | null,
  backup: string,
  car: SideCar,
): Promise<void> {
  const kept = await takeSnapshot(backup);
  if (kept === null && seen === 'is_original') return;
  if (kept?.sha256 !== car.input.sha256) throw notTheOriginal(output, backup, car);
  if (seen === 'is_original') removeUnchanged(backup, kept);
  else if (!isUnchangedFile(backup, kept)) throw changedMeanwhile(backup);
  else if (seen === null) renameToFreeName(backup, output);
  else if (!isUnchangedFile(output, seen)) throw changedMeanwhile(output);
  else renameSync(backup, output);
}

function notTheOriginal(output: string, backup: string, car: SideCar): SvcError {
  return new SvcError(
    'bad_input',
    `The original of ${output} is gone: ${backup} is not what run ${car.run} kept.`,
    { hint: 'Restore it from your own backup.' },
  );
}

import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { FileTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';
import type { ApplyContext, Undone } from '../context.js';
import { changedLines } from './changed-lines.js';
import { sha256Of } from './sha256.js';
import { readSideCar, type SideCar, siblingOf, sideCarFile, syncFolder, targetOfRun } from './side-car.js';
import { outputOf } from './survey-file.js';

/**
 * Takes a run back: removes the new file, or gives the original its name again. A file that changed since is
 * left alone and its changed lines are named.
 *
 * @throws SvcError `bad_input` where the original is gone
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
  const backup = car.backup === null ? null : siblingOf(output, car.backup);
  const sha256 = existsSync(output) ? await sha256Of(output) : null;
  const isOurs = sha256 === car.output.sha256;
  const isBack = backup !== null && sha256 === car.input.sha256;
  if (sha256 !== null && !isOurs && !isBack) {
    const lines = await changedLines(context, target, output, car);
    return { target: target.name, restored: 0, changedSince: lines.names, changedSinceCount: lines.count };
  }
  if (backup !== null && !isBack) await restore(output, backup, car);
  else if (backup === null) rmSync(output, { force: true });
  if (backup !== null) rmSync(backup, { force: true });
  rmSync(sideCarFile(output), { force: true });
  syncFolder(dirname(output));
  return { target: target.name, restored: car.changed, changedSince: [], changedSinceCount: 0 };
}

async function restore(output: string, backup: string, car: SideCar): Promise<void> {
  if (!existsSync(backup) || (await sha256Of(backup)) !== car.input.sha256) {
    throw new SvcError(
      'bad_input',
      `The original of ${output} is gone: ${backup} is not what run ${car.run} kept.`,
      {
        hint: 'Restore it from your own backup.',
      },
    );
  }
  renameSync(backup, output);
}

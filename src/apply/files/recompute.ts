import type { FileTarget } from '../../config/apply-targets.js';
import type { ApplyContext } from '../context.js';
import { Copier } from './copier.js';
import { passThrough } from './pass.js';
import { backupOf, type SideCar } from './side-car.js';
import { openColumns, scannerOf } from './survey-file.js';

/** The file whose content went into an output. */
export function sourceOf(target: FileTarget, output: string, car: SideCar): string {
  return backupOf(output, car) ?? target.file;
}

/**
 * Rewrites the source of an output by the remap of now and the policy of then, and says what came out. `sink` is
 * handed the bytes and must be done with them when it returns.
 */
export async function recompute(
  given: ApplyContext,
  target: FileTarget,
  car: SideCar,
  sink: (bytes: Buffer) => void = () => {},
): Promise<{ readonly sha256: string; readonly edits: number }> {
  const context = { ...given, policy: { ...given.policy, ...car.policy } };
  const copier = new Copier(sink);
  const pass = await passThrough({
    file: target.file,
    buildScanner: scannerOf(target, openColumns(context, target)),
    copier,
    signal: context.signal,
    onBytes: (done, total) =>
      context.onProgress({ kind: 'step', name: `checking ${target.name}`, done, total }),
  });
  return { sha256: copier.sha256, edits: pass.edits };
}

import { closeSync, openSync, writeSync } from 'node:fs';
import type { FileTarget } from '../../config/apply-targets.js';
import type { ApplyContext } from '../context.js';
import { Copier } from './copier.js';
import { passThrough } from './pass.js';
import { type SideCar, siblingOf } from './side-car.js';
import { openColumns, scannerOf } from './survey-file.js';

/** The file whose content went into an output. */
export function sourceOf(target: FileTarget, output: string, car: SideCar): string {
  return car.backup === null ? target.file : siblingOf(output, car.backup);
}

/**
 * Rewrites the source of an output by the remap of now and the policy of then, into `output` (null: nowhere),
 * and says what came out.
 */
export async function recompute(
  given: ApplyContext,
  target: FileTarget,
  car: SideCar,
  output: string | null,
): Promise<{ readonly sha256: string; readonly edits: number }> {
  const context = { ...given, policy: { ...given.policy, ...car.policy } };
  const fd = output === null ? null : openSync(output, 'w', 0o600);
  try {
    const copier = new Copier((bytes) => {
      for (let at = 0; fd !== null && at < bytes.length; ) at += writeSync(fd, bytes, at);
    });
    const pass = await passThrough({
      file: target.file,
      buildScanner: scannerOf(target, openColumns(context, target)),
      copier,
      signal: context.signal,
      onBytes: (done, total) =>
        context.onProgress({ kind: 'step', name: `checking ${target.name}`, done, total }),
    });
    return { sha256: copier.sha256, edits: pass.edits };
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

import { existsSync } from 'node:fs';
import type { FileTarget } from '../../config/apply-targets.js';
import { openColumn } from '../column-work.js';
import type { ApplyContext } from '../context.js';
import { watchUnmapped } from '../engine/unmapped-cells.js';
import type { UnmappedCount } from '../plan.js';
import type { RecordPosition } from '../text/records.js';
import { type OnUnmapped, unmappedOfCounts } from '../unmapped.js';
import { passThrough } from './pass.js';
import { sourceOf } from './recompute.js';
import { type SideCar, targetOfRun } from './side-car.js';
import { outputOf, scannerOf } from './survey-file.js';

/**
 * What a finished run left without a V4 id, by column, from the source it read; without a run, nothing is counted, but
 * `onUnmapped` is told what a run would leave.
 */
export async function listFileLeft(
  context: ApplyContext,
  given: FileTarget,
  car: SideCar | null,
  onUnmapped: OnUnmapped | undefined,
): Promise<UnmappedCount[][]> {
  if (car === null && onUnmapped === undefined) return [];
  const state = car === null ? 'pending' : 'in_ledger';
  const target = car === null ? given : targetOfRun(car, given);
  const policy = { ...context.policy, ...car?.policy };
  const file = car === null ? given.file : sourceOf(given, outputOf(given, context.policy), car);
  if (!existsSync(file)) return [];
  let position = (): RecordPosition => ({ row: 0, line: 0 });
  const plain = target.ids.map((column) => openColumn(context, column, policy));
  const works =
    onUnmapped === undefined
      ? plain
      : plain.map((work) =>
          watchUnmapped(work, { state, policy }, target.name, onUnmapped, () => position()),
        );
  const buildScanner = scannerOf(target, works);
  await passThrough({
    file,
    buildScanner: (head) => {
      const scanner = buildScanner(head);
      position = () => scanner.position();
      return scanner;
    },
    copier: null,
    signal: context.signal,
    onBytes: (done, total) =>
      context.onProgress({ kind: 'step', name: `looking over ${target.name}`, done, total }),
  });
  if (car === null) return [];
  return plain.map(({ tally }) => unmappedOfCounts(state, tally.result().counts, policy));
}

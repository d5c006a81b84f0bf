import { parentPort, workerData } from 'node:worker_threads';
import { buildRemap } from '../match/build-remap.js';
import { flattenError } from '../runtime/thread-errors.js';
import { assertSameExport } from '../store/fingerprint.js';
import { guardDatabase } from '../store/open.js';
import { withDatabase } from './hold-database.js';
import { type RemapInput, type RemapMessage, remapStopped } from './remap-in-thread.js';

/**
 * The thread that remaps: its long statements would keep the main thread from hearing a signal and from
 * showing progress.
 */
async function main(input: RemapInput): Promise<void> {
  const { config, fingerprint, named, decisions, inputs, nowMs } = input;
  const hold = { file: config.database, mode: 'write', command: 'remap', nowMs } as const;
  const summary = await withDatabase(hold, async (db) =>
    guardDatabase(config.database, () => {
      assertSameExport(db, fingerprint);
      return buildRemap({
        db,
        assertGoing: () => {
          if (Atomics.load(input.stop, 0) !== 0) throw remapStopped();
        },
        config,
        named,
        decisions,
        inputs,
        clock: { now: () => nowMs },
        onProgress: (event) => tell({ kind: 'progress', event }),
      });
    }),
  );
  tell({ kind: 'done', summary });
}

function tell(message: RemapMessage): void {
  parentPort?.postMessage(message);
}

try {
  await main(workerData as RemapInput);
} catch (error) {
  tell(flattenError(error));
}

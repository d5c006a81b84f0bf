import { parentPort, workerData } from 'node:worker_threads';
import { exitCodeOf, SvcError } from '../errors.js';
import { buildRemap } from '../match/build-remap.js';
import { assertSameExport } from '../store/fingerprint.js';
import { guardDatabase } from '../store/open.js';
import { holdDatabase } from './hold-database.js';
import type { RemapInput, RemapMessage } from './remap-in-thread.js';

/**
 * The thread that remaps: its long statements would keep the main thread from hearing a signal and from
 * showing progress.
 */
async function main(input: RemapInput): Promise<void> {
  const { config, fingerprint, named, nowMs } = input;
  const hold = { file: config.database, mode: 'write', command: 'remap', nowMs } as const;
  const summary = await holdDatabase(hold, async (db) =>
    guardDatabase(config.database, () => {
      assertSameExport(db, fingerprint);
      return buildRemap({
        db,
        config,
        named,
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

/** Errors lose their class on the way to another thread. */
function flatten(error: unknown): RemapMessage {
  if (!(error instanceof SvcError)) {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { kind: 'bug', stack, exitCode: exitCodeOf(error) };
  }
  const { code, message, hint, facts } = error;
  return { kind: 'error', code, message, hint, facts };
}

try {
  await main(workerData as RemapInput);
} catch (error) {
  tell(flatten(error));
}

import { parentPort, workerData } from 'node:worker_threads';
import type { Result } from '../apply/actions.js';
import { flattenError } from '../runtime/thread-errors.js';
import type { ApplyInput, ApplyMessage } from './apply-in-thread.js';
import { doApply } from './apply-work.js';
import type { WorkIo } from './io.js';
import { doUndo } from './undo-work.js';

/** The thread that applies and takes back. */
function main({ job, env, width, nowMs }: ApplyInput): Promise<Result> {
  const stop = new AbortController();
  parentPort?.on('message', () => stop.abort());
  const io: WorkIo = {
    env,
    width,
    startMs: nowMs,
    clock: { now: Date.now },
    signal: stop.signal,
    onProgress: (event) => tell({ kind: 'progress', event }),
  };
  return job.kind === 'apply' ? doApply(job, io) : doUndo(job, io);
}

function tell(message: ApplyMessage): void {
  parentPort?.postMessage(message);
}

try {
  tell({ kind: 'done', result: await main(workerData as ApplyInput) });
} catch (error) {
  tell(flattenError(error));
} finally {
  parentPort?.close();
}

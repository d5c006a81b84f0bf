import { Worker } from 'node:worker_threads';
import type { Result } from '../apply/actions.js';
import type { Plan } from '../apply/plan.js';
import type { Config } from '../config/config.js';
import type { ProgressEvent } from '../domain.js';
import { SvcError } from '../errors.js';
import { restoreError, type ThreadError } from '../runtime/thread-errors.js';
import type { ApplyRequest, UndoRequest } from './apply-request.js';
import type { Io } from './io.js';

/** What the thread is to do. */
export type ApplyJob =
  | {
      readonly kind: 'apply';
      readonly config: Config;
      readonly request: ApplyRequest;
      /** The plan to carry out; null: one made now. */
      readonly agreed: Plan | null;
    }
  | { readonly kind: 'undo'; readonly config: Config; readonly request: UndoRequest };

/** What the thread is given. */
export interface ApplyInput {
  readonly job: ApplyJob;
  readonly env: Io['env'];
  readonly width: number;
  readonly nowMs: number;
}

/** What the thread says. */
export type ApplyMessage =
  | { readonly kind: 'progress'; readonly event: ProgressEvent }
  | { readonly kind: 'done'; readonly result: Result }
  | ThreadError;

/**
 * Applies or takes back in a thread of its own: SQLite's long statements would keep the main thread from hearing a
 * signal and from showing progress.
 *
 * @throws SvcError as the work does
 */
export function applyInThread(job: ApplyJob, io: Io): Promise<Result> {
  const input: ApplyInput = { job, env: { ...io.env }, width: io.width, nowMs: io.clock.now() };
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./apply-thread.js', import.meta.url), { workerData: input });
    const stop = (): void => worker.postMessage('stop');
    io.signal.addEventListener('abort', stop, { once: true });
    if (io.signal.aborted) stop();
    worker.on('message', (message: ApplyMessage) => {
      if (message.kind === 'progress') io.onProgress(message.event);
      else if (message.kind === 'done') resolve(message.result);
      else reject(restoreError(message));
    });
    worker.on('error', reject);
    worker.on('exit', (code) => {
      io.signal.removeEventListener('abort', stop);
      reject(new SvcError('internal', `The thread that applies ended with code ${code}.`));
    });
  });
}

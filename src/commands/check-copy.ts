import { Worker } from 'node:worker_threads';
import { SvcError } from '../errors.js';
import { restoreError, type ThreadError } from '../runtime/thread-errors.js';
import type { Io } from './io.js';

/** What the thread says that checks a copy. */
export type CheckMessage =
  | { readonly kind: 'progress'; readonly done: number; readonly total: number }
  | { readonly kind: 'done' }
  | ThreadError;

/**
 * Checks the structure of every table of a database file, in a thread.
 *
 * @throws SvcError `corrupt_database`, `interrupted`, and as `openDatabase` does
 */
export function checkCopy(file: string, io: Pick<Io, 'signal' | 'onProgress'>): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./check-copy-thread.js', import.meta.url), { workerData: file });
    const stop = (): void => {
      // The thread ends when its statement does; nobody waits for that.
      void worker.terminate();
      reject(backupStopped());
    };
    if (io.signal.aborted) stop();
    io.signal.addEventListener('abort', stop, { once: true });
    worker.on('message', (message: CheckMessage) => {
      if (message.kind === 'done') resolve();
      else if (message.kind !== 'progress') reject(restoreError(message));
      else io.onProgress({ kind: 'step', name: 'check the copy', done: message.done, total: message.total });
    });
    worker.on('error', reject);
    worker.on('exit', (code) => {
      io.signal.removeEventListener('abort', stop);
      reject(new SvcError('internal', `The thread that checks the copy ended with code ${code}.`));
    });
  });
}

export function backupStopped(): SvcError {
  return new SvcError('interrupted', 'Stopped; no backup was written.');
}

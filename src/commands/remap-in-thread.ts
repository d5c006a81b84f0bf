import { Worker } from 'node:worker_threads';
import type { Config } from '../config/config.js';
import type { ProgressEvent } from '../domain.js';
import { SvcError } from '../errors.js';
import type { RemapSummary } from '../match/build-remap.js';
import type { NamedPair } from '../match/pair-companies.js';
import { takeWordBack } from './hold-database.js';
import type { Io } from './io.js';
import { restoreError, type ThreadError } from './thread-errors.js';

/** What the remap thread is given. */
export interface RemapInput {
  readonly config: Config;
  readonly fingerprint: Readonly<Record<string, string>>;
  readonly named: readonly NamedPair[];
  readonly nowMs: number;
}

/** What the remap thread says. */
export type RemapMessage =
  | { readonly kind: 'progress'; readonly event: ProgressEvent }
  | { readonly kind: 'done'; readonly summary: RemapSummary }
  | ThreadError;

/**
 * Rebuilds the remap in a thread of its own, so that signals are heard and progress is shown meanwhile.
 *
 * @throws SvcError as `buildRemap`, `assertSameExport` and `holdDatabase` do; `interrupted`
 */
export function remapInThread(
  input: RemapInput,
  io: Pick<Io, 'signal' | 'onProgress'>,
): Promise<RemapSummary> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./remap-thread.js', import.meta.url), { workerData: input });
    const stopped = new SvcError('interrupted', 'Stopped; the previous remap is unchanged.');
    // Ends once SQLite returns from the statement under way; cli.ts does not wait longer than it must.
    const stop = (): void => void worker.terminate();
    if (io.signal.aborted) stop();
    io.signal.addEventListener('abort', stop, { once: true });
    worker.on('message', (message: RemapMessage) => {
      if (message.kind === 'progress') io.onProgress(message.event);
      else if (message.kind === 'done') resolve(message.summary);
      else reject(restoreError(message));
    });
    worker.on('error', reject);
    worker.on('exit', (code) => {
      io.signal.removeEventListener('abort', stop);
      if (io.signal.aborted) takeWordBack(input.config.database);
      reject(
        io.signal.aborted ? stopped : new SvcError('internal', `The remap thread ended with code ${code}.`),
      );
    });
  });
}

import { Worker } from 'node:worker_threads';
import type { Config } from '../config/config.js';
import type { Decision } from '../config/decisions-file.js';
import type { ProgressEvent } from '../domain.js';
import { SvcError } from '../errors.js';
import type { RemapSummary } from '../match/build-remap.js';
import type { NamedPair } from '../match/pair-companies.js';
import { restoreError, type ThreadError } from '../runtime/thread-errors.js';
import { removeOwnerNote } from './hold-database.js';
import type { Io } from './io.js';

/** Rows pass through the thread: with more room for what is young 25 MiB more are held at 1,000,000 records, and nothing is faster. */
const YOUNG_MIB = 8;

/** What the remap thread is given. */
export interface RemapInput {
  readonly config: Config;
  readonly fingerprint: Readonly<Record<string, string>>;
  readonly named: readonly NamedPair[];
  readonly decisions: readonly Decision[];
  readonly inputs: Readonly<Record<string, string>>;
  readonly nowMs: number;
  /** Shared; not 0 once the remap is to stop. */
  readonly stop: Int32Array;
}

/** A thread that is busy elsewhere than in SQL is ended. */
const TERMINATE_AFTER_MS = 200;

/** What stopping it by a signal comes to. */
export function remapStopped(): SvcError {
  return new SvcError('interrupted', 'Stopped; the previous remap is unchanged.');
}

/** What the remap thread says. */
export type RemapMessage =
  | { readonly kind: 'progress'; readonly event: ProgressEvent }
  | { readonly kind: 'done'; readonly summary: RemapSummary }
  | ThreadError;

/**
 * Rebuilds the remap in a thread of its own, so that signals are heard and progress is shown meanwhile.
 *
 * @throws SvcError as `buildRemap`, `assertSameExport` and `withDatabase` do; `interrupted`
 */
export function remapInThread(
  wish: Omit<RemapInput, 'stop'>,
  io: Pick<Io, 'signal' | 'onProgress'>,
): Promise<RemapSummary> {
  const input: RemapInput = { ...wish, stop: new Int32Array(new SharedArrayBuffer(4)) };
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./remap-thread.js', import.meta.url), {
      workerData: input,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    // better-sqlite3 13 aborts the process where a thread is ended within the rows of a table function: those stop
    // themselves. Other statements end the thread once SQLite returns; cli.ts does not wait longer than it must.
    let ending: NodeJS.Timeout | undefined;
    const stop = (): void => {
      Atomics.store(input.stop, 0, 1);
      ending = setTimeout(() => void worker.terminate(), TERMINATE_AFTER_MS);
    };
    if (io.signal.aborted) stop();
    io.signal.addEventListener('abort', stop, { once: true });
    worker.on('message', (message: RemapMessage) => {
      if (message.kind === 'progress') io.onProgress(message.event);
      else if (message.kind === 'done') resolve(message.summary);
      else reject(restoreError(message));
    });
    worker.on('error', reject);
    worker.on('exit', (code) => {
      clearTimeout(ending);
      io.signal.removeEventListener('abort', stop);
      if (io.signal.aborted) removeOwnerNote(input.config.database);
      reject(
        io.signal.aborted
          ? remapStopped()
          : new SvcError('internal', `The remap thread ended with code ${code}.`),
      );
    });
  });
}

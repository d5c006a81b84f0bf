import { Worker } from 'node:worker_threads';
import { SvcError } from '../errors.js';
import { Channel, type Functions, notify } from './channel.js';
import type { ThreadIo, ThreadStart } from './thread.js';

export interface ThreadOptions<Remote extends Functions> {
  /** Such as `export`. */
  readonly name: string;
  /** A module that exports its functions for a thread as `serve`, of type `Serve`. */
  readonly module: URL;
  /** The functions that the thread may call. */
  readonly own?: (thread: Channel<Remote>) => Functions;
  /** For a thread that cannot check the signal: it is terminated `afterMs` after the signal, and fails with `error`. */
  readonly end?: { readonly afterMs: number; readonly error: () => SvcError };
}

/** Buffers of pages and columns count for it: the smaller it is, the sooner those that are no longer needed are freed. */
const YOUNG_MIB = 8;

/**
 * Starts a thread, runs `work` with it, and closes it. The signal is passed on to the thread. If the thread ends early,
 * `died` is aborted, and its reason replaces the error of `work`.
 */
export async function withThread<Remote extends Functions, T>(
  { name, module, own, end }: ThreadOptions<Remote>,
  { signal, onProgress }: ThreadIo,
  work: (thread: Channel<Remote>, died: AbortSignal) => Promise<T>,
): Promise<T> {
  const stopFlag = new Int32Array(new SharedArrayBuffer(4));
  const start: ThreadStart = { module: module.href, stopFlag };
  const worker = new Worker(new URL('./thread.js', import.meta.url), {
    workerData: start,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
  });
  const functions: Record<string, Functions[string]> = { onProgress };
  const thread = new Channel<Remote>(worker, functions);
  Object.assign(functions, own?.(thread));
  const death = new AbortController();
  const fail = (error: Error): void => {
    thread.fail(error);
    death.abort(error);
  };
  worker.on('error', fail);
  worker.on('messageerror', fail);
  worker.on('exit', (code) => {
    const stopped = signal.aborted ? end?.error() : undefined;
    fail(stopped ?? new SvcError('internal', `The ${name} thread ended with code ${code}.`));
  });
  let ending: NodeJS.Timeout | undefined;
  const stop = (): void => {
    Atomics.store(stopFlag, 0, 1);
    notify(worker, 'stop');
    if (end !== undefined) ending = setTimeout(() => void worker.terminate(), end.afterMs);
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await work(thread, death.signal);
  } catch (error) {
    throw death.signal.aborted ? death.signal.reason : error;
  } finally {
    clearTimeout(ending);
    signal.removeEventListener('abort', stop);
    notify(worker, 'close');
  }
}

/** Starts a thread, calls its function `run`, and returns the result. */
export function runInThread<Remote extends { readonly run: (input: never) => unknown }>(
  options: ThreadOptions<Remote>,
  io: ThreadIo,
  ...input: Parameters<Remote['run']>
): Promise<Awaited<ReturnType<Remote['run']>>> {
  return withThread<Remote, Awaited<ReturnType<Remote['run']>>>(options, io, (thread) =>
    thread.call('run', ...input),
  );
}

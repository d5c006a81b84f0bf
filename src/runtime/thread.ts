import { parentPort, workerData } from 'node:worker_threads';
import type { OnProgress } from '../domain.js';
import { Channel, type Functions, notify } from './channel.js';

/** The only file that a thread begins with. It runs the module that it was started for. */
await serveThread();

export interface ThreadIo {
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
}

/** The connection of a thread to the one that started it. */
export interface ThreadContext<Main extends Functions> extends ThreadIo {
  readonly main: Channel<Main>;
  /** Whether the signal was aborted, for work that never yields to the event loop. */
  readonly isStopped: () => boolean;
}

/** What a module offers to the thread that starts another one with it. */
export type Serve<Own extends Functions, Main extends Functions = Functions> = (
  context: ThreadContext<Main>,
) => Own;

/** What a thread is started with. */
export interface ThreadStart {
  readonly module: string;
  /** Not 0: the signal was aborted. */
  readonly stopFlag: Int32Array;
}

/** Offers the functions of a module to the thread that started this one, until that thread closes the connection. */
async function serveThread(): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('This module runs in a thread only.');
  const { module, stopFlag }: ThreadStart = workerData;
  const { serve }: { readonly serve: Serve<Functions> } = await import(module);
  const stop = new AbortController();
  const own: Record<string, Functions[string]> = { stop: () => stop.abort(), close: () => port.close() };
  const context: ThreadContext<Functions> = {
    main: new Channel<Functions>(port, own),
    signal: stop.signal,
    onProgress: (event) => notify(port, 'onProgress', event),
    isStopped: () => Atomics.load(stopFlag, 0) !== 0,
  };
  Object.assign(own, serve(context));
}

import { type MessagePort, parentPort, Worker, workerData } from 'node:worker_threads';
import type { OnProgress } from '../domain.js';
import { type ErrorCode, type ErrorFacts, expectedError, SvcError } from '../errors.js';

/** Functions that one thread offers to another. */
export type Functions = { readonly [name: string]: (...args: never[]) => unknown };

/** An error as a message to another thread: structured cloning would lose its class. */
export type ThreadError =
  | {
      readonly kind: 'error';
      readonly code: ErrorCode;
      readonly message: string;
      readonly hint: string | undefined;
      readonly facts: ErrorFacts;
      readonly stack: string;
      readonly cause: ThreadError | undefined;
    }
  | { readonly kind: 'bug'; readonly stack: string };

type Message =
  | {
      readonly kind: 'call';
      /** null: the caller does not wait for the result. */
      readonly id: number | null;
      readonly name: string;
      readonly args: readonly unknown[];
    }
  | { readonly kind: 'return'; readonly id: number; readonly value: never }
  | { readonly kind: 'throw'; readonly id: number; readonly error: ThreadError };

interface PendingCall {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/** Calls functions of another thread, and runs those in `own` when the other thread calls them. */
export class Channel<Remote extends Functions> {
  readonly #port: Pick<MessagePort, 'postMessage'>;
  readonly #own: Functions;
  readonly #pending = new Map<number, PendingCall>();
  #nextId = 0;
  #failure: Error | null = null;

  constructor(port: Worker | MessagePort, own: Functions) {
    this.#port = port;
    this.#own = own;
    port.on('message', (message: Message) => this.#receive(message));
  }

  /** @throws the error of the function, or the reason why the other thread ended */
  call<Name extends keyof Remote & string>(
    name: Name,
    ...args: Parameters<Remote[Name]>
  ): Promise<Awaited<ReturnType<Remote[Name]>>> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null) {
        reject(this.#failure);
        return;
      }
      const id = this.#nextId++;
      this.#pending.set(id, { resolve, reject });
      this.#port.postMessage({ kind: 'call', id, name, args });
    });
  }

  /** Calls without waiting for a result. The buffers in `moved` are transferred instead of copied. */
  send<Name extends keyof Remote & string>(
    name: Name,
    args: Parameters<Remote[Name]>,
    moved: readonly ArrayBuffer[] = [],
  ): void {
    this.#port.postMessage({ kind: 'call', id: null, name, args }, moved);
  }

  /** Rejects all pending and later calls, because the other thread has ended. */
  fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#failure);
    this.#pending.clear();
  }

  #receive(message: Message): void {
    if (message.kind === 'call') {
      void this.#answer(message);
      return;
    }
    const call = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.kind === 'return') call?.resolve(message.value);
    else call?.reject(restoreError(message.error));
  }

  async #answer({ id, name, args }: Message & { kind: 'call' }): Promise<void> {
    const own = this.#own[name];
    if (own === undefined) throw new Error(`The other thread called ${name}, which does not exist.`);
    try {
      const value: unknown = await Reflect.apply(own, undefined, args);
      if (id !== null) this.#port.postMessage({ kind: 'return', id, value });
    } catch (error) {
      if (id === null) throw error;
      this.#port.postMessage({ kind: 'throw', id, error: flattenError(error) });
    }
  }
}

export interface ThreadOptions<Remote extends Functions> {
  /** Such as `export`. */
  readonly name: string;
  /** A module that exports its functions for a thread as `serve`, of type `Serve`. */
  readonly module: URL;
  /** Maximum size of the young generation of its heap; absent: Node's default. */
  readonly youngMiB?: number;
  /** The functions that the thread may call. */
  readonly own?: (thread: Channel<Remote>) => Functions;
  /** For a thread that cannot check the signal: it is terminated `afterMs` after the signal, and fails with `error`. */
  readonly end?: { readonly afterMs: number; readonly error: () => SvcError };
}

export interface ThreadIo {
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
}

/**
 * Starts a thread, runs `work` with it, and closes it. The signal is passed on to the thread. If the thread ends early,
 * `died` is aborted, and its reason replaces the error of `work`.
 */
export async function withThread<Remote extends Functions, T>(
  { name, module, youngMiB, own, end }: ThreadOptions<Remote>,
  { signal, onProgress }: ThreadIo,
  work: (thread: Channel<Remote>, died: AbortSignal) => Promise<T>,
): Promise<T> {
  const stopFlag = new Int32Array(new SharedArrayBuffer(4));
  const limits = youngMiB === undefined ? {} : { resourceLimits: { maxYoungGenerationSizeMb: youngMiB } };
  const start: ThreadStart = { module: module.href, stopFlag };
  const worker = new Worker(new URL('./thread.js', import.meta.url), { workerData: start, ...limits });
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

function notify(port: Pick<MessagePort, 'postMessage'>, name: string, ...args: readonly unknown[]): void {
  port.postMessage({ kind: 'call', id: null, name, args });
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
interface ThreadStart {
  readonly module: string;
  /** Not 0: the signal was aborted. */
  readonly stopFlag: Int32Array;
}

/** Offers the functions of a module to the thread that started this one, until that thread closes the connection. */
export async function serveThread(): Promise<void> {
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

/** Converts an error to a message; `restoreError` converts it back. */
export function flattenError(thrown: unknown): ThreadError {
  const error = expectedError(thrown);
  if (error === null) return { kind: 'bug', stack: stackOf(thrown) };
  const { code, message, hint, facts } = error;
  return {
    kind: 'error',
    code,
    message,
    hint,
    facts,
    stack: stackOf(thrown),
    cause: flattenCause(error.cause),
  };
}

/** An error that is the cause of an expected error is not converted to one again: it would be its own cause. */
function flattenCause(cause: unknown): ThreadError | undefined {
  if (cause === undefined) return undefined;
  return cause instanceof SvcError ? flattenError(cause) : { kind: 'bug', stack: stackOf(cause) };
}

function stackOf(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
}

/** The error that `flattenError` flattened, with its original stack and causes. */
export function restoreError(flat: ThreadError): Error {
  const error = flat.kind === 'error' ? restoreSvcError(flat) : new Error(flat.stack.split('\n')[0]);
  error.stack = flat.stack;
  return error;
}

function restoreSvcError({ code, message, hint, facts, cause }: ThreadError & { kind: 'error' }): SvcError {
  const restored = cause === undefined ? undefined : restoreError(cause);
  return new SvcError(code, message, { hint, facts, cause: restored });
}

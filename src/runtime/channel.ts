import type { MessagePort, Worker } from 'node:worker_threads';
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

/** Calls a function of the other thread without waiting for a result. */
export function notify(
  port: Pick<MessagePort, 'postMessage'>,
  name: string,
  ...args: readonly unknown[]
): void {
  port.postMessage({ kind: 'call', id: null, name, args });
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

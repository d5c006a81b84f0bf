import { EventEmitter } from 'node:events';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import {
  MessageChannel,
  type MessagePort,
  type Transferable,
  Worker,
  type WorkerOptions,
} from 'node:worker_threads';

const SHELL = new URL('./thread-shell.mjs', import.meta.url);
/** Node.js never forgets a module: after so many, a thread is let go. */
const MAX_RUNS = 500;

interface Shell {
  readonly worker: Worker;
  runs: number;
}

/** Idle threads, by their limits; kept on the process, because every test file loads this module anew. */
const KEPT = Symbol.for('idle threads of svc-migrate');
const IDLE: Map<string, Shell[]> = Reflect.get(globalThis, KEPT) ?? new Map();

/** What the program takes for a new thread: one that has run its modules before. */
class WarmWorker extends EventEmitter {
  readonly #worker: Worker;
  readonly #port: MessagePort;

  constructor(module: URL, { workerData, ...limits }: WorkerOptions) {
    super();
    const key = JSON.stringify(limits);
    const shell = IDLE.get(key)?.pop() ?? { worker: new Worker(SHELL, limits), runs: 0 };
    const { port1, port2 } = new MessageChannel();
    this.#worker = shell.worker.removeAllListeners();
    this.#port = port1;
    for (const event of ['error', 'exit']) this.#worker.on(event, (what) => this.emit(event, what));
    for (const event of ['message', 'messageerror']) port1.on(event, (what) => this.emit(event, what));
    // It says so when its module has closed the port; a thread that ended otherwise never does.
    this.#worker.on('message', () => this.#release(key, shell));
    this.#worker.ref();
    this.#worker.postMessage({ module: module.href, port: port2, workerData }, [port2]);
  }

  postMessage(message: unknown, moved: readonly Transferable[] = []): void {
    this.#port.postMessage(message, moved);
  }

  terminate(): Promise<number> {
    return this.#worker.terminate();
  }

  #release(key: string, shell: Shell): void {
    shell.runs += 1;
    if (shell.runs >= MAX_RUNS) {
      void shell.worker.terminate();
      return;
    }
    shell.worker.unref();
    IDLE.set(key, [...(IDLE.get(key) ?? []), shell]);
    this.emit('exit', 0);
  }
}

/** Lets the program of a folder keep its threads: starting one takes longer than most commands of tests work. */
export function keepThreads(folder: string): void {
  if (Reflect.has(globalThis, KEPT)) return;
  Reflect.set(globalThis, KEPT, IDLE);
  const threads = createRequire(import.meta.url)('node:worker_threads');
  threads.Worker = new Proxy(Worker, {
    construct: (target, args) =>
      args[0] instanceof URL && args[0].href.startsWith(folder)
        ? Reflect.construct(WarmWorker, args)
        : Reflect.construct(target, args),
  });
  syncBuiltinESMExports();
}

import { Agent, Dispatcher } from 'undici';

/** Passes requests on and notes when each leaves. */
export class WatchedAgent extends Dispatcher {
  readonly #agent = new Agent({ pipelining: 1 });
  readonly #onDispatch: (origin: string) => void;

  constructor(onDispatch: (origin: string) => void) {
    super();
    this.#onDispatch = onDispatch;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    this.#onDispatch(String(options.origin));
    return this.#agent.dispatch(options, handler);
  }

  override destroy(): Promise<void> {
    return this.#agent.destroy();
  }
}

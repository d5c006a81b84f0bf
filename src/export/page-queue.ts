import type { ListPage } from '../domain.js';
import { isRequestError, type SvcError } from '../errors.js';
import type { StreamRow } from '../store/streams.js';
import type { Arrival, PageSubscription } from './prefetch.js';

/** A page, or an error that concerns only its list. */
export interface ArrivedPage {
  readonly askedMs: number;
  readonly answer: ListPage | SvcError;
}

/** The pages of a stream that have arrived but are not saved. They are taken only at the cursor of the stream's row. */
export class PageQueue {
  readonly #subscription: PageSubscription;
  readonly #walk: number;
  #cursor: string | null;
  readonly #arrived: ArrivedPage[] = [];
  #failure: Error | null = null;
  /** Whether the last page was taken, or the queue was ended. */
  #isOver = false;
  #wake: () => void = () => {};

  /** Subscribes from the row's cursor; calls `flushSoon` when no more pages are requested until some are taken. */
  constructor(
    { position }: StreamRow,
    subscribe: (onArrival: (arrival: Arrival) => void) => PageSubscription,
    flushSoon: () => void,
  ) {
    this.#walk = position.walk;
    this.#cursor = position.cursor;
    this.#subscription = subscribe((arrival) => {
      if (this.#isOver) return;
      this.#store(arrival);
      this.#wake();
      if (arrival.waits) flushSoon();
    });
  }

  /** Resolves once a page can be taken. */
  async arrival(): Promise<void> {
    while (this.#arrived.length === 0) {
      if (this.#failure !== null) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Whether the next page is the one at the row's cursor. */
  fits({ state, position }: StreamRow): boolean {
    return (
      state === 'running' &&
      position.phase !== 'drop' &&
      position.walk === this.#walk &&
      position.cursor === this.#cursor &&
      !this.#isOver
    );
  }

  /** Takes the page at the row's cursor; null if it has not arrived. */
  take(row: StreamRow): ArrivedPage | null {
    const [page] = this.#arrived;
    if (page === undefined || !this.fits(row)) return null;
    this.#arrived.shift();
    this.#subscription.ack();
    this.#cursor = 'columns' in page.answer ? page.answer.next : null;
    this.#isOver = this.#cursor === null;
    return page;
  }

  /** Discards all pages and ends the subscription, without waiting for a pending request. */
  end(): void {
    this.#arrived.length = 0;
    this.#isOver = true;
    this.#subscription.end();
  }

  #store({ askedMs, answer }: Arrival): void {
    if (!(answer instanceof Error) || isRequestError(answer)) this.#arrived.push({ askedMs, answer });
    else this.#failure = answer;
  }
}

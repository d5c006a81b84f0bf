import type { ListPage } from '../domain.js';
import { isRequestError, type SvcError } from '../errors.js';
import type { StreamRow } from '../store/streams.js';
import type { Arrival, PageSubscription } from './prefetch.js';

/** A page as it is saved, or an error that concerns its list. */
export interface ArrivedPage {
  readonly askedMs: number;
  readonly answer: ListPage | SvcError;
}

/**
 * The pages of one stream that have arrived and are not saved yet. Whether a page is still wanted is for the
 * stream's row to say when it is taken.
 */
export class PageQueue {
  readonly #subscription: PageSubscription;
  readonly #walk: number;
  #cursor: string | null;
  readonly #arrived: ArrivedPage[] = [];
  #failure: Error | null = null;
  /** Nothing more is given: the last page was, or nobody wants more. */
  #isOver = false;
  #onNews: () => void = () => {};

  /** Subscribes from where the row stands; calls `flushSoon` when nothing more is asked for before pages are taken. */
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
      this.#onNews();
      if (arrival.waits) flushSoon();
    });
  }

  /** Resolves once a page can be taken. */
  async arrival(): Promise<void> {
    while (this.#arrived.length === 0) {
      if (this.#failure !== null) throw this.#failure;
      await new Promise<void>((resolve) => {
        this.#onNews = resolve;
      });
    }
  }

  /** Whether the pages asked for are those that the row wants next. */
  fits({ state, position }: StreamRow): boolean {
    return (
      state === 'running' &&
      position.phase !== 'drop' &&
      position.walk === this.#walk &&
      position.cursor === this.#cursor &&
      !this.#isOver
    );
  }

  /** The page at the row's cursor if it has arrived and is wanted. */
  take(row: StreamRow): ArrivedPage | null {
    const [page] = this.#arrived;
    if (page === undefined || !this.fits(row)) return null;
    this.#arrived.shift();
    this.#subscription.ack();
    this.#cursor = 'columns' in page.answer ? page.answer.next : null;
    this.#isOver = this.#cursor === null;
    return page;
  }

  /** Takes nothing more; what is under way is not waited for. */
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

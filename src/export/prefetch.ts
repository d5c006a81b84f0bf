import type { Api } from '../api/client.js';
import type { ListRequest } from '../api/queries.js';
import type { Clock, ListPage } from '../domain.js';
import { isRequestError, type SvcError } from '../errors.js';
import type { StreamRow } from '../store/streams.js';

/** The source of pages. It retries requests; the errors it throws are final. */
export type PageSource = Pick<Api, 'fetchPage' | 'fetchV4Companies'>;

/** A page, or the error of its request. */
export interface Arrival {
  readonly askedMs: number;
  readonly answer: ListPage | Error;
  /** Whether no further page is requested until pages of this list are acknowledged, or because this was the last. */
  readonly waits: boolean;
}

/** A list whose pages are being requested. */
export interface PageSubscription {
  /** Acknowledges the oldest page: it was taken. */
  ack(): void;
  /** Requests nothing more, without waiting for a pending request. */
  end(): void;
}

/** The first page of a list to be requested. */
export interface PageRequest extends ListRequest {
  /** Whether to request no page that follows, because the page decides how the list is read. */
  readonly single?: boolean;
}

/** Supplies an export with pages, which are requested ahead and arrive in order. */
export interface PageSupply {
  /**
   * Requests the given page and those that follow, one after the other. Ends with the last page or an error; with
   * `single`, after one page.
   */
  subscribe(request: PageRequest, onArrival: (arrival: Arrival) => void): PageSubscription;
  fetchV4Companies: PageSource['fetchV4Companies'];
}

/** Maximum number of pages of one list that wait to be taken: enough to fill a transaction with small pages. */
const MAX_PAGES = 8;
/** Limit on the bytes that wait in all lists together. Above it, no list with a waiting page requests another. */
const MAX_BYTES = 3 * 1024 * 1024;

/** Creates a page supply. Each page is requested as soon as the previous one has arrived, before that is saved. */
export function createPageSupply(source: PageSource, clock: Clock): PageSupply {
  const backlog = { bytes: 0 };
  return {
    fetchV4Companies: () => source.fetchV4Companies(),
    subscribe: (request, onArrival) => {
      const prefetcher = new Prefetcher({ source, clock, backlog, onArrival });
      prefetcher.run(request);
      return prefetcher;
    },
  };
}

interface PrefetchOptions {
  readonly source: PageSource;
  readonly clock: Clock;
  /** Bytes that wait to be taken, in all lists. */
  readonly backlog: { bytes: number };
  readonly onArrival: (arrival: Arrival) => void;
}

class Prefetcher implements PageSubscription {
  readonly #options: PrefetchOptions;
  /** The size in bytes of each page that waits to be taken. */
  readonly #waiting: number[] = [];
  /** Whether the subscription was ended. */
  #isOver = false;
  #wake: () => void = () => {};

  constructor(options: PrefetchOptions) {
    this.#options = options;
  }

  async run({ single = false, ...first }: PageRequest): Promise<void> {
    const { source, clock, backlog, onArrival } = this.#options;
    let askedMs = 0;
    try {
      for (let request: ListRequest = first; !this.#isOver; ) {
        askedMs = clock.now();
        const answer = await source.fetchPage(request);
        if (this.#isOver) return;
        const { length } = answer.columns.body;
        this.#waiting.push(length);
        backlog.bytes += length;
        const isLast = single || answer.next === null;
        onArrival({ askedMs, answer, waits: isLast || this.#isFull() });
        if (single || answer.next === null) return;
        request = { ...request, cursor: answer.next };
        while (this.#isFull()) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } catch (error) {
      const answer = error instanceof Error ? error : new Error(String(error));
      if (!this.#isOver) onArrival({ askedMs, answer, waits: true });
    }
  }

  ack(): void {
    this.#options.backlog.bytes -= this.#waiting.shift() ?? 0;
    this.#wake();
  }

  end(): void {
    for (const bytes of this.#waiting.splice(0)) this.#options.backlog.bytes -= bytes;
    this.#isOver = true;
    this.#wake();
  }

  #isFull(): boolean {
    const { length } = this.#waiting;
    return length >= MAX_PAGES || (length > 0 && this.#options.backlog.bytes > MAX_BYTES);
  }
}

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

  readonly #single: boolean;

  /**
   * Subscribes from the row's cursor; calls `flushSoon` when no more pages are requested until some are taken. With
   * `single`, only one page is requested.
   */
  constructor(
    { position }: StreamRow,
    subscribe: (onArrival: (arrival: Arrival) => void) => PageSubscription,
    flushSoon: () => void,
    single = false,
  ) {
    this.#single = single;
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
      state === 'running' && position.walk === this.#walk && position.cursor === this.#cursor && !this.#isOver
    );
  }

  /** Takes the page at the row's cursor; null if it has not arrived. */
  take(row: StreamRow): ArrivedPage | null {
    const [page] = this.#arrived;
    if (page === undefined || !this.fits(row)) return null;
    this.#arrived.shift();
    this.#subscription.ack();
    this.#cursor = 'columns' in page.answer ? page.answer.next : null;
    this.#isOver = this.#single || this.#cursor === null;
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

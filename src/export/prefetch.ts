import type { Api } from '../api/client.js';
import type { ListRequest } from '../api/queries.js';
import type { ListPage } from '../domain.js';

/** The source of pages. It retries by itself; its errors are final. */
export type PageSource = Pick<Api, 'fetchPage' | 'fetchV4Companies'>;

/** A page, or the error of its request. */
export interface Arrival {
  readonly askedMs: number;
  readonly answer: ListPage | Error;
  /** Whether no further page is requested until pages of this list are acknowledged, or at all. */
  readonly waits: boolean;
}

/** A list whose pages are being requested. */
export interface PageSubscription {
  /** Acknowledges the oldest page: it was taken. */
  ack(): void;
  /** Requests nothing more, without waiting for a pending request. */
  end(): void;
}

/** Supplies an export with pages, which are requested ahead and arrive in order. */
export interface PageSupply {
  /** Requests the given page and those that follow, one after the other. Ends with the last page or an error. */
  subscribe(request: ListRequest, onArrival: (arrival: Arrival) => void): PageSubscription;
  fetchV4Companies: PageSource['fetchV4Companies'];
}

/** Pages of one list that may wait to be taken: enough to fill a transaction with small pages. */
const MAX_PAGES = 8;
/** If more bytes wait in all lists together, each list with waiting pages waits until they are taken. */
const MAX_BYTES = 3 * 1024 * 1024;

/** Creates a page supply. Each page is requested as soon as the previous one has arrived, before that is saved. */
export function createPageSupply(source: PageSource, clock: { now(): number }): PageSupply {
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
  readonly clock: { now(): number };
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

  async run(first: ListRequest): Promise<void> {
    const { source, clock, backlog, onArrival } = this.#options;
    let askedMs = 0;
    try {
      for (let request = first; !this.#isOver; ) {
        askedMs = clock.now();
        const answer = await source.fetchPage(request);
        if (this.#isOver) return;
        const { length } = answer.columns.body;
        this.#waiting.push(length);
        backlog.bytes += length;
        onArrival({ askedMs, answer, waits: answer.next === null || this.#isFull() });
        if (answer.next === null) return;
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

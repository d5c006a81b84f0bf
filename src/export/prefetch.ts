import type { Api } from '../api/client.js';
import type { ListRequest } from '../api/queries.js';
import type { ListPage } from '../domain.js';

/** What is asked for pages. It retries by itself; what it throws is final. */
export type PageSource = Pick<Api, 'fetchPage' | 'fetchV4Companies'>;

/** A page that was asked for, or why it could not be had. */
export interface Arrival {
  readonly askedMs: number;
  readonly answer: ListPage | Error;
  /** Nothing more is asked for before pages of this list are acknowledged, or at all. */
  readonly waits: boolean;
}

/** A list whose pages are being asked for. */
export interface PageSubscription {
  /** The page that arrived first of those that are left was taken. */
  ack(): void;
  /** Asks for nothing more; what is under way is not waited for. */
  end(): void;
}

/** Where an export has its pages from: they arrive in their order, before anybody asks for them. */
export interface PageSupply {
  /** Asks for the page of the request and, page after page, for those behind it. An error is the last to arrive. */
  subscribe(request: ListRequest, onArrival: (arrival: Arrival) => void): PageSubscription;
  fetchV4Companies: PageSource['fetchV4Companies'];
}

/** Pages of one list that may be under way or wait to be taken: enough to fill a transaction with small ones. */
const MAX_PAGES = 8;
/** With so many bytes waiting in all lists, each waits until its own pages are taken. */
const MAX_BYTES = 3 * 1024 * 1024;

/**
 * Supplies an export with pages from the source: each is asked for as soon as the cursor of the one before is known,
 * whether that is saved by then or not.
 */
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
  /** What waits to be taken, over all lists. */
  readonly backlog: { bytes: number };
  readonly onArrival: (arrival: Arrival) => void;
}

class Prefetcher implements PageSubscription {
  readonly #options: PrefetchOptions;
  /** Bytes of each page that waits to be taken. */
  readonly #waiting: number[] = [];
  /** Nothing more is asked for or told. */
  #isOver = false;
  #onRoom: () => void = () => {};

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
            this.#onRoom = resolve;
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
    this.#onRoom();
  }

  end(): void {
    for (const bytes of this.#waiting.splice(0)) this.#options.backlog.bytes -= bytes;
    this.#isOver = true;
    this.#onRoom();
  }

  #isFull(): boolean {
    const { length } = this.#waiting;
    return length >= MAX_PAGES || (length > 0 && this.#options.backlog.bytes > MAX_BYTES);
  }
}

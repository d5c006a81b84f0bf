import type { ListPage } from '../domain.js';
import type { Arrival, Followed, ListRequest, PageSource, PageSupply } from './source.js';

/** Pages of one list that may be under way or wait to be taken: enough to fill a transaction with small ones. */
const MOST_PAGES = 8;
/** With so many bytes waiting in all lists, each waits until its own pages are taken. */
const MOST_BYTES = 3 * 1024 * 1024;

/**
 * Supplies an export with pages from the source: each is asked for as soon as the cursor of the one before is known,
 * whether that is saved by then or not.
 */
export function createPageSupply(source: PageSource, clock: { now(): number }): PageSupply {
  const backlog = { bytes: 0 };
  return {
    fetchV4Companies: () => source.fetchV4Companies(),
    follow: (request, onArrival) => {
      const asking = new AskAhead({ source, clock, backlog, onArrival });
      asking.askOn(request).catch((error: unknown) => asking.fail(error));
      return asking;
    },
  };
}

interface Asking {
  readonly source: PageSource;
  readonly clock: { now(): number };
  /** What waits to be taken, over all lists. */
  readonly backlog: { bytes: number };
  readonly onArrival: (arrival: Arrival) => void;
}

class AskAhead implements Followed {
  readonly #asking: Asking;
  /** Bytes of each page that waits to be taken. */
  readonly #waiting: number[] = [];
  #askedMs = 0;
  /** Nothing more is asked for or told. */
  #isOver = false;
  #onRoom: () => void = () => {};

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  async askOn(first: ListRequest): Promise<void> {
    const { source, clock, onArrival } = this.#asking;
    for (let request = first; !this.#isOver; ) {
      this.#askedMs = clock.now();
      const page = await source.fetchPage(request);
      if (this.#isOver) return;
      this.#count(page);
      onArrival({ askedMs: this.#askedMs, answer: page, waits: page.next === null || this.#isFull() });
      if (page.next === null) return;
      request = { ...request, cursor: page.next };
      while (this.#isFull()) await this.#room();
    }
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    const answer = error instanceof Error ? error : new Error(String(error));
    this.#asking.onArrival({ askedMs: this.#askedMs, answer, waits: true });
  }

  taken(): void {
    this.#asking.backlog.bytes -= this.#waiting.shift() ?? 0;
    this.#onRoom();
  }

  end(): void {
    for (const bytes of this.#waiting.splice(0)) this.#asking.backlog.bytes -= bytes;
    this.#isOver = true;
    this.#onRoom();
  }

  #count({ columns }: ListPage): void {
    this.#waiting.push(columns.body.length);
    this.#asking.backlog.bytes += columns.body.length;
  }

  #isFull(): boolean {
    const { length } = this.#waiting;
    return length >= MOST_PAGES || (length > 0 && this.#asking.backlog.bytes > MOST_BYTES);
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = resolve;
    });
  }
}

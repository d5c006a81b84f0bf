import type { ListPage } from '../domain.js';
import type { SvcError } from '../errors.js';
import type { StreamRow } from '../store/stream-row.js';

/** Pages of one stream that may be under way or wait to be saved: enough to fill a transaction with small ones. */
const MOST_PAGES = 8;
/** With so many bytes waiting in all streams, each waits until its own pages are saved. */
const MOST_BYTES = 4 * 1024 * 1024;

/** A page that was asked for, or why it could not be had. */
export interface AskedPage {
  readonly askedMs: number;
  readonly answer: ListPage | SvcError;
}

/** What waits to be saved, over all streams. */
export interface Backlog {
  bytes: number;
  /** Called when a stream asks for nothing more before its pages are saved. */
  readonly hurry: () => void;
}

export interface ReadAheadOptions {
  /** Asks for the page at the cursor. What it throws concerns more than this stream. */
  readonly fetch: (cursor: string | null) => Promise<ListPage | SvcError>;
  readonly backlog: Backlog;
  readonly clock: { now(): number };
}

/**
 * Asks for the pages that follow a stream's cursor before those before them are saved: page after page, each as soon
 * as the cursor of the one before is known. Whether a page is still wanted is for the stream's row to say when it is
 * taken.
 */
export class ReadAhead {
  readonly #options: ReadAheadOptions;
  readonly #walk: number;
  #cursor: string | null;
  readonly #arrived: AskedPage[] = [];
  #failure: { readonly error: unknown } | null = null;
  /** Nothing more is asked for or given: the last page was, or nobody wants more. */
  #isOver = false;
  readonly #news = new Bell();
  readonly #room = new Bell();

  /** Begins where the row stands. */
  constructor({ position }: StreamRow, options: ReadAheadOptions) {
    this.#options = options;
    this.#walk = position.walk;
    this.#cursor = position.cursor;
    this.#askOn(position.cursor).catch((error: unknown) => {
      this.#failure = { error };
      this.#news.ring();
    });
  }

  /** Resolves once a page can be taken. */
  async arrival(): Promise<void> {
    while (this.#arrived.length === 0) {
      if (this.#failure !== null) throw this.#failure.error;
      await this.#news.heard();
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
  take(row: StreamRow): AskedPage | null {
    const [page] = this.#arrived;
    if (page === undefined || !this.fits(row)) return null;
    this.#arrived.shift();
    this.#options.backlog.bytes -= bytesOf(page.answer);
    const next = nextOf(page.answer);
    this.#isOver = next === null;
    this.#cursor = next;
    this.#room.ring();
    return page;
  }

  /** Asks for nothing more; what is under way is not waited for. */
  end(): void {
    for (const { answer } of this.#arrived) this.#options.backlog.bytes -= bytesOf(answer);
    this.#arrived.length = 0;
    this.#isOver = true;
    this.#room.ring();
  }

  async #askOn(first: string | null): Promise<void> {
    const { fetch, backlog, clock } = this.#options;
    for (let cursor = first; !this.#isOver; ) {
      const askedMs = clock.now();
      const answer = await fetch(cursor);
      if (this.#isOver) return;
      backlog.bytes += bytesOf(answer);
      this.#arrived.push({ askedMs, answer });
      this.#news.ring();
      cursor = nextOf(answer);
      if (cursor === null || this.#isFull()) backlog.hurry();
      if (cursor === null) return;
      while (this.#isFull()) await this.#room.heard();
    }
  }

  #isFull(): boolean {
    const { length } = this.#arrived;
    return length >= MOST_PAGES || (length > 0 && this.#options.backlog.bytes > MOST_BYTES);
  }
}

/** Lets one wait for what another does. */
class Bell {
  #ring: () => void = () => {};

  heard(): Promise<void> {
    return new Promise((resolve) => {
      this.#ring = resolve;
    });
  }

  ring(): void {
    this.#ring();
  }
}

function nextOf(answer: ListPage | SvcError): string | null {
  return 'columns' in answer ? answer.next : null;
}

function bytesOf(answer: ListPage | SvcError): number {
  return 'columns' in answer ? answer.columns.body.length : 0;
}

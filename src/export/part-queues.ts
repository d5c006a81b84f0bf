import type { Part } from '../store/parts.js';
import type { StreamRow } from '../store/streams.js';
import type { PageQueue } from './prefetch.js';
import type { PartPage } from './saver.js';

/** Parts whose pages are requested at the same time: each may have a page in memory. */
const MAX_OPEN = 64;

/** The pages of a list that is read company by company. */
export class PartQueues {
  /** By company; replaced by their new states. */
  readonly parts: Map<bigint, Part>;
  readonly #queues = new Map<bigint, PageQueue>();
  readonly #start: (partRow: StreamRow) => PageQueue;

  /** `start` requests the pages of a row. */
  constructor(parts: Map<bigint, Part>, start: (partRow: StreamRow) => PageQueue) {
    this.parts = parts;
    this.#start = start;
  }

  /** Resolves once a page of any part can be taken. Throws as `PageQueue.arrival`. */
  async arrival(row: StreamRow): Promise<void> {
    for (const part of this.parts.values()) this.#keepOpen(row, part);
    await Promise.race([...this.#queues.values()].map((queue) => queue.arrival()));
  }

  /** A page that has arrived at the cursor of its part; null if there is none. */
  take(row: StreamRow): PartPage | null {
    for (const [companyId, queue] of this.#queues) {
      const part = this.parts.get(companyId);
      const page = part === undefined || part.ended ? null : queue.take(partRowOf(row, part));
      if (part !== undefined && page !== null) return { part, page };
    }
    return null;
  }

  /** Discards all pages, without waiting for pending requests. */
  end(): void {
    for (const queue of this.#queues.values()) queue.end();
    this.#queues.clear();
  }

  #keepOpen(row: StreamRow, part: Part): void {
    const queue = this.#queues.get(part.companyId);
    const partRow = partRowOf(row, part);
    if (!part.ended && queue?.fits(partRow) === true) return;
    queue?.end();
    this.#queues.delete(part.companyId);
    if (!part.ended && this.#queues.size < MAX_OPEN) this.#queues.set(part.companyId, this.#start(partRow));
  }
}

/** The row of a list as if it had only the records of one company. */
function partRowOf(row: StreamRow, { companyId, cursor }: Part): StreamRow {
  return { ...row, companyId, position: { ...row.position, cursor } };
}

import { parentPort, workerData } from 'node:worker_threads';
import { freeMemory } from '../api/free-memory.js';
import type { CompanyListing } from '../api/v4-companies.js';
import type { Generation, ListPage } from '../domain.js';
import type { Arrival, Followed, ListRequest, PageSupply } from '../export/source.js';
import { flattenError, restoreError } from '../runtime/thread-errors.js';
import { buffersOf, type ExportMessage, type ExportOrder } from './export-in-thread.js';
import { type Exporter, type ExportWish, exporterOn } from './exporter-on.js';
import { type Hold, withDatabase } from './hold-database.js';

/** The thread that holds the database and exports into it, with pages that the other thread asks for. */
class ExportServant implements PageSupply {
  readonly #stop = new AbortController();
  readonly #lists = new Map<number, (arrival: Arrival) => void>();
  #nextList = 0;
  #onCompanies: (companies: Promise<CompanyListing>) => void = () => {};

  /** Obeys until it is told to close. */
  async serve(hold: Hold): Promise<void> {
    await withDatabase(hold, async (db) => {
      const exporter = exporterOn(db, hold.file, {
        signal: this.#stop.signal,
        clock: { now: Date.now },
        onProgress: (event) => tell({ kind: 'progress', event }),
      });
      await new Promise<void>((close) => {
        parentPort?.on('message', (order: ExportOrder) => this.#obey(order, exporter, close));
        tell({ kind: 'open' });
      });
    });
  }

  follow(request: ListRequest, onArrival: (arrival: Arrival) => void): Followed {
    const list = this.#nextList++;
    this.#lists.set(list, onArrival);
    tell({ kind: 'follow', list, request });
    return {
      taken: () => tell({ kind: 'taken', list }),
      end: () => {
        this.#lists.delete(list);
        tell({ kind: 'end', list });
      },
    };
  }

  release(page: ListPage): void {
    freeMemory(buffersOf(page));
  }

  fetchV4Companies(): Promise<CompanyListing> {
    tell({ kind: 'companies' });
    return new Promise((resolve) => {
      this.#onCompanies = resolve;
    });
  }

  #obey(order: ExportOrder, exporter: Exporter, close: () => void): void {
    switch (order.kind) {
      case 'export':
        this.#export(order.generation, order.wish, exporter);
        break;
      case 'arrival': {
        const { answer, ...rest } = order.arrival;
        const told = 'columns' in answer ? answer : restoreError(answer);
        this.#lists.get(order.list)?.({ ...rest, answer: told });
        break;
      }
      case 'companies':
        this.#onCompanies(Promise.resolve(order.listing));
        break;
      case 'no_companies':
        this.#onCompanies(Promise.reject(restoreError(order.error)));
        break;
      case 'stop':
        this.#stop.abort();
        break;
      case 'close':
        close();
        break;
      default:
        order satisfies never;
    }
  }

  async #export(generation: Generation, wish: ExportWish, exporter: Exporter): Promise<void> {
    try {
      const { firstError, ...summary } = await exporter(generation, wish, this);
      tell({ kind: 'done', summary, firstError: firstError === null ? null : flattenError(firstError) });
    } catch (error) {
      tell({ kind: 'failed', error: flattenError(error) });
    }
  }
}

function tell(message: ExportMessage): void {
  parentPort?.postMessage(message);
}

try {
  await new ExportServant().serve(workerData as Hold);
} catch (error) {
  tell({ kind: 'broken', error: flattenError(error) });
} finally {
  parentPort?.close();
}

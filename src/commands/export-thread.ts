import type { HostWait } from '../api/limiter.js';
import type { Generation, ListPage } from '../domain.js';
import type { Arrival, PageSupply } from '../export/prefetch.js';
import type { ExportSummary } from '../export/run-export.js';
import { flattenError, restoreError, serveThread, type ThreadError } from '../runtime/threads.js';
import { saveHostWaits } from '../store/meta.js';
import { guardDatabase } from '../store/open.js';
import { type DatabaseHold, withDatabase } from './database.js';
import { type Exporter, type ExportMain, type ExportRequest, exporterOn } from './export-in-thread.js';

export type ExportThread = {
  /** Resolves once the database is held. */
  readonly open: (hold: DatabaseHold) => Promise<void>;
  readonly export: (generation: Generation, request: ExportRequest) => Promise<ThreadSummary>;
  /** Delivers a page of a list, or the error of its request. */
  readonly arrive: (list: number, arrival: ThreadArrival) => void;
  /** Stores a wait that a host asked for, for the next process. */
  readonly saveHostWait: (wait: HostWait) => void;
  /** Resolves once the database is released. */
  readonly release: () => Promise<void>;
};

export type ThreadArrival = Omit<Arrival, 'answer'> & { readonly answer: ListPage | ThreadError };
export type ThreadSummary = Omit<ExportSummary, 'firstError'> & { readonly firstError: ThreadError | null };

/** The thread that holds the database and exports into it; the main thread requests the pages. */
serveThread<ExportThread, ExportMain>(({ main, signal, onProgress }) => {
  const lists = new Map<number, (arrival: Arrival) => void>();
  let nextList = 0;
  const supply: PageSupply = {
    subscribe: (request, onArrival) => {
      const list = nextList++;
      lists.set(list, onArrival);
      main.send('subscribe', [list, request]);
      return {
        ack: () => main.send('ack', [list]),
        end: () => {
          lists.delete(list);
          main.send('end', [list]);
        },
      };
    },
    fetchV4Companies: () => main.call('fetchV4Companies'),
  };
  let exporter: Exporter | undefined;
  let saveHostWait: ((wait: HostWait) => void) | undefined;
  let close: (() => void) | undefined;
  let held: Promise<void> | undefined;
  return {
    open: (hold) =>
      new Promise((opened, failed) => {
        held = withDatabase(hold, (db) => {
          exporter = exporterOn(db, hold.file, { signal, clock: { now: Date.now }, onProgress });
          saveHostWait = (wait) => guardDatabase(hold.file, () => saveHostWaits(db, [wait], Date.now()));
          return new Promise<void>((resolve) => {
            close = resolve;
            opened();
          });
        });
        held.catch(failed);
      }),
    export: async (generation, request) => {
      if (exporter === undefined) throw new Error('The database is not open.');
      const { firstError, ...summary } = await exporter(generation, request, supply);
      return { ...summary, firstError: firstError === null ? null : flattenError(firstError) };
    },
    arrive: (list, { answer, ...rest }) => {
      lists.get(list)?.({ ...rest, answer: 'columns' in answer ? answer : restoreError(answer) });
    },
    saveHostWait: (wait) => saveHostWait?.(wait),
    release: async () => {
      close?.();
      await held;
    },
  };
});

import type { CompanyListing } from '../api/company-list.js';
import type { HostWait } from '../api/limiter.js';
import { buildFingerprint, type Config } from '../config/config.js';
import { type Generation, type ListPage, progressOf } from '../domain.js';
import { SvcError } from '../errors.js';
import type { ExportOptions } from '../export/begin-export.js';
import type { Arrival, PageRequest, PageSubscription, PageSupply } from '../export/prefetch.js';
import type { ExportSummary } from '../export/run-export.js';
import { exportV3, exportV4 } from '../export/run-export.js';
import { type Channel, flattenError, restoreError, type ThreadError } from '../runtime/channel.js';
import type { Serve } from '../runtime/thread.js';
import { withThread } from '../runtime/threads.js';
import { saveHostWaits } from '../store/meta.js';
import { type Db, guardDatabase } from '../store/open.js';
import type { Narrowing } from './command.js';
import { type DatabaseHold, removeOwnerNote, withDatabase } from './database.js';
import type { ApiIo } from './with-api.js';

export interface ExportRequest extends Narrowing, Pick<ExportOptions, 'settledCounts' | 'mayBeEmpty'> {
  readonly config: Config;
  /** Read everything again instead of continuing. */
  readonly restart: boolean;
}

/** Reads one generation into the open database. Throws as `runExport` does. */
export type Exporter = (
  generation: Generation,
  request: ExportRequest,
  supply: PageSupply,
) => Promise<ExportSummary>;

/** Creates an exporter that writes into this database in the current thread, also both generations at the same time. */
export function exporterOn(
  db: Db,
  file: string,
  context: Pick<ExportOptions, 'signal' | 'clock' | 'onProgress'>,
): Exporter {
  return async (generation, { models, companies, ...request }, supply) => {
    const onProgress = progressOf(generation, context.onProgress);
    let how: 'done' | 'failed' = 'failed';
    try {
      const summary = await (generation === 'v3' ? exportV3 : exportV4)({
        ...context,
        ...request,
        onProgress,
        db,
        file,
        fingerprint: buildFingerprint(request.config),
        supply,
        onlyModels: models,
        onlyCompanies: companies,
      });
      how = 'done';
      return summary;
    } finally {
      onProgress({ kind: 'end', how });
    }
  };
}

/** What the export thread calls in the one that started it, which sends all requests. `list`: a number that it assigns. */
type ExportMain = {
  readonly subscribe: (list: number, request: PageRequest) => void;
  readonly ack: (list: number) => void;
  readonly end: (list: number) => void;
  readonly fetchV4Companies: () => Promise<CompanyListing>;
};

type ExportThread = {
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

type ThreadArrival = Omit<Arrival, 'answer'> & { readonly answer: ListPage | ThreadError };
type ThreadSummary = Omit<ExportSummary, 'firstError'> & { readonly firstError: ThreadError | null };

/**
 * Runs `work` while a thread holds the database and writes to it. Pages are requested and parsed in the calling thread,
 * so that no transaction delays the next request. The signal passed to `work` is also aborted if the thread dies.
 */
export async function holdInThread<T>(
  hold: DatabaseHold,
  io: ApiIo,
  work: (exporter: Exporter, io: ApiIo) => Promise<T>,
): Promise<T> {
  const server = new PageServer();
  const options = {
    name: 'export',
    module: new URL('./export-thread.js', import.meta.url),
    own: (thread: Channel<ExportThread>) => server.functions(thread),
  };
  try {
    return await withThread<ExportThread, T>(options, io, async (thread, died) => {
      await thread.call('open', hold);
      const exporter: Exporter = async (generation, request, supply) => {
        server.supplies.set(generation, supply);
        const { firstError, ...summary } = await thread.call('export', generation, request);
        const restored = firstError === null ? null : restoreError(firstError);
        return { ...summary, firstError: restored instanceof SvcError ? restored : null };
      };
      let result: T;
      try {
        result = await io.hostLimits.savingWith(
          // A database that cannot be written fails the next page, too.
          (wait) => void thread.call('saveHostWait', wait).catch(() => {}),
          () => work(exporter, { ...io, signal: AbortSignal.any([io.signal, died]) }),
        );
      } catch (error) {
        await thread.call('release').catch(() => {});
        throw error;
      }
      await thread.call('release');
      return result;
    });
  } catch (error) {
    // A thread that died did not remove its note.
    removeOwnerNote(hold.file);
    throw error;
  }
}

/** Requests pages for the thread. */
class PageServer {
  readonly supplies = new Map<Generation, PageSupply>();
  readonly #subscriptions = new Map<number, PageSubscription>();

  functions(thread: Channel<ExportThread>): ExportMain {
    return {
      subscribe: (list, request) => {
        const subscription = this.supplies
          .get(request.stream.generation)
          ?.subscribe(request, ({ answer, ...rest }) => {
            if (answer instanceof Error) {
              thread.send('arrive', [list, { ...rest, answer: flattenError(answer) }]);
              return;
            }
            const page = withOwnBody(answer);
            thread.send('arrive', [list, { ...rest, answer: page }], buffersOf(page));
          });
        if (subscription !== undefined) this.#subscriptions.set(list, subscription);
      },
      ack: (list) => this.#subscriptions.get(list)?.ack(),
      end: (list) => {
        this.#subscriptions.get(list)?.end();
        this.#subscriptions.delete(list);
      },
      fetchV4Companies: () => {
        const supply = this.supplies.get('v4');
        if (supply === undefined) throw new Error('No export of V4 runs.');
        return supply.fetchV4Companies();
      },
    };
  }
}

/** A page whose body can be transferred to another thread: a body that is a part of a larger buffer is copied. */
function withOwnBody(page: ListPage): ListPage {
  const { body } = page.columns;
  if (body.byteLength === body.buffer.byteLength) return page;
  return { ...page, columns: { ...page.columns, body: Uint8Array.from(body) } };
}

function buffersOf({ columns }: ListPage): ArrayBuffer[] {
  const { ids, numbers, texts, body, members } = columns;
  const buffers = [ids, numbers, texts, body, ...(members === null ? [] : [members.words])].map(
    ({ buffer }) => buffer,
  );
  return [...new Set(buffers)].filter((buffer) => buffer instanceof ArrayBuffer);
}

/** The thread that holds the database and exports into it; the one that started it requests the pages. */
export const serve: Serve<ExportThread, ExportMain> = ({ main, signal, onProgress }) => {
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
};

import { Worker } from 'node:worker_threads';
import { ownsMemory } from '../api/free-memory.js';
import type { CompanyListing } from '../api/v4-companies.js';
import type { Generation, ListPage, ProgressEvent } from '../domain.js';
import { SvcError } from '../errors.js';
import type { ExportSummary } from '../export/run-export.js';
import type { Arrival, Followed, ListRequest, PageSupply } from '../export/source.js';
import { flattenError, restoreError, type ThreadError } from '../runtime/thread-errors.js';
import { keepYoungSpaceSmall } from '../runtime/young-space.js';
import type { Exporter, ExportWish } from './exporter-on.js';
import { type Hold, removeOwnerNote } from './hold-database.js';
import type { Io } from './io.js';

/** Pages pass through the thread: with more room for what is young their memory is freed later, and no faster. */
const YOUNG_MIB = 4;

/** What the export thread is told. */
export type ExportOrder =
  | { readonly kind: 'export'; readonly generation: Generation; readonly wish: ExportWish }
  | { readonly kind: 'arrival'; readonly list: number; readonly arrival: ThreadArrival }
  | { readonly kind: 'companies'; readonly listing: CompanyListing }
  | { readonly kind: 'no_companies'; readonly error: ThreadError }
  | { readonly kind: 'stop' }
  | { readonly kind: 'close' };

/** What the export thread says: what it wants of the network, and how it fares. */
export type ExportMessage =
  | { readonly kind: 'open' }
  | { readonly kind: 'follow'; readonly list: number; readonly request: ListRequest }
  | { readonly kind: 'taken' | 'end'; readonly list: number }
  | { readonly kind: 'companies' }
  | { readonly kind: 'progress'; readonly event: ProgressEvent }
  | {
      readonly kind: 'done';
      readonly summary: Omit<ExportSummary, 'firstError'>;
      readonly firstError: ThreadError | null;
    }
  /** The export failed. */
  | { readonly kind: 'failed'; readonly error: ThreadError }
  /** The thread could not open or not release the database. */
  | { readonly kind: 'broken'; readonly error: ThreadError };

/** An arrival on its way to the thread. */
export type ThreadArrival = Omit<Arrival, 'answer'> & { readonly answer: ListPage | ThreadError };

/**
 * Runs `work` while a thread holds the database; what the exporter is given is exported there. Pages are asked for
 * and parsed in the thread of the caller, which no transaction keeps from asking on. The signal that `work` is given
 * stops it, too, when the thread ends before its time.
 *
 * @throws SvcError as `withDatabase` does
 */
export async function holdInThread<T>(
  hold: Hold,
  io: Io,
  work: (exporter: Exporter, io: Io) => Promise<T>,
): Promise<T> {
  const thread = new ExportThread(hold, io);
  let result: T;
  try {
    await thread.opened();
    keepYoungSpaceSmall();
    const signal = AbortSignal.any([io.signal, thread.died]);
    const exporter: Exporter = (generation, wish, supply) => thread.export(generation, wish, supply);
    result = await work(exporter, { ...io, signal });
  } catch (error) {
    const fault = await thread.close();
    throw thread.died.aborted ? fault : error;
  }
  const fault = await thread.close();
  if (fault !== null) throw fault;
  return result;
}

/** What the thread was asked for last: it does one thing at a time. */
interface Pending {
  readonly resolve: (summary: ExportSummary | null) => void;
  readonly reject: (error: Error) => void;
}

class ExportThread {
  readonly #worker: Worker;
  readonly #io: Io;
  readonly #ended: Promise<void>;
  readonly #followed = new Map<number, Followed>();
  #supply: PageSupply | null = null;
  #pending: Pending | null = null;
  #death: Error | null = null;
  readonly #dying = new AbortController();
  #isClosing = false;

  constructor(hold: Hold, io: Io) {
    this.#io = io;
    this.#worker = new Worker(new URL('./export-thread.js', import.meta.url), {
      workerData: hold,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    const stop = (): void => this.#order({ kind: 'stop' });
    io.signal.addEventListener('abort', stop, { once: true });
    if (io.signal.aborted) stop();
    this.#worker.on('message', (message: ExportMessage) => this.#hear(message));
    this.#worker.on('error', (error) => this.#die(error));
    this.#worker.on('messageerror', (error) => this.#die(error));
    this.#ended = new Promise((resolve) => {
      this.#worker.on('exit', (code) => {
        io.signal.removeEventListener('abort', stop);
        if (!this.#isClosing) {
          removeOwnerNote(hold.file);
          this.#die(new SvcError('internal', `The export thread ended with code ${code}.`));
        }
        resolve();
      });
    });
  }

  /** Resolves once the database is held. */
  opened(): Promise<unknown> {
    return this.#wait();
  }

  /** Aborted when the thread ends before it was told to. */
  get died(): AbortSignal {
    return this.#dying.signal;
  }

  async export(generation: Generation, wish: ExportWish, supply: PageSupply): Promise<ExportSummary> {
    this.#supply = supply;
    this.#order({ kind: 'export', generation, wish });
    const summary = await this.#wait();
    if (summary === null) throw new Error('The export thread told no summary.');
    return summary;
  }

  /** Resolves once the database is released, with what went wrong in the thread itself. */
  async close(): Promise<Error | null> {
    this.#isClosing = true;
    this.#order({ kind: 'close' });
    await this.#ended;
    return this.#death;
  }

  #wait(): Promise<ExportSummary | null> {
    return new Promise((resolve, reject) => {
      this.#pending = { resolve, reject };
      if (this.#death !== null) this.#fail(this.#death);
    });
  }

  #hear(message: ExportMessage): void {
    switch (message.kind) {
      case 'follow':
        this.#follow(message.list, message.request);
        break;
      case 'taken':
        this.#followed.get(message.list)?.taken();
        break;
      case 'end':
        this.#end(message.list);
        break;
      case 'companies':
        this.#tellCompanies();
        break;
      case 'progress':
        this.#io.onProgress(message.event);
        break;
      case 'open':
        this.#settle(null);
        break;
      case 'done':
        this.#settle({ ...message.summary, firstError: svcErrorOf(message.firstError) });
        break;
      case 'failed':
        this.#fail(restoreError(message.error));
        break;
      case 'broken':
        this.#die(restoreError(message.error));
        break;
      default:
        message satisfies never;
    }
  }

  #follow(list: number, request: ListRequest): void {
    const followed = this.#supply?.follow(request, ({ answer, ...rest }) => {
      if (answer instanceof Error) {
        this.#order({ kind: 'arrival', list, arrival: { ...rest, answer: flattenError(answer) } });
        return;
      }
      const page = movable(answer);
      this.#order({ kind: 'arrival', list, arrival: { ...rest, answer: page } }, buffersOf(page));
    });
    if (followed !== undefined) this.#followed.set(list, followed);
  }

  #end(list: number): void {
    this.#followed.get(list)?.end();
    this.#followed.delete(list);
  }

  async #tellCompanies(): Promise<void> {
    try {
      const listing = await this.#supply?.fetchV4Companies();
      if (listing !== undefined) this.#order({ kind: 'companies', listing });
    } catch (error) {
      this.#order({ kind: 'no_companies', error: flattenError(error) });
    }
  }

  #settle(summary: ExportSummary | null): void {
    this.#pending?.resolve(summary);
    this.#pending = null;
  }

  #fail(error: Error): void {
    this.#pending?.reject(error);
    this.#pending = null;
  }

  /** Whoever asks for something later is told, too. */
  #die(error: Error): void {
    this.#death ??= error;
    if (!this.#isClosing) this.#dying.abort();
    this.#fail(error);
  }

  #order(order: ExportOrder, moved: ArrayBuffer[] = []): void {
    this.#worker.postMessage(order, moved);
  }
}

function svcErrorOf(error: ThreadError | null): SvcError | null {
  const restored = error === null ? null : restoreError(error);
  return restored instanceof SvcError ? restored : null;
}

/** The page with a body that can change threads without being copied: one that shares its memory is copied here. */
function movable(page: ListPage): ListPage {
  const { body } = page.columns;
  if (ownsMemory(body)) return page;
  return { ...page, columns: { ...page.columns, body: Uint8Array.from(body) } };
}

/** What holds the page, all of it its own once it has changed threads. */
export function buffersOf({ columns }: ListPage): ArrayBuffer[] {
  const { svcIds, companyIds, instants, flags, places, texts, body } = columns;
  const buffers = [svcIds, companyIds, instants, flags, places, texts, body].map(({ buffer }) => buffer);
  return [...new Set(buffers)].filter((buffer) => buffer instanceof ArrayBuffer);
}

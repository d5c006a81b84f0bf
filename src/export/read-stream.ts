import { setImmediate } from 'node:timers/promises';
import type { ModelPair, OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';
import type { Part } from '../store/parts.js';
import { type StreamRow, streamKeyOf } from '../store/streams.js';
import { isConfirming, isUndecided, type ReadingRules, type Step } from './passes.js';
import { PageQueue, type PageSupply } from './prefetch.js';
import type { PartPage, Saver } from './saver.js';

export interface StreamReader {
  readonly supply: PageSupply;
  readonly saver: Saver;
  readonly rules: ReadingRules;
  readonly pairs: ReadonlyMap<string, ModelPair>;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
}

export interface StreamReading {
  readonly row: StreamRow;
  /** Why the stream failed. */
  readonly error: SvcError | null;
}

/**
 * Reads a stream from its current position until it is complete, short, absent or failed.
 *
 * @throws SvcError `interrupted` if the signal is aborted, and errors that concern more than this stream
 */
export async function readStream(begun: StreamRow, reader: StreamReader): Promise<StreamReading> {
  let row = begun;
  let error: SvcError | null = null;
  let queue: PageQueue | null = null;
  let parts: PartQueues | null = null;
  try {
    while (row.state === 'running') {
      throwIfStopped(reader.signal);
      queue = queueFor(row, queue, reader);
      parts = partsFor(row, parts, reader);
      const steps = await (parts !== null
        ? readPartPages(row, parts, reader)
        : queue === null
          ? dropOld(row, reader)
          : readPages(row, queue, reader));
      for (const saved of steps) {
        row = saved.step.row;
        error = failureOf(saved);
        if (saved.step.note !== undefined)
          reader.onProgress({ kind: 'note', level: 'info', text: saved.step.note });
      }
    }
  } finally {
    queue?.end();
    parts?.end();
  }
  reader.onProgress({ kind: 'stream', stream: streamKeyOf(row), state: row.state });
  return { row, error };
}

/** Keeps the current queue while it fits the row; null if there is nothing to read. */
function queueFor(row: StreamRow, before: PageQueue | null, reader: StreamReader): PageQueue | null {
  if (before?.fits(row) === true) return before;
  before?.end();
  const { phase } = row.position;
  return phase === 'drop' || phase === 'parts' ? null : startQueue(row, reader);
}

function startQueue(row: StreamRow, reader: StreamReader): PageQueue {
  const { cursor, since } = row.position;
  const pair = reader.pairs.get(row.model);
  if (pair === undefined) throw new Error(`Model ${row.model} is not in the configuration.`);
  const single = isUndecided(row, reader.rules) || isConfirming(row);
  const request = { stream: streamKeyOf(row), pair, cursor, updatedSince: since, single };
  return new PageQueue(
    row,
    (onArrival) => reader.supply.subscribe(request, onArrival),
    reader.saver.flushSoon,
    single,
  );
}

/** Keeps the parts while the list is read company by company. */
function partsFor(row: StreamRow, before: PartQueues | null, reader: StreamReader): PartQueues | null {
  if (row.position.phase === 'parts') {
    const start = (partRow: StreamRow) => startQueue(partRow, reader);
    return before ?? new PartQueues(reader.saver.readParts(row), start);
  }
  before?.end();
  return null;
}

/** Waits for a page of any part, and saves all that have arrived. */
async function readPartPages(
  row: StreamRow,
  queues: PartQueues,
  { saver, signal, onProgress }: StreamReader,
): Promise<SavedStep[]> {
  await orAborted(signal, () => queues.arrival(row));
  const saved = await saver.savePartPages(row, queues.parts, (now) => queues.take(now));
  return saved.map(({ answer, step }) => {
    if (answer instanceof SvcError) return { step, thrown: answer };
    const records = answer.columns.length;
    onProgress({ kind: 'page', stream: streamKeyOf(row), records, totalCount: null });
    return { step, thrown: null };
  });
}

/** A step that was saved, and the error that caused it, if any. */
interface SavedStep {
  readonly step: Step;
  readonly thrown: SvcError | null;
}

/** Waits for a page, and saves all that have arrived. */
async function readPages(row: StreamRow, queue: PageQueue, reader: StreamReader): Promise<SavedStep[]> {
  await orAborted(reader.signal, () => queue.arrival());
  const saved = await reader.saver.savePages(row, (now) => queue.take(now));
  return saved.map(({ answer, step }) => {
    if (answer instanceof SvcError) return { step, thrown: answer };
    const records = answer.columns.length + answer.rejected.filter(({ path }) => path === '').length;
    const { totalCount } = answer;
    reader.onProgress({ kind: 'page', stream: streamKeyOf(step.row), records, totalCount });
    return { step, thrown: null };
  });
}

async function dropOld(row: StreamRow, { saver, signal }: StreamReader): Promise<SavedStep[]> {
  let from: bigint | null = null;
  for (;;) {
    const chunk = await orAborted(signal, () => saver.dropChunk(row, from));
    if (chunk.step !== null) return [{ step: chunk.step, thrown: null }];
    from = chunk.next;
    // Transactions are synchronous: without this, signals would not be handled.
    await setImmediate();
  }
}

/** The error of a stream that failed with this step: the request's own, or a new one for a problem in the pages. */
function failureOf({ step, thrown }: SavedStep): SvcError | null {
  if (step.failure === undefined) return null;
  const { code, sentence } = step.failure;
  if (thrown?.code === code) return thrown;
  const { generation, region, model, companyId } = step.row;
  return new SvcError(code, sentence, {
    hint: 'Run the same command again: it continues with what is stored.',
    facts: { generation, region, model, companyId },
    cause: thrown ?? undefined,
  });
}

/**
 * Runs `work`, but stops waiting for it when the signal is aborted.
 *
 * @throws the signal's reason if it is an error other than AbortError, otherwise SvcError `interrupted`
 */
export async function orAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  throwIfStopped(signal);
  return await new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(stopReason(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** @throws the signal's reason if it is an error other than AbortError, otherwise SvcError `interrupted` */
function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw stopReason(signal);
}

function stopReason(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  if (reason instanceof Error && reason.name !== 'AbortError') return reason;
  return new SvcError('interrupted', 'Interrupted; saved pages are kept, the rest will be read again.', {
    hint: 'Run the same command again: it continues where it stopped.',
  });
}

/** Parts whose pages are requested at the same time: each may have a page in memory. */
const MAX_OPEN = 64;

/** The pages of a list that is read company by company. */
class PartQueues {
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
      const page = part === undefined ? null : queue.take(partRowOf(row, part));
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
    if (queue?.fits(partRow) === true) return;
    queue?.end();
    this.#queues.delete(part.companyId);
    if (!part.ended && this.#queues.size < MAX_OPEN) this.#queues.set(part.companyId, this.#start(partRow));
  }
}

/** The row of a list as if it had only the records of one company. */
function partRowOf(row: StreamRow, { companyId, cursor }: Part): StreamRow {
  return { ...row, companyId, position: { ...row.position, cursor } };
}

import { setImmediate } from 'node:timers/promises';
import type { ListPage, ModelPair, OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';
import { type StreamRow, streamKeyOf } from '../store/stream-row.js';
import type { ErrorOutcome } from './outcomes.js';
import type { Saver } from './saver.js';
import type { PageSource } from './source.js';
import type { Step } from './step.js';
import { orAborted } from './stop.js';

export interface StreamReader {
  readonly source: PageSource;
  readonly saver: Saver;
  readonly pairs: ReadonlyMap<string, ModelPair>;
  readonly signal: AbortSignal;
  readonly clock: { now(): number };
  readonly onProgress: OnProgress;
}

export interface StreamReading {
  readonly row: StreamRow;
  /** Why the stream failed. */
  readonly error: SvcError | null;
}

/** Errors that concern one list; all others stop the whole export. */
const STREAM_ERRORS: readonly string[] = [
  'network',
  'timeout',
  'http_status',
  'bad_response',
  'body_too_large',
  'wait_too_long',
];

/**
 * Reads one stream from where it stands until it is complete, short, absent or failed.
 *
 * @throws SvcError `interrupted` when the signal is aborted, and whatever concerns more than this stream
 */
export async function readStream(begun: StreamRow, reader: StreamReader): Promise<StreamReading> {
  let row = begun;
  let error: SvcError | null = null;
  while (row.state === 'running') {
    const turn = row.position.phase === 'drop' ? await dropOld(row, reader) : await readPage(row, reader);
    row = turn.step.row;
    error = failureOf(turn);
    if (turn.step.note !== undefined)
      reader.onProgress({ kind: 'note', level: 'info', text: turn.step.note });
  }
  tellEnd(row, reader.onProgress);
  return { row, error };
}

interface Turn {
  readonly step: Step;
  readonly thrown: SvcError | null;
}

async function readPage(row: StreamRow, reader: StreamReader): Promise<Turn> {
  const { clock, saver } = reader;
  const askedMs = clock.now();
  const page = await fetchPage(row, reader);
  if (page instanceof SvcError) {
    const step = await saver.saveOutcome(row, errorOutcome(page, askedMs, clock.now()));
    return { step, thrown: page };
  }
  const step = await saver.savePage(row, page, askedMs);
  tellPage(row, page, reader.onProgress);
  return { step, thrown: null };
}

async function fetchPage(row: StreamRow, reader: StreamReader): Promise<ListPage | SvcError> {
  const { source, pairs, signal } = reader;
  const pair = pairs.get(row.model);
  if (pair === undefined) throw new Error(`Model ${row.model} is not in the configuration.`);
  const { cursor, since } = row.position;
  const request = { stream: streamKeyOf(row), pair, cursor, updatedSince: since };
  try {
    return await orAborted(signal, () => source.fetchPage(request));
  } catch (error) {
    if (error instanceof SvcError && STREAM_ERRORS.includes(error.code)) return error;
    throw error;
  }
}

async function dropOld(row: StreamRow, { saver, signal }: StreamReader): Promise<Turn> {
  let from: bigint | null = null;
  for (;;) {
    const chunk = await orAborted(signal, () => saver.dropChunk(row, from));
    if (chunk.step !== null) return { step: chunk.step, thrown: null };
    from = chunk.next;
    // Transactions of this thread leave signals no turn by themselves.
    await setImmediate();
  }
}

function errorOutcome(error: SvcError, askedMs: number, nowMs: number): ErrorOutcome {
  const { status } = error.facts;
  const known = typeof status === 'number' || typeof status === 'bigint' ? Number(status) : null;
  return { kind: 'error', askedMs, nowMs, code: error.code, status: known, sentence: error.message };
}

/** The error of a stream that failed in this turn: the one thrown, or one for what the pages showed. */
function failureOf({ step, thrown }: Turn): SvcError | null {
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

function tellEnd(row: StreamRow, onProgress: OnProgress): void {
  onProgress({ kind: 'stream', stream: streamKeyOf(row), state: row.state });
  if (row.state !== 'absent' || row.generation === 'v4') return;
  const text = `V3 has no list ${row.route} in region ${row.region} (404).`;
  onProgress({ kind: 'note', level: 'warning', text });
}

function tellPage(row: StreamRow, page: ListPage, onProgress: OnProgress): void {
  const records = page.columns.length + page.rejected.filter(({ path }) => path === '').length;
  onProgress({ kind: 'page', stream: streamKeyOf(row), records, totalCount: page.totalCount });
}

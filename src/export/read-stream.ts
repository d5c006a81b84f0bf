import { setImmediate } from 'node:timers/promises';
import type { Api } from '../api/client.js';
import type { Clock, ModelPair, OnProgress } from '../domain.js';
import { isRequestError, SvcError } from '../errors.js';
import { type StreamRow, streamKeyOf } from '../store/streams.js';
import type { Saver, StreamAnswer } from './save-page.js';
import type { Step } from './walk.js';

export interface StreamReader {
  readonly api: Pick<Api, 'fetchPage'>;
  readonly saver: Saver;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
}

export interface StreamReading {
  readonly row: StreamRow;
  readonly error: SvcError | null;
}

/**
 * Reads a list from its current state until it is complete, short, absent or failed. The next page is requested while one
 * is saved.
 *
 * @param pair null for V4's list of companies
 * @throws SvcError `interrupted` if the signal is aborted, and errors that concern more than this list
 */
export async function readStream(
  begun: StreamRow,
  pair: ModelPair | null,
  reader: StreamReader,
): Promise<StreamReading> {
  const { saver, signal, onProgress } = reader;
  let row = begun;
  let error: SvcError | null = null;
  let early: EarlyRequest | null = null;
  while (row.state === 'running') {
    const answer: StreamAnswer = await orAborted(
      signal,
      early !== null && fits(early, row) ? early.answer : ask(row, pair, reader),
    );
    const { result } = answer;
    early = result instanceof SvcError ? null : askEarly(row, result.next, pair, reader);
    // Lets the request leave before the transaction blocks.
    if (early !== null) await setImmediate();
    const step = saver.saveAnswer(row, answer);
    if (!(result instanceof SvcError)) {
      const records = result.records.length + result.rejected.filter(({ path }) => path === '').length;
      onProgress({ kind: 'page', stream: streamKeyOf(row), records, totalCount: result.totalCount });
    }
    if (step.note !== undefined) onProgress({ kind: 'note', level: 'info', text: step.note });
    row = step.row;
    error = step.failure === undefined ? null : buildFailure(row, step.failure, result);
  }
  onProgress({ kind: 'stream', stream: streamKeyOf(row), state: row.state });
  return { row, error };
}

/** The request of a page before it is certain that the list goes on with it. */
interface EarlyRequest {
  readonly walk: number;
  readonly cursor: string;
  readonly answer: Promise<StreamAnswer>;
}

function fits(early: EarlyRequest, row: StreamRow): boolean {
  return early.walk === row.walk && early.cursor === row.cursor;
}

function askEarly(
  row: StreamRow,
  next: string | null,
  pair: ModelPair | null,
  reader: StreamReader,
): EarlyRequest | null {
  if (next === null || next === row.cursor) return null;
  const answer = ask({ ...row, cursor: next }, pair, reader);
  // It may never be waited for.
  answer.catch(() => {});
  return { walk: row.walk, cursor: next, answer };
}

async function ask(
  row: StreamRow,
  pair: ModelPair | null,
  { api, clock }: StreamReader,
): Promise<StreamAnswer> {
  const askedMs = clock.now();
  const { cursor, since } = row;
  try {
    const result = await api.fetchPage({ stream: streamKeyOf(row), pair, cursor, updatedSince: since });
    return { askedMs, result };
  } catch (error) {
    if (!isRequestError(error)) throw error;
    return { askedMs, result: error };
  }
}

/** The error of a list that failed: its request's error, or a new one for what its pages say. */
function buildFailure(
  { generation, region, model, companyId }: StreamRow,
  { code, sentence, hint }: NonNullable<Step['failure']>,
  result: StreamAnswer['result'],
): SvcError {
  const thrown = result instanceof SvcError ? result : undefined;
  if (thrown?.code === code && hint === undefined) return thrown;
  return new SvcError(code, sentence, {
    hint: hint ?? 'Run the same command again: it continues with what is stored.',
    facts: { ...thrown?.facts, generation, region, model, companyId },
    cause: thrown,
  });
}

/**
 * Waits for `work` until the signal is aborted.
 *
 * @throws the signal's reason if it is an error other than AbortError, otherwise SvcError `interrupted`
 */
export async function orAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  if (signal.aborted) {
    work.catch(() => {});
    throw stopReason(signal);
  }
  return await new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(stopReason(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function stopReason(signal: AbortSignal): unknown {
  const reason: unknown = signal.reason;
  if (reason instanceof Error && reason.name !== 'AbortError') return reason;
  return new SvcError('interrupted', 'Interrupted; saved pages are kept, the rest will be read again.', {
    hint: 'Run the same command again: it continues where it stopped.',
  });
}

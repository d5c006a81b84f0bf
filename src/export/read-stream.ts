import { setImmediate } from 'node:timers/promises';
import type { Api } from '../api/client.js';
import type { Clock, ModelPair, OnProgress } from '../domain.js';
import { isRequestError, SvcError } from '../errors.js';
import type { StreamRow } from '../store/streams.js';
import { countObjects, type Saver, type StreamAnswer } from './save-page.js';
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
 * Reads a list until it is complete, short, absent or failed. The next page is requested while one is saved.
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
  let early: Promise<StreamAnswer> | null = null;
  while (row.state === 'running') {
    const answer: StreamAnswer = await orAborted(signal, early ?? ask(row, row.cursor, pair, reader));
    const { result } = answer;
    const next = result instanceof SvcError ? null : result.next;
    early = next === null || next === row.cursor ? null : ask(row, next, pair, reader);
    early?.catch(() => {});
    // Lets the request leave before the transaction blocks.
    if (early !== null) await setImmediate();
    const step = saver.saveAnswer(row, answer);
    // A list that restarts cannot use the page that was requested early.
    if (step.row.cursor !== next) early = null;
    if (!(result instanceof SvcError)) {
      const { totalCount } = result;
      const records = countObjects(result);
      onProgress({ kind: 'page', stream: row, records, totalCount });
    }
    if (step.note !== undefined) onProgress({ kind: 'note', level: 'warning', text: step.note });
    row = step.row;
    error = step.failure === undefined ? null : buildFailure(row, step.failure, result);
  }
  onProgress({ kind: 'stream', stream: row, state: row.state });
  return { row, error };
}

async function ask(
  row: StreamRow,
  cursor: string | null,
  pair: ModelPair | null,
  { api, clock }: StreamReader,
): Promise<StreamAnswer> {
  const askedMs = clock.now();
  try {
    const request = { stream: row, pair, cursor, updatedSince: row.since };
    return { askedMs, result: await api.fetchPage(request) };
  } catch (error) {
    if (!isRequestError(error)) throw error;
    return { askedMs, result: error };
  }
}

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

/** @throws the signal's reason if it is an error other than AbortError, otherwise SvcError `interrupted` */
export async function orAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(stopReason(signal));
    if (signal.aborted) onAbort();
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

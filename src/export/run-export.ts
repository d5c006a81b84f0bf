import { setMaxListeners } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Api } from '../api/client.js';
import type { Config } from '../config/config.js';
import { type Clock, type Generation, isUnfinished, type OnProgress, progressOf } from '../domain.js';
import { EXIT_BY_CODE, SvcError } from '../errors.js';
import { guardDatabase, transact } from '../store/open.js';
import { dropStream, dropUnusedPages, listV4Companies } from '../store/records.js';
import { listCompanyPairs } from '../store/remap.js';
import type { Db } from '../store/sqlite.js';
import { isCompanyList, listStreams, readCompanyList, type StreamRow } from '../store/streams.js';
import { must } from '../text/at.js';
import { countOf } from '../text/numbers.js';
import { sumOf } from '../text/rows.js';
import {
  type Begun,
  beginCompanyList,
  beginLists,
  type ExportSelection,
  openExport,
  planV3,
  planV4,
  SWEEP_OVERLAP_MS,
} from './plan.js';
import { orAborted, readStream, type StreamReading } from './read-stream.js';
import { createSaver, type Saver } from './save-page.js';
import { waitSettled } from './settle.js';

export interface ExportOptions {
  readonly db: Db;
  readonly config: Config;
  readonly api: Pick<Api, 'fetchPage'>;
  readonly generations: readonly Generation[];
  /** Walks every selected list anew, instead of continuing or updating. */
  readonly restart?: boolean;
  readonly models?: readonly string[];
  /** Company ids of either generation; empty: all. Lists that hold all companies are always read. */
  readonly companies?: readonly bigint[];
  /** How V4 waits until its backfill has settled; null: it does not. */
  readonly wait?: { readonly settleMs: number; readonly timeoutMs: number } | null;
  readonly clock: Clock;
  readonly sleep?: (ms: number) => Promise<void>;
  readonly onProgress: OnProgress;
  /** Stops the export after the current transaction; its reason is thrown if it is an error other than AbortError. */
  readonly signal: AbortSignal;
}

export interface GenerationExport {
  readonly generation: Generation;
  /** Every list of the generation, including those that were not selected. */
  readonly streams: readonly StreamRow[];
  /** Why it was not read in full: an error that does not keep the other generation from being read. Null if it was. */
  readonly error: SvcError | null;
}

/**
 * Reads the lists of the generations into the database, all at the same time, the pages of each in order. If a list or a
 * generation fails, the others are read to their end, unless its error concerns all of them.
 *
 * @throws SvcError `interrupted`, `other_configuration`, `usage`, `auth`, `disk`, `locked`, `corrupt_database`
 */
export async function runExport(options: ExportOptions): Promise<GenerationExport[]> {
  const exported = await runTogether(options.generations, options.signal, async (generation, signal) => {
    const onProgress = progressOf(generation, options.onProgress);
    try {
      const ended = await exportGeneration(generation, { ...options, signal, onProgress });
      onProgress({ kind: 'end', how: ended.error === null ? 'done' : 'failed' });
      return ended;
    } catch (error) {
      onProgress({ kind: 'end', how: 'failed' });
      if (!leavesOtherReadable(error)) throw error;
      return { generation, streams: listStreams(options.db, generation), error };
    }
  });
  inTransaction(options, () => dropUnusedPages(options.db));
  return exported;
}

/** Runs work for all items at the same time. The first error stops the others, and is thrown once they have ended. */
async function runTogether<Item, Result>(
  items: readonly Item[],
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const stop = new AbortController();
  const both = AbortSignal.any([signal, stop.signal]);
  // Every list that waits adds a listener.
  setMaxListeners(0, both);
  const settled = await Promise.allSettled(
    items.map((item) =>
      work(item, both).catch((error: unknown) => {
        stop.abort(error);
        throw error;
      }),
    ),
  );
  if (stop.signal.aborted) throw stop.signal.reason;
  return settled.flatMap((ended) => (ended.status === 'fulfilled' ? [ended.value] : []));
}

/** Whether the other generation can still be read after this error. */
function leavesOtherReadable(error: unknown): error is SvcError {
  if (!(error instanceof SvcError)) return false;
  const { code, exitCode } = error;
  const isIncomplete = exitCode === EXIT_BY_CODE.incomplete || exitCode === EXIT_BY_CODE.not_settled;
  return isIncomplete || code === 'config' || code === 'redirect';
}

async function exportGeneration(generation: Generation, options: ExportOptions): Promise<GenerationExport> {
  const { db, config, clock, wait = null, onProgress } = options;
  const { restart = false, models = [], companies = [] } = options;
  const isV4 = generation === 'v4';
  const saver = createSaver({ db, config, sweepOverlap: SWEEP_OVERLAP_MS[generation], clock });
  const settledCounts = isV4 && wait !== null ? await waitForBackfill(options, wait) : null;
  onProgress({ kind: 'stage', name: `export ${generation}` });
  const selection: ExportSelection = {
    ...{ db, config, generation, clock, restart, models, settledCounts },
    companies: isV4 ? selectV4Companies(options, companies) : companies,
    mayBeEmpty: options.generations.length > 1,
  };
  const continued = inTransaction(options, () => openExport(selection, saver));
  const listing = isV4 ? await readCompanies(selection, continued, saver, options) : null;
  if (listing?.error) return { generation, streams: listStreams(db, generation), error: listing.error };
  const planned = isV4 ? planV4(config, listV4Companies(db, config)) : planV3(config);
  const begun = inTransaction(options, () => beginLists(selection, planned, continued, saver));
  if (continued) onProgress({ kind: 'resume', ...countRead(begun) });
  onProgress({ kind: 'step', name: 'lists', done: 0, total: begun.selected.length });
  const readings = await readLists(begun.rows, generation, saver, options);
  return summarise(listStreams(db, generation), generation, begun.selected, readings);
}

/**
 * The V4 companies that belong to the named ones by the last remap. All (empty) where both generations are read and it
 * knows no pair of a named company: any of them may be its counterpart.
 */
function selectV4Companies({ db, generations }: ExportOptions, companies: readonly bigint[]): bigint[] {
  const pairs = listCompanyPairs(db);
  const counterparts = companies.map((id) => pairs.filter(({ v3, v4 }) => v3 === id || v4 === id));
  if (generations.length > 1 && counterparts.some(({ length }) => length === 0)) return [];
  return [...new Set([...companies, ...counterparts.flat().map(({ v4 }) => v4)])];
}

async function waitForBackfill(
  options: ExportOptions,
  wait: NonNullable<ExportOptions['wait']>,
): Promise<ExportSelection['settledCounts']> {
  const { signal, onProgress } = options;
  onProgress({ kind: 'stage', name: 'backfill' });
  const sleep = options.sleep ?? ((ms: number) => setTimeout(ms, undefined, { signal }));
  const counts = await orAborted(signal, waitSettled({ ...options, ...wait, sleep }));
  const text = `The backfill has settled in ${countOf(counts.size, 'list')}.`;
  onProgress({ kind: 'note', level: 'info', text });
  return counts;
}

/** Reads V4's list of companies, or takes the companies that the configuration names. Null if there is nothing to read. */
async function readCompanies(
  selection: ExportSelection,
  continued: boolean,
  saver: Saver,
  options: ExportOptions,
): Promise<StreamReading | null> {
  const { db, config } = selection;
  if (config.v4.companies.length > 0) {
    inTransaction(options, () => {
      const list = readCompanyList(db);
      if (list !== null) dropStream(db, list.id);
    });
    return null;
  }
  const row = inTransaction(options, () => beginCompanyList(selection, continued, saver));
  const reading = await readStream(row, null, { ...options, saver });
  if (reading.row.state === 'absent') {
    const text = `V4 has no list of companies: it answered 404 at ${config.v4.baseUrl}.`;
    throw new SvcError('config', text, { hint: 'Check v4.baseUrl; `svc-migrate doctor` tries both APIs.' });
  }
  if (reading.error === null && listV4Companies(db, config).length === 0) {
    options.onProgress({ kind: 'note', level: 'warning', text: 'V4 lists no companies.' });
  }
  return reading;
}

async function readLists(
  rows: readonly StreamRow[],
  generation: Generation,
  saver: Saver,
  options: ExportOptions,
): Promise<StreamReading[]> {
  const { config } = options;
  const pairs = new Map(config.models.map((pair) => [pair.v3, pair]));
  const endpoints = generation === 'v3' ? config.v3.regions : [config.v4];
  const limits = new Map(endpoints.map(({ region, concurrency }) => [region, pLimit(concurrency)]));
  return await runTogether(rows, options.signal, (row, signal) => {
    const limit = must(limits.get(row.region), `region ${row.region}`);
    return limit(() => readStream(row, must(pairs.get(row.model), 'model'), { ...options, signal, saver }));
  });
}

function countRead({ rows, selected }: Begun) {
  const open = new Set(rows.map(({ id }) => id));
  const ended = selected.filter(({ id }) => !open.has(id));
  const count = (read: readonly StreamRow[]) => sumOf(read, ({ uniqueRecords }) => uniqueRecords);
  return { endedLists: ended.length, endedRecords: count(ended), openRecords: count(rows) };
}

function summarise(
  streams: readonly StreamRow[],
  generation: Generation,
  selected: readonly StreamRow[],
  readings: readonly StreamReading[],
): GenerationExport {
  const name = generation.toUpperCase();
  const lists = streams.filter((row) => !isCompanyList(row) && row.startedAt !== null);
  if (lists.length > 0 && lists.every(({ state }) => state === 'absent')) {
    const text = `${name} has none of the configured lists: it answered 404 to all of them.`;
    const hint =
      'Check the addresses and the model names; `svc-migrate doctor` tries similar names. Records of V3 that were read before are kept.';
    return { generation, streams, error: new SvcError('config', text, { hint }) };
  }
  const ids = new Set(selected.map(({ id }) => id));
  const open = streams.filter((row) => ids.has(row.id) && isUnfinished(row));
  if (open.length === 0) return { generation, streams, error: null };
  const errors = readings.flatMap(({ error }) => error ?? []);
  // Another run may succeed after errors with other codes.
  const first = errors.find(({ code }) => code !== 'http_status') ?? errors[0];
  const why = first === undefined ? '' : ` First: ${first.message}`;
  const text = `${open.length} of ${countOf(ids.size, `${name} list`)} could not be read to the end.${why}`;
  const { hint, facts } = first ?? {};
  return { generation, streams, error: new SvcError('incomplete', text, { hint, facts, cause: first }) };
}

function inTransaction<T>({ db, config }: ExportOptions, work: () => T): T {
  return guardDatabase(config.database, () => transact(db, work));
}

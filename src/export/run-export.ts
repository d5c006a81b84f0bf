import { setMaxListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import pLimit, { type LimitFunction } from 'p-limit';
import type { Config, Endpoint } from '../config/config.js';
import { type Generation, isUnfinished, type OnProgress } from '../domain.js';
import type { SvcError } from '../errors.js';
import { dropStream, dropUnseen } from '../store/drop-records.js';
import type { Fingerprint } from '../store/fingerprint.js';
import { prepareBumpExportSeq } from '../store/meta.js';
import { type Db, guardDatabase } from '../store/open.js';
import type { StreamRow } from '../store/stream-row.js';
import { listStreams, type PlannedStream } from '../store/streams.js';
import { type Beginning, beginExport, endExport } from './begin-export.js';
import type { PageSupply } from './prefetch.js';
import { readStream, type StreamReader, type StreamReading } from './read-stream.js';
import { createSaver } from './saver.js';
import type { ReadingRules } from './step.js';
import { orAborted } from './stop.js';

export interface ExportOptions {
  readonly db: Db;
  /** The database's file, for messages. */
  readonly file: string;
  readonly config: Config;
  readonly fingerprint: Fingerprint;
  readonly supply: PageSupply;
  /** Stops the export after the transaction under way; its reason is thrown if it is an error of its own. */
  readonly signal: AbortSignal;
  readonly clock: { now(): number };
  readonly onProgress: OnProgress;
  /** Reads everything anew instead of going on or topping up. */
  readonly restart?: boolean;
  readonly onlyModels?: readonly string[];
  /** Ids of the generation that is exported. V3 lists of all companies at once are not narrowed. */
  readonly onlyCompanies?: readonly bigint[];
}

export interface ExportSummary {
  /** Every stream of the generation, also those that were not selected. */
  readonly streams: readonly StreamRow[];
  /** Whether every selected stream was read in full or is known to be absent. */
  readonly complete: boolean;
  /** The first error of a stream that failed. */
  readonly firstError: SvcError | null;
}

/** What the two exports bring along. */
export interface ExportPlan {
  readonly generation: Generation;
  readonly planned: readonly PlannedStream[];
  readonly endpoints: readonly Endpoint[];
  readonly rules: ReadingRules;
  /** Companies whose records are counted and not kept. */
  readonly excluded: readonly bigint[];
  /** Done in the transaction that begins the export. */
  readonly saveListing: () => void;
}

/**
 * Reads the planned streams side by side, pages in order within each. The failure of one stream does not
 * stop the others.
 *
 * @throws SvcError `interrupted`, `other_configuration`, `usage`, `auth`, `redirect`, `config`, `locked`,
 *   `disk`, `corrupt_database`
 */
export async function runExport(options: ExportOptions, plan: ExportPlan): Promise<ExportSummary> {
  const { db } = options;
  options.onProgress({ kind: 'step', name: 'preparing lists', done: 0, total: plan.planned.length });
  const begun = inTransaction(options, () => {
    plan.saveListing();
    return beginExport(db, beginningOf(options, plan));
  });
  options.onProgress({ kind: 'step', name: 'lists', done: 0, total: begun.rows.length });
  for (const row of begun.unplanned) await dropUnplanned(options, row);
  const readings = await readAll(begun.rows, plan, options);
  inTransaction(options, () =>
    endExport(db, plan.generation, begun.continued && isStuck(begun.rows, readings)),
  );
  return summarise(db, plan.generation, begun.selected, readings);
}

function beginningOf(options: ExportOptions, plan: ExportPlan): Beginning {
  return {
    generation: plan.generation,
    config: options.config,
    fingerprint: options.fingerprint,
    planned: plan.planned,
    rules: plan.rules,
    restart: options.restart ?? false,
    onlyModels: options.onlyModels ?? [],
    onlyCompanies: options.onlyCompanies ?? [],
    nowMs: options.clock.now(),
    onProgress: options.onProgress,
  };
}

async function dropUnplanned(options: ExportOptions, row: StreamRow): Promise<void> {
  const { db, signal } = options;
  const bumpExportSeq = prepareBumpExportSeq(db);
  let from: bigint | null = null;
  do {
    const start: bigint | null = from;
    const chunk = await orAborted(signal, async () =>
      inTransaction(options, () => {
        bumpExportSeq();
        const dropped = dropUnseen(db, row.id, row.position.walk + 1, start);
        if (dropped.next === null) dropStream(db, row.id);
        return dropped;
      }),
    );
    from = chunk.next;
    // Transactions of this thread leave signals no turn by themselves.
    await setImmediate();
  } while (from !== null);
}

async function readAll(
  rows: readonly StreamRow[],
  plan: ExportPlan,
  options: ExportOptions,
): Promise<StreamReading[]> {
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  // every request under way listens to it
  setMaxListeners(0, signal);
  const reader = readerOf(options, plan, signal);
  const limits = new Map(plan.endpoints.map(({ region, concurrency }) => [region, pLimit(concurrency)]));
  const readOne = async (row: StreamRow) => {
    try {
      return await readStream(row, reader);
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  };
  const settled = await Promise.allSettled(rows.map((row) => limitOf(limits, row)(readOne, row)));
  if (stop.signal.aborted) throw stop.signal.reason;
  return settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
}

function readerOf(options: ExportOptions, plan: ExportPlan, signal: AbortSignal): StreamReader {
  const { db, file, config, clock, supply, onProgress } = options;
  const { rules, excluded } = plan;
  const saver = createSaver({ db, file, clock, payload: config.payload, excluded, rules });
  const pairs = new Map(config.models.map((pair) => [pair.v3, pair]));
  return { supply, saver, pairs, signal, onProgress };
}

function limitOf(limits: ReadonlyMap<string, LimitFunction>, row: StreamRow): LimitFunction {
  const limit = limits.get(row.region);
  if (limit === undefined) throw new Error(`Region ${row.region} is not in the configuration.`);
  return limit;
}

/** Some streams failed, and nothing at all was gained. */
function isStuck(begun: readonly StreamRow[], readings: readonly StreamReading[]): boolean {
  const before = new Map(begun.map((row) => [row.id, row.uniqueRecords]));
  return (
    readings.length > 0 &&
    readings.every(({ row }) => row.state === 'failed' && row.uniqueRecords <= (before.get(row.id) ?? 0))
  );
}

function summarise(
  db: Db,
  generation: Generation,
  selected: readonly StreamRow[],
  readings: readonly StreamReading[],
): ExportSummary {
  const streams = listStreams(db, generation);
  const ids = new Set(selected.map(({ id }) => id));
  const open = streams.filter((stream) => ids.has(stream.id) && isUnfinished(stream));
  const firstError = readings.find(({ error }) => error !== null)?.error ?? null;
  return { streams, complete: open.length === 0, firstError };
}

function inTransaction<T>({ db, file }: ExportOptions, work: () => T): T {
  return guardDatabase(file, () => db.transaction(work).immediate());
}

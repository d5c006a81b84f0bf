import { setMaxListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import pLimit from 'p-limit';
import { type Generation, isUnfinished, type OnProgress, type ProgressEvent } from '../domain.js';
import type { SvcError } from '../errors.js';
import { prepareBumpExportSeq } from '../store/meta.js';
import { type Db, guardDatabase } from '../store/open.js';
import { dropStalePayloads } from '../store/payloads.js';
import { dropStream, dropUnseen } from '../store/stream-contents.js';
import { listStreams, type StreamRow, streamKeyOf } from '../store/streams.js';
import { type Begun, beginExport, type ExportOptions, type ExportPlan } from './begin-export.js';
import { orAborted, readStream, type StreamReading } from './read-stream.js';
import { createSaver } from './saver.js';

export interface ExportSummary {
  /** Every stream of the generation, including those that were not selected. */
  readonly streams: readonly StreamRow[];
  /** Whether every selected stream was read in full or is known to be absent. */
  readonly complete: boolean;
  /** The first error of a stream that failed. */
  readonly firstError: SvcError | null;
}

/**
 * Reads the planned streams concurrently, the pages of each in order. If one stream fails, the others continue.
 *
 * @throws SvcError `interrupted`, `other_configuration`, `usage`, `auth`, `redirect`, `config`, `locked`,
 *   `disk`, `corrupt_database`
 */
export async function runExport(options: ExportOptions, plan: ExportPlan): Promise<ExportSummary> {
  const { db } = options;
  options.onProgress({ kind: 'step', name: 'preparing lists', done: 0, total: plan.planned.length });
  const begun = inTransaction(options, () => {
    plan.saveListing();
    return beginExport(options, plan);
  });
  const resumed = describeResume(begun);
  if (begun.continued) options.onProgress(resumed);
  options.onProgress({ kind: 'step', name: 'lists', done: 0, total: resumed.lists + begun.rows.length });
  for (const row of begun.unplanned) await dropUnplanned(options, row);
  const readings = await readAll(begun.rows, plan, options);
  await repeatWhile(options, () => dropStalePayloads(db));
  return summarise(db, plan.generation, begun.selected, readings);
}

/** What an earlier process of a continued export has read. */
function describeResume({ continued, selected, rows }: Begun): Extract<ProgressEvent, { kind: 'resume' }> {
  const open = new Set(rows.map(({ id }) => id));
  const ended = continued ? selected.filter(({ id }) => !open.has(id)) : [];
  const begun = continued ? rows.filter(({ position }) => position.cursor !== null) : [];
  return {
    kind: 'resume',
    lists: ended.length,
    records: ended.reduce((sum, { uniqueRecords }) => sum + uniqueRecords, 0),
    open: begun.map((row) => ({
      stream: streamKeyOf(row),
      records: Math.min(row.records, row.totalCountLast ?? row.records),
      totalCount: row.totalCountLast,
    })),
  };
}

async function dropUnplanned(options: ExportOptions, row: StreamRow): Promise<void> {
  const { db } = options;
  const bumpExportSeq = prepareBumpExportSeq(db);
  let from: bigint | null = null;
  await repeatWhile(options, () => {
    bumpExportSeq();
    from = dropUnseen(db, row.id, row.position.walk + 1, from).next;
    if (from === null) dropStream(db, row.id);
    return from !== null;
  });
}

/** Runs `work` in a transaction until it returns false. */
async function repeatWhile(options: ExportOptions, work: () => boolean): Promise<void> {
  while (await orAborted(options.signal, async () => inTransaction(options, work))) {
    // Transactions are synchronous: without this, signals would not be handled.
    await setImmediate();
  }
}

async function readAll(
  rows: readonly StreamRow[],
  plan: ExportPlan,
  options: ExportOptions,
): Promise<StreamReading[]> {
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  // every pending request adds a listener
  setMaxListeners(0, signal);
  const { db, file, config, clock, supply, onProgress } = options;
  const { rules, excluded } = plan;
  const saver = createSaver({ db, file, clock, payload: config.payload, excluded, rules });
  const pairs = new Map(config.models.map((pair) => [pair.v3, pair]));
  const reader = { supply, saver, rules, pairs, signal, onProgress };
  const limits = new Map(plan.endpoints.map(({ region, concurrency }) => [region, pLimit(concurrency)]));
  const readOne = async (row: StreamRow) => {
    try {
      return await readStream(row, reader);
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  };
  const settled = await Promise.allSettled(
    rows.map((row) => {
      const limit = limits.get(row.region);
      if (limit === undefined) throw new Error(`Region ${row.region} is not in the configuration.`);
      return limit(readOne, row);
    }),
  );
  if (stop.signal.aborted) throw stop.signal.reason;
  const readings = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  for (const { region } of plan.endpoints) warnOfAbsent(region, readings, onProgress);
  return readings;
}

/** One warning for all lists that a region of V3 does not have. */
function warnOfAbsent(region: string, readings: readonly StreamReading[], onProgress: OnProgress): void {
  const absent = readings.filter(
    ({ row }) => row.generation === 'v3' && row.region === region && row.state === 'absent',
  );
  if (absent.length === 0) return;
  const names = absent.map(({ row }) => row.route).join(', ');
  const text = `V3 has no ${absent.length === 1 ? 'list' : 'lists'} ${names} in region ${region} (404).`;
  onProgress({ kind: 'note', level: 'warning', text });
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

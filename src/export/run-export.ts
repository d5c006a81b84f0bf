import { setMaxListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { CompanyListing } from '../api/company-list.js';
import type { Config } from '../config/config.js';
import { type Generation, isUnfinished, type OnProgress, type ProgressEvent } from '../domain.js';
import { isRequestError, SvcError } from '../errors.js';
import { prepareBumpExportSeq } from '../store/meta.js';
import { type Db, guardDatabase } from '../store/open.js';
import { dropStalePayloads } from '../store/payloads.js';
import { dropStream, dropUnseen } from '../store/stream-contents.js';
import {
  type CompanyListRow,
  listStreams,
  type PlannedStream,
  type StreamRow,
  saveCompanyList,
  saveV4Companies,
  streamKeyOf,
} from '../store/streams.js';
import {
  assertAcceptable,
  type Begun,
  beginExport,
  type ExportOptions,
  type ExportPlan,
} from './begin-export.js';
import { isoOf } from './passes.js';
import { orAborted, readStream, type StreamReading } from './read-stream.js';
import { createSaver } from './saver.js';

export interface ExportSummary {
  /** Every stream of the generation, including those that were not selected. */
  readonly streams: readonly StreamRow[];
  /** Whether every selected stream was read in full or is known to be absent. */
  readonly complete: boolean;
  readonly selectedLists: number;
  /** Selected lists that were not read in full. */
  readonly openLists: number;
  /** The first error of a stream that failed, one that another run may mend if there is any. */
  readonly firstError: SvcError | null;
}

/** How far before the start of the preceding full reading a sweep for changes begins. */
const SWEEP_OVERLAP_MS = 15 * 60_000;

/**
 * Reads every V3 list into the database: continues unfinished lists, and updates finished ones by sweeps. With
 * `restart`, reads everything again.
 *
 * @throws SvcError, see `runExport`
 */
export async function exportV3(options: ExportOptions): Promise<ExportSummary> {
  const { v3, companies } = options.config;
  options.onProgress({ kind: 'stage', name: 'export v3' });
  return await runExport(options, {
    generation: 'v3',
    planned: planV3(options.config),
    endpoints: v3.regions,
    rules: {
      sweeps: true,
      sweepOverlapMs: SWEEP_OVERLAP_MS,
      dropsMissingLists: false,
      divides: v3.companies === 'auto',
    },
    excluded: companies.exclude,
    saveListing: () => {},
  });
}

/**
 * Reads every V4 list into the database again, or continues an unfinished reading. Records that a new reading no longer
 * returns, and lists of companies that V4 no longer lists, are deleted. With `restart`, no unfinished reading is
 * continued, and the configuration of V4 may have changed.
 *
 * @throws SvcError, see `runExport`; also the errors of reading the company list
 */
export async function exportV4(options: ExportOptions): Promise<ExportSummary> {
  const { db, config, fingerprint, supply, signal, onProgress } = options;
  onProgress({ kind: 'stage', name: 'export v4' });
  assertAcceptable(db, 'v4', fingerprint, options.restart ?? false);
  const startedAt = isoOf(options.clock.now());
  const listing = await orAborted(signal, () => supply.fetchV4Companies()).catch((error: unknown) => {
    if (error instanceof SvcError && isOfList(error)) saveFailure(options, error, startedAt);
    throw error;
  });
  const { companies } = listing;
  if (companies.length === 0) onProgress({ kind: 'note', level: 'warning', text: 'V4 lists no companies.' });
  const ids = companies.map(({ companyId }) => companyId);
  return await runExport(options, {
    generation: 'v4',
    planned: planV4(config, [...new Set(ids)]),
    endpoints: [config.v4],
    rules: { sweeps: false, sweepOverlapMs: 0, dropsMissingLists: true },
    excluded: [],
    saveListing: () => {
      saveV4Companies(db, companies);
      saveCompanyList(db, rowOf(listing, startedAt, isoOf(options.clock.now())));
      // A remap depends on the list also where no company is listed, so that no other list changes.
      prepareBumpExportSeq(db)();
    },
  });
}

/** Whether reading the list failed, as opposed to an interrupted or misconfigured export. */
function isOfList(error: SvcError): boolean {
  const codes = ['cursor_loop', 'cursor_expired', 'no_progress', 'incomplete'];
  return codes.includes(error.code) || isRequestError(error);
}

/** The completion record of the company list; null if it was not requested. */
function rowOf(
  { companies, reading }: CompanyListing,
  startedAt: string,
  finishedAt: string,
): CompanyListRow | null {
  if (reading === null) return null;
  const { state, walks, arrived } = reading;
  return {
    state,
    endReason: state === 'short' ? 'count_disputed' : 'end_of_list',
    endNote: null,
    pages: walks.reduce((sum, { pages }) => sum + pages, 0),
    records: arrived,
    uniqueRecords: companies.length,
    totalCountFirst: walks[0]?.totalCount ?? null,
    totalCountLast: walks.at(-1)?.totalCount ?? null,
    startedAt,
    finishedAt,
  };
}

/** Saves that the company list could not be read; the previously listed companies are kept, but are incomplete. */
function saveFailure({ db, file }: ExportOptions, error: SvcError, startedAt: string): void {
  const counts = { pages: 0, records: 0, uniqueRecords: 0, totalCountFirst: null, totalCountLast: null };
  const ending = { state: 'failed', endReason: error.code, endNote: error.message } as const;
  const save = db.transaction(() => {
    saveCompanyList(db, { ...counts, ...ending, startedAt, finishedAt: null });
    prepareBumpExportSeq(db)();
  });
  guardDatabase(file, () => save.immediate());
}

/** Every V3 list to read: one for each region and model, and for each company if lists are split by company. */
function planV3({ v3, models, companies: { include, exclude } }: Config): PlannedStream[] {
  const named = v3.companies === 'auto' ? [] : v3.companies;
  const split = named.filter((id) => include.length === 0 || include.includes(id));
  const wanted = named.length === 0 ? include : split;
  const isSplit = named.length > 0 || include.length > 0;
  const companies = isSplit ? [...new Set(wanted)].filter((id) => !exclude.includes(id)) : [null];
  return v3.regions.flatMap(({ region }) =>
    models.flatMap(({ v3: model }) =>
      companies.map((companyId): PlannedStream => {
        return { key: { generation: 'v3', region, model, companyId }, route: model };
      }),
    ),
  );
}

/** Every V4 list to read: one for each listed company and each model that V4 has. */
function planV4({ models }: Config, companyIds: readonly bigint[]): PlannedStream[] {
  return companyIds.flatMap((companyId) =>
    models.flatMap(({ v3, v4 }): PlannedStream[] =>
      v4 === null ? [] : [{ key: { generation: 'v4', region: '', model: v3, companyId }, route: v4 }],
    ),
  );
}

/**
 * Reads the planned streams concurrently, the pages of each in order. If one stream fails, the others continue.
 *
 * @throws SvcError `interrupted`, `other_configuration`, `usage`, `auth`, `redirect`, `config`, `locked`,
 *   `disk`, `corrupt_database`
 */
async function runExport(options: ExportOptions, plan: ExportPlan): Promise<ExportSummary> {
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
  const errors = readings.flatMap(({ error }) => error ?? []);
  const firstError = errors.find(({ code }) => code !== 'http_status') ?? errors[0] ?? null;
  const lists = { selectedLists: ids.size, openLists: open.length };
  return { streams, complete: open.length === 0, ...lists, firstError };
}

function inTransaction<T>({ db, file }: ExportOptions, work: () => T): T {
  return guardDatabase(file, () => db.transaction(work).immediate());
}

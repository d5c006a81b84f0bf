import type { CompanyListing } from '../api/company-list.js';
import type { Config } from '../config/config.js';
import { isRequestError, SvcError } from '../errors.js';
import { prepareBumpExportSeq } from '../store/meta.js';
import { guardDatabase } from '../store/open.js';
import type { PlannedStream } from '../store/streams.js';
import { type CompanyListRow, saveCompanyList, saveV4Companies } from '../store/streams.js';
import { assertAcceptable, type ExportOptions } from './begin-export.js';
import { isoOf } from './passes.js';
import { orAborted } from './read-stream.js';
import { type ExportSummary, runExport } from './run-export.js';

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

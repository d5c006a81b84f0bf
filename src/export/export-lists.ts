import type { CompanyListing } from '../api/companies.js';
import type { Config } from '../config/config.js';
import { isRequestError, SvcError } from '../errors.js';
import { prepareBumpExportSeq } from '../store/meta.js';
import { guardDatabase } from '../store/open.js';
import type { PlannedStream } from '../store/streams.js';
import { type CompanyListRow, saveCompanyList, saveV4Companies } from '../store/v4-companies.js';

import { assertAcceptable, type ExportOptions } from './begin-export.js';
import { type ExportSummary, runExport } from './run-export.js';
import { isoOf } from './step.js';
import { orAborted } from './stop.js';

/**
 * Reads every V3 list into the database: goes on where it stopped, tops up what is finished by sweeps, and
 * with `restart` reads everything anew.
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
    rules: { sweeps: true, sweepOverlapMs: v3.sweepOverlapMs, dropsMissingLists: false },
    excluded: companies.exclude,
    saveListing: () => {},
  });
}

/**
 * Reads every V4 list into the database anew, or goes on with an unfinished reading. What a new reading no
 * longer shows, and the lists of companies that V4 no longer names, are dropped. With `restart` nothing is
 * gone on with, and V4 may be read with another configuration than before.
 *
 * @throws SvcError, see `runExport`; also what asking for the companies throws
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

/** Whether the error says that the list was not read, and not that the export was stopped or misconfigured. */
function isOfList(error: SvcError): boolean {
  const codes = ['cursor_loop', 'cursor_expired', 'no_progress', 'incomplete'];
  return codes.includes(error.code) || isRequestError(error);
}

/** The completion record of the company list; null where it was not asked for. */
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

/** What V4 lists is not known any more: the companies of the listing before stay, and do not count as all. */
function saveFailure({ db, file }: ExportOptions, error: SvcError, startedAt: string): void {
  const counts = { pages: 0, records: 0, uniqueRecords: 0, totalCountFirst: null, totalCountLast: null };
  const ending = { state: 'failed', endReason: error.code, endNote: error.message } as const;
  const save = db.transaction(() => {
    saveCompanyList(db, { ...counts, ...ending, startedAt, finishedAt: null });
    prepareBumpExportSeq(db)();
  });
  guardDatabase(file, () => save.immediate());
}

/** Every V3 list to read: each region's models, for all companies at once or split by company. */
function planV3({ v3, models, companies: { include, exclude } }: Config): PlannedStream[] {
  const split = v3.companies.filter((id) => include.length === 0 || include.includes(id));
  const wanted = v3.companies.length === 0 ? include : split;
  const isSplit = v3.companies.length > 0 || include.length > 0;
  const companies = isSplit ? [...new Set(wanted)].filter((id) => !exclude.includes(id)) : [null];
  return v3.regions.flatMap(({ region }) =>
    models.flatMap(({ v3: model }) =>
      companies.map((companyId): PlannedStream => {
        return { key: { generation: 'v3', region, model, companyId }, route: model };
      }),
    ),
  );
}

/** Every V4 list to read: the models V4 has, for each company it listed. */
function planV4({ models }: Config, companyIds: readonly bigint[]): PlannedStream[] {
  return companyIds.flatMap((companyId) =>
    models.flatMap(({ v3, v4 }): PlannedStream[] =>
      v4 === null ? [] : [{ key: { generation: 'v4', region: '', model: v3, companyId }, route: v4 }],
    ),
  );
}

import { isRequestError, SvcError } from '../errors.js';
import { prepareBumpExportSeq } from '../store/meta.js';
import { guardDatabase } from '../store/open.js';
import { type CompanyListRow, saveCompanyList, saveV4Companies } from '../store/v4-companies.js';
import { assertAcceptable } from './begin-export.js';
import { planV4 } from './plan.js';
import { type ExportOptions, type ExportSummary, runExport } from './run-export.js';
import type { PageSource } from './source.js';
import { isoOf } from './step.js';
import { orAborted } from './stop.js';

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
  assertAcceptable(db, { generation: 'v4', fingerprint, restart: options.restart ?? false });
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
  return ['cursor_loop', 'no_progress', 'incomplete'].includes(error.code) || isRequestError(error);
}

type Listing = Awaited<ReturnType<PageSource['fetchV4Companies']>>;

/** The completion record of the company list; null where it was not asked for. */
function rowOf(
  { companies, reading }: Listing,
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

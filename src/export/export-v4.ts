import { saveV4Companies } from '../store/v4-companies.js';
import { assertAcceptable } from './begin-export.js';
import { planV4 } from './plan.js';
import { type ExportOptions, type ExportSummary, runExport } from './run-export.js';
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
  const companies = await orAborted(signal, () => supply.fetchV4Companies());
  if (companies.length === 0) onProgress({ kind: 'note', level: 'warning', text: 'V4 lists no companies.' });
  const ids = companies.map(({ companyId }) => companyId);
  return await runExport(options, {
    generation: 'v4',
    planned: planV4(config, [...new Set(ids)]),
    endpoints: [config.v4],
    rules: { sweeps: false, sweepOverlapMs: 0, dropsMissingLists: true },
    excluded: [],
    saveListing: () => saveV4Companies(db, companies),
  });
}

import { planV3 } from './plan.js';
import { type ExportOptions, type ExportSummary, runExport } from './run-export.js';

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

import { buildFingerprint, type Config } from '../config/config.js';
import type { Generation } from '../domain.js';
import type { ExportOptions } from '../export/begin-export.js';
import { exportV3, exportV4 } from '../export/export-lists.js';
import type { PageSupply } from '../export/prefetch.js';
import type { ExportSummary } from '../export/run-export.js';
import type { Db } from '../store/open.js';
import type { Narrowing } from './command.js';

export interface ExportRequest extends Narrowing {
  readonly config: Config;
  /** Read everything again instead of continuing. */
  readonly restart: boolean;
}

/** Reads one generation into the open database. Throws as `runExport` does. */
export type Exporter = (
  generation: Generation,
  request: ExportRequest,
  supply: PageSupply,
) => Promise<ExportSummary>;

/** Creates an exporter that writes into this database in the current thread. */
export function exporterOn(
  db: Db,
  file: string,
  context: Pick<ExportOptions, 'signal' | 'clock' | 'onProgress'>,
): Exporter {
  return (generation, { config, restart, models, companies }, supply) =>
    (generation === 'v3' ? exportV3 : exportV4)({
      ...context,
      db,
      file,
      config,
      fingerprint: buildFingerprint(config),
      supply,
      restart,
      onlyModels: models,
      onlyCompanies: companies,
    });
}

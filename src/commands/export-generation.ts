import { createApi } from '../api/client.js';
import type { Config } from '../config/config.js';
import { buildFingerprint } from '../config/fingerprint.js';
import { loadKeys } from '../config/keys.js';
import type { Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import { exportV3 } from '../export/export-v3.js';
import { exportV4 } from '../export/export-v4.js';
import type { ExportSummary } from '../export/run-export.js';
import { writeText } from '../report/write-output.js';
import type { Db } from '../store/open.js';
import type { Narrowing } from './command.js';
import { renderExportSummary } from './export-summary.js';
import { holdDatabase } from './hold-database.js';
import type { Io } from './io.js';
import { type WaitSettings, waitForV4 } from './wait-for-v4.js';

export interface ExportCommand extends Narrowing {
  readonly config: Config;
  /** Read everything anew. */
  readonly restart: boolean;
  /** Wait for the backfill before V4 is read. */
  readonly wait?: WaitSettings | undefined;
}

/**
 * `export v3` and `export v4`: reads one generation into the database and prints what it holds now.
 *
 * @throws SvcError `incomplete` after the summary where a list was not read in full; else as `loadKeys`,
 * `holdDatabase` and `runExport` do
 */
export async function runExportCommand(
  generation: Generation,
  options: ExportCommand,
  io: Io,
): Promise<number> {
  const { config } = options;
  // Keys first: without them nothing is created.
  loadKeys(config, io.env, [generation]);
  const hold = { file: config.database, mode: 'create', command: `export ${generation}` } as const;
  const summary = await holdDatabase({ ...hold, nowMs: io.clock.now() }, (db) =>
    exportGeneration(generation, db, options, io),
  );
  await writeText(io.stdout, [renderExportSummary(generation, summary, config, io.width)]);
  assertComplete(generation, summary);
  return 0;
}

/**
 * Reads one generation into an open database.
 *
 * @throws SvcError as `loadKeys` and `runExport` do
 */
export async function exportGeneration(
  generation: Generation,
  db: Db,
  options: ExportCommand,
  io: Io,
): Promise<ExportSummary> {
  const { config, models, companies, restart } = options;
  const { signal, clock, onProgress } = io;
  if (generation === 'v4' && options.wait !== undefined) await waitForV4(config, options.wait, io);
  const keys = loadKeys(config, io.env, [generation]);
  const api = createApi({ config, keys, onProgress, signal });
  try {
    return await (generation === 'v3' ? exportV3 : exportV4)({
      db,
      file: config.database,
      config,
      fingerprint: buildFingerprint(config),
      source: api,
      signal,
      clock,
      onProgress,
      restart,
      onlyModels: models,
      onlyCompanies: companies,
    });
  } finally {
    await api.close();
  }
}

/** @throws SvcError `incomplete`, with the first thing that went wrong */
function assertComplete(generation: Generation, { complete, firstError, streams }: ExportSummary): void {
  if (complete) return;
  const open = streams.filter(({ state }) => state === 'running' || state === 'failed').length;
  const why = firstError === null ? '' : ` First: ${firstError.message}`;
  throw new SvcError('incomplete', `${open} of ${streams.length} lists were not read to their end.${why}`, {
    hint: `Run \`svc-migrate export ${generation}\` again: it continues where it stopped.`,
    facts: firstError?.facts,
    cause: firstError ?? undefined,
  });
}

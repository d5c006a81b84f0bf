import type { Api } from '../api/client.js';
import { buildFingerprint, type Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { createSaver } from '../export/saver.js';
import {
  indexOpen,
  judgeRecheck,
  type ReadAgainResult,
  type RecheckResult,
  readAgain,
  recheck,
  renderRecheck,
  renderRecheckJson,
} from '../inspect/recheck/recheck-findings.js';
import { count, findingSchema } from '../report/report-schema.js';
import { assertSameExport } from '../store/fingerprint.js';
import { saveHostWaits } from '../store/meta.js';
import { guardDatabase } from '../store/open.js';
import { prepareReadOutcome, readOpenRows } from '../store/open-findings.js';
import { findIncomplete, readReadiness } from '../store/readiness.js';
import { INDEX_PARTS } from '../store/remap-blocks.js';
import { EVERYTHING } from '../store/remap-rows.js';
import * as z from '../zod.js';
import { withMaxWait } from './catalogue/options.js';
import type { recheck as definition } from './catalogue/use-commands.js';
import type { GivenTo, Io } from './command.js';
import { assertRemapIntact, readDatabase, withDatabase } from './database.js';
import { exportGeneration } from './export.js';
import { exporterOn } from './export-thread.js';
import { rebuildRemap } from './rebuild-remap.js';
import { type ApiIo, withApi } from './with-api.js';
import { writeResult } from './with-outputs.js';

/** The JSON of `recheck`. */
export const schema = z.strictObject({
  schemaVersion: z.literal(1),
  exitCode: z.exitCodeSchema,
  open: count.describe('Findings that were open at the start.'),
  read: z
    .looseObject({
      asked: count,
      lists: count,
      changed: count,
      failed: count,
      firstError: z.string().nullable(),
    })
    .nullable()
    .describe('What was requested; null if no finding was open.'),
  persisted: z
    .record(z.string(), count)
    .describe('Number of findings open both at the start and at the end, by `status/reason`.'),
  appeared: z
    .record(z.string(), count)
    .describe('Number of findings open only at the end, by `status/reason`.'),
  healed: z.array(
    findingSchema
      .omit({ parent_platform_id: true, status: true, reason: true, matched_by: true, evidence: true })
      .extend({ before: z.string(), after: z.string().nullable() }),
  ),
});

/**
 * `recheck`: reads open findings again from both APIs, rebuilds the remap and shows what was resolved. Exits with 0 if
 * all were read, 4 if some could not be.
 */
export async function run(
  { options, config: loadConfig }: GivenTo<typeof definition>,
  io: Io,
): Promise<number> {
  const { json: target } = options;
  const config = withMaxWait(await loadConfig(), options);
  const result = await recheckOpen(config, io);
  const json = () => renderRecheckJson(result);
  await writeResult(target, { json, text: () => renderRecheck(result, io.width, io.verbose === true) }, io);
  return judgeRecheck(result);
}

/** `recheck`, after the options are parsed. */
function recheckOpen(config: Config, io: Io): Promise<RecheckResult> {
  return withApi(config, io, async (api, own) => {
    await ensureRemap(config, io);
    return recheck({
      readAgain: () => readAlone(config, api, own),
      rebuildRemap: () => rebuildRemap(config, io),
      readOpen: () =>
        readDatabase(config, async (db) => {
          await assertRemapIntact(db, io);
          return io.runUninterruptible(() => indexOpen(readOpenRows(db)));
        }),
      readOutcomes: (rows) =>
        readDatabase(config, async (db) => {
          await assertRemapIntact(db, io, ['rows', ...INDEX_PARTS]);
          const read = prepareReadOutcome(db);
          return io.runUninterruptible(() => rows.map((row) => read(row)));
        }),
      onProgress: io.onProgress,
    });
  });
}

/** Rebuilds the remap if it is missing or stale, because it would not hold the current findings. */
async function ensureRemap(config: Config, io: Io): Promise<void> {
  const codes = await readDatabase(config, async (db) =>
    findIncomplete(readReadiness(db, config, EVERYTHING)).map(({ code }) => code),
  );
  const missing = (['v3', 'v4'] as const).find((name) => codes.includes(`${name}_not_exported`));
  if (missing !== undefined) {
    throw new SvcError(
      'incomplete',
      `${missing.toUpperCase()} was not exported: there is nothing to read again.`,
      {
        hint: 'Run `svc-migrate run` first.',
      },
    );
  }
  if (codes.includes('remap_missing') || codes.includes('remap_stale')) await rebuildRemap(config, io);
}

/** Requests the findings again while the database is locked, as for an export. */
function readAlone(config: Config, api: Api, io: ApiIo): Promise<ReadAgainResult> {
  const { clock, onProgress, runUninterruptible, hostLimits } = io;
  const hold = { file: config.database, mode: 'write', command: 'recheck', nowMs: clock.now() } as const;
  return withDatabase(hold, async (db) => {
    guardDatabase(config.database, () => assertSameExport(db, buildFingerprint(config)));
    const saver = createSaver({
      db,
      file: config.database,
      payload: config.payload,
      excluded: config.companies.exclude,
      // Single records never complete a list; lists are read again by exports, with their own rules.
      rules: { sweeps: false, sweepOverlapMs: 0, dropsMissingLists: false },
      clock,
    });
    return hostLimits.savingWith(
      (wait) => guardDatabase(config.database, () => saveHostWaits(db, [wait], clock.now())),
      () =>
        readAgain({
          db,
          config,
          api,
          saver,
          readLists: (generation, models, companies, onEvent) => {
            const own = { ...io, onProgress: onEvent };
            const exporter = exporterOn(db, config.database, own);
            return exportGeneration(
              generation,
              exporter,
              { config, models, companies, restart: false },
              api,
              own,
            );
          },
          onProgress,
          runUninterruptible,
        }),
    );
  });
}

import type { Config } from '../config/config.js';
import type { Outcome } from '../domain.js';
import { createLiveReader } from '../inspect/live-records.js';
import {
  judgeVerify,
  renderVerify,
  renderVerifyJson,
  type VerifyResult,
  verifyRemap,
} from '../inspect/verify/verify-remap.js';
import { readOutcome } from '../report/build-report.js';
import { count, findingSchema, id } from '../report/report-schema.js';
import * as z from '../zod.js';
import { withMaxWait } from './catalogue/options.js';
import type { verify } from './catalogue/use-commands.js';
import type { GivenTo, Io } from './command.js';
import { assertRemapIntact, readDatabase, withOwnerNote } from './database.js';
import { withApi } from './with-api.js';
import { writeResult } from './with-outputs.js';

const pairSide = z
  .strictObject({
    company_id: id,
    platform_id: z.string().nullable(),
    platform_unique_id: z.string().nullable(),
    deleted: z.boolean(),
  })
  .nullable();

/** The JSON of `verify`. */
export const schema = z.strictObject({
  schemaVersion: z.literal(1),
  exitCode: z.exitCodeSchema,
  remap: z.strictObject({ builtAt: z.string(), sha256: z.string() }),
  contradictions: z
    .array(
      z.strictObject({
        code: z.string(),
        total: count,
        first: z.array(z.looseObject({ model: z.string() })),
      }),
    )
    .describe('Between the remap and the export.'),
  coverage: z.strictObject({
    kind: z.enum(['all', 'sample']),
    pairs: count,
    matched: count,
    strata: count,
    drawn: count,
  }),
  agree: count,
  disagree: count,
  gone: count,
  deletedSince: count,
  failed: count,
  unread: count,
  firstError: z.string().nullable(),
  disagreements: z.array(
    z.strictObject({
      code: z.string(),
      ...findingSchema.omit({ evidence: true, matched_by: true }).shape,
      v3_company_id: id,
      v4_company_id: id,
      v3: pairSide,
      v4: pairSide,
    }),
  ),
});

/**
 * `verify`: checks the remap against the export and, pair by pair, against both APIs. Exits with 0 if all agree, 1 if
 * something differs, 4 if some pairs could not be read, 5 if there is no pair.
 */
export async function run({ options, config: loadConfig }: GivenTo<typeof verify>, io: Io): Promise<number> {
  const { json: target, all, sample } = options;
  const config = withMaxWait(await loadConfig(), options);
  const { result, gate } = await verifyPairs(config, all ? null : sample, io);
  const apply = config.apply.targets.length > 0 ? 'svc-migrate apply plan' : 'svc-migrate help apply';
  const next = gate === 'pass' ? apply : 'svc-migrate check';
  const json = () => renderVerifyJson(result);
  await writeResult(target, { json, text: () => renderVerify(result, io.width, next) }, io);
  return judgeVerify(result);
}

/** The pairs compared, and what `check` says of the remap that they are from. */
function verifyPairs(
  config: Config,
  sample: number | null,
  io: Io,
): Promise<{ readonly result: VerifyResult; readonly gate: Outcome }> {
  io.onProgress({ kind: 'stage', name: 'verify' });
  return withApi(config, io, (api) =>
    readDatabase(config, async (db) => {
      await assertRemapIntact(db, io);
      const reader = createLiveReader(api, config);
      const hold = { file: config.database, command: 'verify', nowMs: io.clock.now() };
      const result = await withOwnerNote(hold, () =>
        verifyRemap({
          db,
          config,
          reader,
          sample,
          onProgress: io.onProgress,
          runUninterruptible: io.runUninterruptible,
        }),
      );
      return { result, gate: readOutcome(db, { config, nowMs: io.clock.now() }) };
    }),
  );
}

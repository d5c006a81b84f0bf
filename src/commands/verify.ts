import type { Config } from '../config/config.js';
import { createPairReader } from '../inspect/verify/read-live.js';
import { renderVerify, renderVerifyJson } from '../inspect/verify/render-verify.js';
import { judgeVerify, type VerifyResult, verifyRemap } from '../inspect/verify/verify-remap.js';
import { DEFAULT_SAMPLE } from './catalogue/options.js';
import type { CommandLine, Io } from './command.js';
import { assertRemapIntact, readDatabase, withOwnerNote } from './database.js';
import { configWithMaxWait, notTogether, wholeNumberOption } from './option-values.js';
import { withApi } from './with-api.js';
import { withJson, writeResult } from './with-outputs.js';

/**
 * `verify`: checks the remap against the export and, pair by pair, against both APIs. Exits with 0 if all agree, 1 if
 * something differs, 4 if some pairs could not be read, 5 if there is no pair.
 */
export async function runVerify(given: CommandLine, io: Io): Promise<number> {
  return withJson(given, io, (_, target, within) => verify(given, target, within));
}

async function verify(given: CommandLine, target: string | undefined, io: Io): Promise<number> {
  const config = await configWithMaxWait(given);
  const sample = sampleOf(given);
  const seed = wholeNumberOption(given, 'seed') ?? null;
  const result = await verifyPairs(config, { sample, seed }, io);
  const json = () => renderVerifyJson(result);
  const hasTargets = config.apply.targets.length > 0;
  await writeResult(target, { json, text: () => renderVerify(result, io.width, hasTargets) }, io);
  return judgeVerify(result);
}

/** `verify`, after the options are parsed. */
export function verifyPairs(
  config: Config,
  { sample, seed }: { readonly sample: number | null; readonly seed: number | null },
  io: Io,
): Promise<VerifyResult> {
  io.onProgress({ kind: 'stage', name: 'verify' });
  return withApi(config, io, (api) =>
    readDatabase(config, async (db) => {
      await assertRemapIntact(db, io);
      const reader = createPairReader(api, config);
      const hold = { file: config.database, command: 'verify', nowMs: io.clock.now() };
      return withOwnerNote(hold, () =>
        verifyRemap({
          db,
          config,
          reader,
          sample,
          seed,
          onProgress: io.onProgress,
          runUninterruptible: io.runUninterruptible,
        }),
      );
    }),
  );
}

/** How many pairs to draw; null: all. */
function sampleOf(given: CommandLine): number | null {
  const sample = wholeNumberOption(given, 'sample', 1);
  if (!given.isSet('all')) return sample ?? DEFAULT_SAMPLE;
  if (sample === undefined) return null;
  throw notTogether('--all', '--sample');
}

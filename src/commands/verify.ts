import type { Config } from '../config/config.js';
import { createPairReader } from '../inspect/verify/pair-reader.js';
import { renderVerifyJson } from '../inspect/verify/render-json.js';
import { renderVerify } from '../inspect/verify/render-text.js';
import { judgeVerify } from '../inspect/verify/result.js';
import { verifyRemap } from '../inspect/verify/verify.js';
import { writeText } from '../runtime/write-output.js';
import { withOwnerNote } from './hold-database.js';
import type { Io } from './io.js';
import { assertRemapIntact, readDatabase } from './read-database.js';
import { withApi } from './with-api.js';

export interface VerifyCommand {
  readonly config: Config;
  /** How many pairs to draw; null: all. */
  readonly sample: number | null;
  /** null: from the remap. */
  readonly seed: number | null;
  readonly json: boolean;
}

/**
 * `verify`: proves the remap against the export and, pair by pair, against both APIs. 0 all agree, 1 something
 * disagrees, 4 not everything could be read, 5 there is no pair.
 *
 * @throws SvcError `incomplete` without a current remap, `auth`, `config`, and as `readDatabase` does
 */
export async function runVerify({ config, sample, seed, json }: VerifyCommand, io: Io): Promise<number> {
  io.onProgress({ kind: 'stage', name: 'verify' });
  const result = await withApi(config, io, (api) =>
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
  await writeText(io.stdout, [json ? renderVerifyJson(result) : renderVerify(result, io.width)]);
  return judgeVerify(result);
}

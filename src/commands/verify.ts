import { Command } from '@commander-js/extra-typings';
import type { DefineCommand } from './command.js';
import { wholeNumber } from './options.js';

const DEFAULT_SAMPLE = 200;

export const verifyCommand: DefineCommand = (run) =>
  new Command('verify')
    .summary('read pairs from both APIs again and compare their keys')
    .description(
      'Reads mapped pairs from V4 by id again, and from V3 where a filter can find them: their platform_ids must agree. Shows fields that differ. Exits with 1 if a pair is wrong, 4 if some could not be read, 5 if there is none.',
    )
    .option(
      '--sample <n>',
      'pairs to read; at least one of each model, company and reason',
      wholeNumber(1, 100_000),
      DEFAULT_SAMPLE,
    )
    .option('--json <file>', 'write the result as JSON (- is stdout)')
    .addHelpText('after', '\nExample:\n  svc-migrate verify --sample 1000')
    .action(({ sample }, command) =>
      run(command, ['json'], async (io) => {
        const config = await io.config();
        const { createApi } = await import('../api/client.js');
        const { loadKeys, listSecrets } = await import('../config/api-keys.js');
        const { renderVerification, verifyPairs } = await import('../inspect/verify.js');
        const { readVerifiedRemap } = await import('./database.js');
        io.onProgress({ kind: 'stage', name: 'verify' });
        const result = await readVerifiedRemap(config, { allowIncomplete: true }, async (db) => {
          const [keys, secrets] = [await loadKeys(config, io.env), await listSecrets(config, io.env)];
          const { signal, onProgress } = io;
          const api = createApi({ config, keys, secrets, signal, onProgress });
          try {
            return await verifyPairs(api, db, config, sample, onProgress);
          } finally {
            await api.close();
          }
        });
        return {
          exitCode: result.exitCode,
          json: result,
          text: (style) => renderVerification(result, style.width),
        };
      }),
    );

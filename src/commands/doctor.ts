import { Command } from '@commander-js/extra-typings';
import type { ApiKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import { type orError, SvcError } from '../errors.js';
import type { DefineCommand, Io } from './command.js';

export const doctorCommand: DefineCommand = (run) =>
  new Command('doctor')
    .summary('check what a migration needs, and print what to fix')
    .description(
      'Checks the configuration, the keys, both APIs, the V4 model names (near names are tried), the largest page of each API, how V4 lists companies, deleted records, clocks and disk. Writes nothing; prints settings to paste. Exits with 2 (configuration), 3 (key), 4 (network), 5 (V4 not ready) or 6 (this machine) if something is in the way.',
    )
    .option('--json <file>', 'write the result as JSON (- is stdout)')
    .addHelpText('after', '\nExample:\n  svc-migrate doctor')
    .action((_options, command) =>
      run(command, ['json'], async (io) => {
        const { buildDiagnosis, diagnose } = await import('../inspect/doctor.js');
        const { renderDiagnosis } = await import('../inspect/render-diagnosis.js');
        const errors = await import('../errors.js');
        io.onProgress({ kind: 'stage', name: 'doctor' });
        const config = await errors.orError(io.config);
        const diagnosis =
          config instanceof SvcError
            ? buildDiagnosis([invalidConfig(config)], [])
            : await diagnoseConfig(config, io, errors.orError, diagnose);
        return {
          exitCode: diagnosis.exitCode,
          json: diagnosis,
          text: (style) => renderDiagnosis(diagnosis, 'svc-migrate run', style.width),
        };
      }),
    );

/** A wrong configuration is a finding, not an error; all other checks need it. */
function invalidConfig({ message, hint }: SvcError) {
  const facts = { level: 'problem', area: 'configuration', code: 'config_invalid', exitCode: 2 } as const;
  return { ...facts, text: message, fix: hint ?? 'Correct the configuration.' };
}

async function diagnoseConfig(
  config: Config,
  io: Io,
  attempt: typeof orError,
  diagnose: typeof import('../inspect/doctor.js').diagnose,
) {
  const { createApi } = await import('../api/client.js');
  const { listSecrets, loadKey } = await import('../config/api-keys.js');
  const { readCompaniesFile, readDecisionsFile } = await import('../config/user-files.js');
  const { readSqliteVersion } = await import('../store/open.js');
  const { readDatabase } = await import('./read-database.js');
  const keyErrors = new Map<string, SvcError>();
  const usable = new Map<string, string>();
  for (const endpoint of [...config.v3.regions, config.v4]) {
    const key = await attempt(() => loadKey(endpoint, config, io.env));
    if (key instanceof SvcError) keyErrors.set(endpoint.region, key);
    else usable.set(endpoint.region, key);
  }
  const files = [
    await attempt(() => readCompaniesFile(config)),
    await attempt(() => readDecisionsFile(config)),
  ];
  const database = await attempt(() => readDatabase(config, () => null));
  const local = {
    config,
    nowMs: io.clock.now(),
    keyErrors,
    fileErrors: files.filter((result) => result instanceof SvcError),
    databaseError: database instanceof SvcError && database.code !== 'incomplete' ? database : null,
    sqlite: readSqliteVersion(),
  };
  const keys: ApiKeys = { v3: usable, v4: usable.get('') ?? '' };
  const secrets = await listSecrets(config, io.env);
  const { env, signal, onProgress } = io;
  const openApi = () => createApi({ config, keys, secrets, env, signal, onProgress });
  return diagnose(local, openApi, onProgress);
}

import { Command } from '@commander-js/extra-typings';
import type * as z from 'zod';
import { SvcError } from '../errors.js';
import type { DefineCommand, Io } from './command.js';
import { repeatable } from './options.js';

export const initCommand: DefineCommand = (run) =>
  new Command('init')
    .summary('write a commented starter configuration')
    .description('Writes a commented starter configuration. It never overwrites a file.')
    .option('--v3 <url>', 'address of V3, with /v3; for several regions: --v3 eu=URL --v3 us=URL', repeatable)
    .option('--v4 <url>', 'address of V4, without /v4')
    .addHelpText(
      'after',
      '\nExample:\n  svc-migrate init --v3 https://eu.example/v3 --v4 https://api.example\n',
    )
    .action((options, command) =>
      run(command, [], async (io) => {
        const file = await writeStarter(options, command.optsWithGlobals(), io);
        const todo =
          options.v3 === undefined || options.v4 === undefined ? 'Put the addresses into it. ' : '';
        return {
          exitCode: 0,
          text: () =>
            `Wrote ${file}.\n${todo}Set SVC_MIGRATE_V3_API_KEY and SVC_MIGRATE_V4_API_KEY to the API keys.\nNext: svc-migrate doctor\n`,
        };
      }),
    );

interface InitOptions {
  readonly v3?: readonly string[] | undefined;
  readonly v4?: string | undefined;
}

async function writeStarter(options: InitOptions, globals: object, { env }: Io): Promise<string> {
  const { findConfigFile } = await import('../config/load-config.js');
  const { createFile } = await import('../runtime/write-output.js');
  const config = 'config' in globals && typeof globals.config === 'string' ? globals.config : undefined;
  const file = findConfigFile(env, config);
  await createFile(file, await renderStarter(options));
  return file;
}

async function renderStarter({ v3 = [], v4 }: InitOptions): Promise<string> {
  const { default: starter } = await import('./starter-config.jsonc');
  const { PLACEHOLDER_HOST, regionName, v3BaseUrl, v4BaseUrl } = await import('../config/settings.js');
  const seen = new Set<string>();
  const regions = v3.map((text) => {
    const [, region = 'default', address = ''] = /^(?:([\w.-]+)=)?(.*)$/.exec(text) ?? [];
    if (seen.has(region)) throw new SvcError('usage', `--v3 names the region "${region}" twice.`);
    if (!regionName.safeParse(region).success)
      throw new SvcError(
        'usage',
        `--v3 "${region}" is not a name of a region: begin with a letter or digit.`,
      );
    seen.add(region);
    const baseUrl = checkAddress('--v3', v3BaseUrl.safeParse(address));
    return `      ${JSON.stringify(region)}: { "baseUrl": ${baseUrl}, "apiKeyEnv": "SVC_MIGRATE_V3_API_KEY" },`;
  });
  const withV3 =
    regions.length === 0 ? starter : starter.replace(/^ {6}"default": .*$/m, () => regions.join('\n'));
  if (v4 === undefined) return withV3;
  const baseUrl = checkAddress('--v4', v4BaseUrl.safeParse(v4));
  return withV3.replace(`"https://${PLACEHOLDER_HOST}"`, () => baseUrl);
}

function checkAddress(option: string, { data, error }: z.ZodSafeParseResult<string>): string {
  if (error === undefined) return JSON.stringify(data);
  throw new SvcError('usage', `${option} ${error.issues.map(({ message }) => message).join(', ')}.`);
}

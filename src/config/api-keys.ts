import { existsSync } from 'node:fs';
import { platform } from 'node:os';
import { isAbsolute } from 'node:path';
import type { Env, Generation } from '../domain.js';
import { describeFileError, orError, SvcError } from '../errors.js';
import { readInput } from '../runtime/read-input.js';
import type { Config, Endpoint } from './config.js';

/** The API keys. They are stored nowhere else: not in `Config`, in messages or on disk. */
export interface ApiKeys {
  readonly v3: ReadonlyMap<string, string>;
  /** '' if only V3 keys were requested. */
  readonly v4: string;
}

/** Maximum length of a key: common servers refuse longer headers. */
const MAX_KEY_CHARS = 8192;
const MAX_BYTES = 1_048_576;

/**
 * Reads the keys that the configuration refers to, from environment variables or files.
 *
 * @throws SvcError `config`, naming the variable or file, if a key is missing, empty, readable by others, or not usable
 * in a header
 */
export async function loadKeys(
  config: Config,
  env: Env,
  generations: readonly Generation[] = ['v3', 'v4'],
): Promise<ApiKeys> {
  const v3 = new Map<string, string>();
  for (const endpoint of generations.includes('v3') ? config.v3.regions : []) {
    v3.set(endpoint.region, await loadKey(endpoint, config, env));
  }
  return { v3, v4: generations.includes('v4') ? await loadKey(config.v4, config, env) : '' };
}

/** Every readable key that the configuration refers to, for removal from messages. */
export async function listSecrets(config: Config, env: Env): Promise<string[]> {
  const secrets: string[] = [];
  for (const endpoint of [...config.v3.regions, config.v4]) {
    // The command that needs this key reports the problem.
    const key = await orError(() => loadKey(endpoint, config, env));
    if (!(key instanceof SvcError)) secrets.push(key);
  }
  return secrets;
}

export async function loadKey({ keySource: source }: Endpoint, config: Config, env: Env): Promise<string> {
  const owner = ownersOf(source, config);
  const isFile = isAbsolute(source);
  const key = isFile ? (await readKeyFile(source, owner)).replace(/\r?\n$/, '') : env[source];
  if (key === undefined || key === '') {
    throw isFile
      ? new SvcError('config', `The key file ${source} of ${owner} is empty.`, {
          hint: 'Put the key into it.',
        })
      : new SvcError('config', `The API key of ${owner} is missing: ${source} is not set.`, {
          hint: `${mentionEnvFile()}Set the environment variable, such as: export ${source}=… (the dashboard lists your keys).`,
        });
  }
  if (key.length <= MAX_KEY_CHARS && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new SvcError('config', `The API key of ${owner} in ${source} cannot be sent in a header.`, {
    hint: 'It contains spaces, line breaks or non-ASCII characters, or is too long: store only the key itself.',
  });
}

/** Everything that uses a key: `V3 regions "eu", "us" and V4`. */
function ownersOf(source: string, { v3, v4 }: Config): string {
  const regions = v3.regions
    .filter(({ keySource }) => keySource === source)
    .map(({ region }) => `"${region}"`);
  const noun = regions.length === 1 ? 'V3 region' : 'V3 regions';
  return [
    ...(regions.length === 0 ? [] : [`${noun} ${regions.join(', ')}`]),
    ...(v4.keySource === source ? ['V4'] : []),
  ].join(' and ');
}

/** Mentions a `.env` file, which many tools read and this one does not. */
function mentionEnvFile(): string {
  return existsSync('.env')
    ? 'The file .env here is not read; to use it, run: set -a; . ./.env; set +a. '
    : '';
}

async function readKeyFile(file: string, owner: string): Promise<string> {
  const open = `The key file ${file} of ${owner} can be read by others.`;
  try {
    return await readInput(file, MAX_BYTES, async (handle) => {
      const { mode } = await handle.stat();
      // Windows has no such modes.
      if ((mode & 0o077) === 0 || platform() === 'win32') return;
      throw new SvcError('config', open, { hint: `Run: chmod 600 ${file}` });
    });
  } catch (cause) {
    if (cause instanceof SvcError) throw new SvcError('config', cause.message, { hint: cause.hint, cause });
    const sentence = `The key file ${file} of ${owner} cannot be read: ${describeFileError(cause)}.`;
    throw new SvcError('config', sentence, { hint: 'Check apiKeyFile in the configuration.', cause });
  }
}

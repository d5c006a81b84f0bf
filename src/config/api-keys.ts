import { closeSync, existsSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { isAbsolute } from 'node:path';
import type { Env, Generation } from '../domain.js';
import { describeFileError, SvcError } from '../errors.js';
import type { Config, Endpoint } from './config.js';

/** The API keys. They are stored nowhere else: not in `Config`, in messages or on disk. */
export interface ApiKeys {
  /** By region. */
  readonly v3: ReadonlyMap<string, string>;
  /** '' if only V3 keys were requested. */
  readonly v4: string;
}

/** Maximum length of a key: common servers refuse longer headers. */
const MAX_KEY_CHARS = 8192;

/**
 * Reads the keys that the configuration refers to, from environment variables or files.
 *
 * @throws SvcError `config`, naming the variable or file, if a key is missing, empty, readable by others, or not usable
 * in a header
 */
export function loadKeys(
  config: Config,
  env: Env,
  generations: readonly Generation[] = ['v3', 'v4'],
): ApiKeys {
  const regions = generations.includes('v3') ? config.v3.regions : [];
  return {
    v3: new Map(regions.map((endpoint) => [endpoint.region, loadKey(endpoint, config, env)])),
    v4: generations.includes('v4') ? loadKey(config.v4, config, env) : '',
  };
}

/** Every readable key that the configuration refers to, for removal from messages. */
export function listSecrets(config: Config, env: Env): string[] {
  return [...config.v3.regions, config.v4].flatMap((endpoint) => {
    try {
      return [loadKey(endpoint, config, env)];
    } catch (error) {
      // The command that needs this key reports the problem.
      if (error instanceof SvcError) return [];
      throw error;
    }
  });
}

/** The key of one endpoint. Throws as `loadKeys` does. */
export function loadKey({ keySource: source }: Endpoint, config: Config, env: Env): string {
  const owner = ownersOf(source, config);
  const isFile = isAbsolute(source);
  const key = isFile ? readKeyFile(source, owner).replace(/\r?\n$/, '') : (env[source] ?? '');
  if (key === '') {
    const what = isFile
      ? `The key file ${source} of ${owner} is empty.`
      : `The API key of ${owner} is missing: ${source} is not set.`;
    const hint = isFile
      ? 'Put the key into it.'
      : `${mentionEnvFile()}Set the environment variable, such as: export ${source}=… (the dashboard lists your keys).`;
    throw new SvcError('config', what, { hint });
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

function readKeyFile(file: string, owner: string): string {
  let fd: number | null = null;
  try {
    fd = openSync(file, 'r');
    // Checks the open file, which nobody can replace in between. Windows has no such modes.
    const isPrivate = (fstatSync(fd).mode & 0o077) === 0 || platform() === 'win32';
    if (isPrivate) return readFileSync(fd, 'utf8');
  } catch (cause) {
    throw new SvcError(
      'config',
      `The key file ${file} of ${owner} cannot be read: ${describeFileError(cause)}.`,
      {
        hint: 'Check apiKeyFile in the configuration.',
        cause,
      },
    );
  } finally {
    if (fd !== null) closeSync(fd);
  }
  throw new SvcError('config', `The key file ${file} of ${owner} can be read by others.`, {
    hint: `Run: chmod 600 ${file}`,
  });
}

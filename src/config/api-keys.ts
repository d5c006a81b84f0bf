import { platform } from 'node:os';
import { isAbsolute } from 'node:path';
import type { Env, Generation } from '../domain.js';
import { describeFileError, orError, SvcError } from '../errors.js';
import { type Config, type Endpoint, readInput } from './config.js';

/** The API keys. They are stored nowhere else: not in `Config`, in messages or on disk. */
export interface ApiKeys {
  readonly v3: ReadonlyMap<string, string>;
  /** '' if only V3 keys were requested. */
  readonly v4: string;
}

const MAX_KEY_CHARS = 8192;
const MAX_BYTES = 1_048_576;

/**
 * Reads the keys that the configuration refers to, from environment variables or files.
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
    v3.set(endpoint.region, await loadKey(endpoint, env));
  }
  return { v3, v4: generations.includes('v4') ? await loadKey(config.v4, env) : '' };
}

/** Every readable key that the configuration refers to, for removal from messages. */
export async function listSecrets(config: Config, env: Env): Promise<string[]> {
  const secrets: string[] = [];
  for (const endpoint of [...config.v3.regions, config.v4]) {
    // The command that needs this key reports the problem.
    const key = await orError(() => loadKey(endpoint, env));
    if (!(key instanceof SvcError)) secrets.push(key);
  }
  return secrets;
}

export async function loadKey({ keySource: source }: Endpoint, env: Env): Promise<string> {
  const isFile = isAbsolute(source);
  const key = isFile ? (await readKeyFile(source)).replace(/\r?\n$/, '') : env[source];
  if (key === undefined || key === '') {
    throw isFile
      ? new SvcError('config', `The key file ${source} is empty.`, { hint: 'Put the key into it.' })
      : new SvcError('config', `An API key is missing: ${source} is not set.`, {
          hint: `Set the environment variable: export ${source}=… (a file .env is not read).`,
        });
  }
  if (key.length <= MAX_KEY_CHARS && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new SvcError('config', `The API key in ${source} cannot be sent in a header.`, {
    hint: 'It contains spaces, line breaks or non-ASCII characters, or is too long: store only the key itself.',
  });
}

async function readKeyFile(file: string): Promise<string> {
  try {
    return await readInput(file, MAX_BYTES, async (handle) => {
      const { mode } = await handle.stat();
      // Windows has no such modes.
      if ((mode & 0o077) === 0 || platform() === 'win32') return;
      throw new SvcError('config', `The key file ${file} can be read by others.`, {
        hint: `Run: chmod 600 ${file}`,
      });
    });
  } catch (cause) {
    if (cause instanceof SvcError) throw new SvcError('config', cause.message, { hint: cause.hint, cause });
    const sentence = `The key file ${file} cannot be read: ${describeFileError(cause)}.`;
    throw new SvcError('config', sentence, { hint: 'Check apiKeyFile in the configuration.', cause });
  }
}

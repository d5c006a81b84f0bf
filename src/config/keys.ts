import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';
import { isAbsolute } from 'node:path';
import type { Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import type { Config, Endpoint } from './config.js';

/** The API keys. They exist nowhere else: not in the configuration, not in messages, not on disk. */
export interface Keys {
  readonly v3: ReadonlyMap<string, string>;
  /** '' where only V3 keys were asked for. */
  readonly v4: string;
}

/** Longer headers are refused by common servers. */
const LONGEST_KEY = 8192;

/**
 * Reads the keys that the configuration refers to, from environment variables or files.
 *
 * @throws SvcError `config`, naming the variable or file: missing, empty, readable by others, or not usable
 * in a header
 */
export function loadKeys(
  config: Config,
  env: Readonly<Record<string, string | undefined>>,
  generations: readonly Generation[] = ['v3', 'v4'],
): Keys {
  const regions = generations.includes('v3') ? config.v3.regions : [];
  return {
    v3: new Map(regions.map((endpoint) => [endpoint.region, loadKey(endpoint, env)])),
    v4: generations.includes('v4') ? loadKey(config.v4, env) : '',
  };
}

/** Every key that the configuration refers to and that can be read, to be kept out of messages. */
export function listSecrets(config: Config, env: Readonly<Record<string, string | undefined>>): string[] {
  return [...config.v3.regions, config.v4].flatMap((endpoint) => {
    try {
      return [loadKey(endpoint, env)];
    } catch (error) {
      // the command that needs this key says what is wrong with it
      if (error instanceof SvcError) return [];
      throw error;
    }
  });
}

function loadKey(endpoint: Endpoint, env: Readonly<Record<string, string | undefined>>): string {
  const { keySource } = endpoint;
  const whose = endpoint.region === '' ? 'V4' : `V3 region "${endpoint.region}"`;
  const isFile = isAbsolute(keySource);
  const text = isFile ? readKeyFile(keySource, whose) : (env[keySource] ?? '');
  const key = isFile ? text.replace(/\r?\n$/, '') : text;
  if (key === '') throw missingKey(keySource, whose, isFile);
  if (key.length <= LONGEST_KEY && /^[\x21-\x7e]+$/.test(key)) return key;
  throw new SvcError('config', `The API key of ${whose} in ${keySource} cannot be sent in a header.`, {
    hint: 'It holds blanks, line breaks, other than ASCII characters, or is too long: store the bare key.',
  });
}

function missingKey(source: string, whose: string, isFile: boolean): SvcError {
  return isFile
    ? new SvcError('config', `The key file ${source} of ${whose} is empty.`, { hint: 'Put the key into it.' })
    : new SvcError('config', `The API key of ${whose} is missing: ${source} is not set.`, {
        hint: `Set the environment variable, such as: export ${source}=… (the dashboard lists your keys).`,
      });
}

function readKeyFile(file: string, whose: string): string {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch (cause) {
    throw unreadable(file, whose, cause);
  }
  try {
    // On the open file, so that it cannot be exchanged in between. Windows has no such modes.
    if ((fstatSync(fd).mode & 0o077) !== 0 && platform() !== 'win32') throw readableByOthers(file, whose);
    return readFileSync(fd, 'utf8');
  } catch (cause) {
    throw cause instanceof SvcError ? cause : unreadable(file, whose, cause);
  } finally {
    closeSync(fd);
  }
}

function readableByOthers(file: string, whose: string): SvcError {
  return new SvcError('config', `The key file ${file} of ${whose} can be read by others.`, {
    hint: `Run: chmod 600 ${file}`,
  });
}

function unreadable(file: string, whose: string, cause: unknown): SvcError {
  const error = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
  return new SvcError('config', `The key file ${file} of ${whose} cannot be read.`, {
    hint: 'Check apiKeyFile in the configuration.',
    facts: { error },
    cause,
  });
}

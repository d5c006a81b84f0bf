import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { SvcError } from '../errors.js';
import { resolveTarget } from './apply-targets.js';
import { DEFAULT_V3_KEY_ENV, DEFAULT_V4_KEY_ENV, type Settings } from './settings.js';

type DeepReadonly<T> = { readonly [K in keyof T]: DeepReadonly<T[K]> };

/** The configuration with defaults, flags and environment applied; paths are absolute. It holds no keys. */
export type Config = DeepReadonly<ReturnType<typeof resolveSettings>>;

/** One host with its own key, limits and page size; `region` is '' for V4. */
export type Endpoint = DeepReadonly<ReturnType<typeof resolveEndpoint>>;

const DAY_MS = 86_400_000;

/** `database`: the path from flag or environment, which overrides the file. */
export function resolveSettings(settings: Settings, file: string, nowMs: number, database?: string) {
  const { $schema: _, v3, v4, companies, decisions, backfill, apply, maxAge, ...rest } = settings;
  const inFolder = (path: string) => resolve(dirname(file), path);
  const { since, days, dateFields } = backfill;
  const { match } = companies;
  return {
    ...rest,
    file,
    database: database === undefined ? inFolder(settings.database) : resolve(database),
    v3: {
      regions: Object.entries(v3.regions).map(([region, endpoint]) =>
        resolveEndpoint(region, { ...v3, ...endpoint }, DEFAULT_V3_KEY_ENV, inFolder),
      ),
      companies: v3.companies,
    },
    v4: {
      ...resolveEndpoint('', v4, DEFAULT_V4_KEY_ENV, inFolder),
      includeDeleted: v4.includeDeleted,
      companies: v4.companies,
      companyIdField: v4.companyIdField,
    },
    companies: { ...companies, match: typeof match === 'string' ? match : { file: inFolder(match.file) } },
    decisions: decisions === null ? null : inFolder(decisions),
    backfill: {
      /** Start of the backfill window, ms since 1970; null: inferred per company. */
      sinceMs: since ?? (days === undefined ? null : nowMs - days * DAY_MS),
      ...(days === undefined ? {} : { days }),
      dateFields,
    },
    apply: { targets: apply.targets.map((target) => resolveTarget(target, dirname(file))) },
    maxAgeMs: maxAge,
  };
}

type EndpointSettings = Pick<
  Settings['v4'],
  'baseUrl' | 'apiKeyEnv' | 'apiKeyFile' | 'pageSize' | 'concurrency' | 'requestsPerSecond'
>;

function resolveEndpoint(
  region: string,
  { baseUrl, apiKeyEnv, apiKeyFile, pageSize, concurrency, requestsPerSecond }: EndpointSettings,
  defaultEnv: string,
  inFolder: (path: string) => string,
) {
  return {
    region,
    /** Without a trailing slash. V3: requests go to `{baseUrl}/{category}/{model}`; V4: `{baseUrl}/v4/core/…`. */
    baseUrl,
    /** The name of an environment variable, or the absolute path of a file. */
    keySource: apiKeyFile === undefined ? (apiKeyEnv ?? defaultEnv) : inFolder(apiKeyFile),
    pageSize,
    concurrency,
    requestsPerSecond,
  };
}

type InputFiles = Pick<Config, 'companies' | 'decisions'>;

export function listInputFiles({
  companies: { match },
  decisions,
}: InputFiles): Readonly<Partial<Record<string, string>>> {
  return {
    ...(typeof match === 'string' ? {} : { 'companies.match.file': match.file }),
    ...(decisions === null ? {} : { decisions }),
  };
}

/** The SHA-256 of each input file by its setting; '' if it cannot be read. */
export function digestInputFiles(config: InputFiles): Readonly<Record<string, string>> {
  const files = Object.entries(listInputFiles(config));
  return Object.fromEntries(files.map(([setting, file = '']) => [setting, digestOf(file)]));
}

function digestOf(file: string): string {
  try {
    // Reading a pipe would block and consume it.
    return statSync(file).isFile() ? createHash('sha256').update(readFileSync(file)).digest('hex') : '';
  } catch {
    return '';
  }
}

const CHUNK_BYTES = 65_536;

/**
 * Reads a text file, pipe or device up to a size. It waits for a pipe without blocking signals.
 * @param check looks at the open file before it is read
 * @throws SvcError `bad_input` if it is larger; errors of the system
 */
export async function readInput(
  file: string,
  maxBytes: number,
  check: (handle: FileHandle) => Promise<void> = async () => {},
): Promise<string> {
  const handle = await open(file, 'r');
  try {
    await check(handle);
    const chunks: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return Buffer.concat(chunks).toString('utf8');
      bytes += bytesRead;
      if (bytes > maxBytes) throw tooLarge(file, maxBytes);
      chunks.push(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}

function tooLarge(file: string, maxBytes: number): SvcError {
  return new SvcError('bad_input', `${file} is larger than ${maxBytes / 1_048_576} MiB.`, {
    hint: 'Check that it is the right file.',
  });
}

import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { ModelPair } from '../domain.js';
import type { ApplyTarget } from './apply-targets.js';
import type { Settings } from './settings.js';

type DeepReadonly<T> = { readonly [K in keyof T]: DeepReadonly<T[K]> };
type Given = DeepReadonly<Settings>;

/** One host with its own key, limits and page size. */
export interface Endpoint extends Pick<Given['v4'], 'pageSize' | 'concurrency' | 'requestsPerSecond'> {
  /** '' for V4, the region's name for V3. */
  readonly region: string;
  /** Without a trailing slash. V3: requests go to `{baseUrl}/{category}/{model}`; V4: `{baseUrl}/v4/core/…`. */
  readonly baseUrl: string;
  /** Where the key is stored: the name of an environment variable, or the absolute path of a file. */
  readonly keySource: string;
}

/**
 * The configuration with defaults, flags and environment applied; paths are absolute. It holds no keys. `settings.ts`
 * describes the members taken from the file.
 */
export interface Config
  extends Pick<Given, 'fieldPrefix' | 'companies' | 'decisions' | 'http' | 'payload' | 'limits'> {
  readonly file: string;
  readonly database: string;
  readonly v3: {
    readonly regions: readonly Endpoint[];
    /** Empty: each list is read for all companies at once. */
    readonly companies: readonly bigint[];
  };
  readonly v4: Endpoint & Pick<Given['v4'], 'includeDeleted' | 'companies' | 'companyIdField'>;
  readonly models: readonly ModelPair[];
  readonly backfill: {
    /** Start of the backfill window, ms since 1970; null: inferred per company. */
    readonly sinceMs: number | null;
    /** Set if `sinceMs` is as many days before the start of this process. */
    readonly days?: number;
    readonly dateFields: readonly string[];
  };
  readonly apply: {
    readonly targets: readonly ApplyTarget[];
  };
  /** A list read longer ago than this fails the gate. */
  readonly maxAgeMs: number;
}

/** The input files of a remap, by the setting that names them. */
export function listInputFiles({
  companies,
  decisions,
}: Pick<Config, 'companies' | 'decisions'>): Readonly<Partial<Record<string, string>>> {
  return {
    ...(typeof companies.match === 'string' ? {} : { 'companies.match.file': companies.match.file }),
    ...(decisions === null ? {} : { decisions }),
  };
}

/** The SHA-256 of each input file by its setting; '' if it cannot be read. */
export function digestInputFiles(
  config: Pick<Config, 'companies' | 'decisions'>,
): Readonly<Record<string, string>> {
  const files = Object.entries(listInputFiles(config));
  return Object.fromEntries(
    files.map(([setting, file]) => [setting, file === undefined ? '' : digestOf(file)]),
  );
}

function digestOf(file: string): string {
  try {
    // Reading a pipe would wait and take what it holds.
    return statSync(file).isFile() ? createHash('sha256').update(readFileSync(file)).digest('hex') : '';
  } catch {
    return '';
  }
}

import { readFileSync } from 'node:fs';
import type { ModelPair } from '../domain.js';
import { sha256Of } from '../runtime/sha256.js';
import { comparableAddress } from '../text/addresses.js';
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
  extends Pick<Given, 'fieldPrefix' | 'companies' | 'decisions' | 'http' | 'payload' | 'drift' | 'limits'> {
  /** The configuration file. */
  readonly file: string;
  readonly database: string;
  readonly v3: {
    readonly regions: readonly Endpoint[];
    /** `auto`: long lists are read company by company. Empty: each list is read for all companies at once. */
    readonly companies: 'auto' | readonly bigint[];
  };
  readonly v4: Endpoint &
    Pick<Given['v4'], 'includeDeleted' | 'companies' | 'companyIdField' | 'eventTypeField'>;
  readonly models: readonly ModelPair[];
  readonly backfill: {
    /** Start of the backfill window, ms since 1970; null: inferred per company. */
    readonly sinceMs: number | null;
    /** Whether `sinceMs` was computed from the current time, so that the true start may be earlier. */
    readonly isRelative?: boolean;
    readonly dateFields: readonly string[];
  };
  readonly apply: {
    readonly targets: readonly ApplyTarget[];
    readonly batchRows: number;
    readonly lockTimeoutMs: number;
    readonly statementTimeoutMs: number;
  };
  /** A list read longer ago than this fails the gate. */
  readonly maxAgeMs: number;
  /** Files that may be named in the sections that were left out because of a mistake. */
  readonly possibleInputs?: readonly string[];
}

/**
 * The settings that an export depends on, as a flat map. Names that start with `v3` or `v4` concern only that side. Keys,
 * page sizes, speeds and settings that only affect judging are not included.
 */
export function buildFingerprint(config: Config): Record<string, string> {
  const { v3, v4, companies, models } = config;
  const entries: Record<string, string> = {
    fieldPrefix: config.fieldPrefix,
    // The same data come in either way without a list.
    'v3.companies': listOf(v3.companies === 'auto' ? [] : sorted(v3.companies)),
    'v4.baseUrl': comparableAddress(v4.baseUrl),
    'v4.companies': listOf(sorted(v4.companies)),
    'v4.companyIdField': v4.companyIdField ?? '(usual)',
    'v4.includeDeleted': String(v4.includeDeleted),
    'companies.include': listOf(sorted(companies.include)),
    'companies.exclude': listOf(sorted(companies.exclude)),
    'backfill.dateFields': listOf(config.backfill.dateFields),
  };
  for (const { region, baseUrl } of v3.regions) entries[`v3.regions.${region}`] = comparableAddress(baseUrl);
  for (const model of models) {
    entries[`models.${model.v3}`] = `expand ${listOf(model.expand)}, children ${listOf(model.children)}`;
    entries[`v4.models.${model.v3}`] = model.v4 ?? '(absent)';
  }
  return entries;
}

function sorted(ids: readonly bigint[]): bigint[] {
  return [...ids].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

function listOf(values: readonly (string | bigint)[]): string {
  return values.length === 0 ? '(none)' : values.join(' ');
}

/** The settings that name input files of a remap. */
export type FileSettings = Pick<Config, 'companies' | 'decisions'>;

/** The input files of a remap, by the setting that names them. */
export function listInputFiles({ companies, decisions }: FileSettings): Readonly<Record<string, string>> {
  return {
    ...(typeof companies.match === 'string' ? {} : { 'companies.match.file': companies.match.file }),
    ...(decisions === null ? {} : { decisions }),
  };
}

/** The SHA-256 of each input file by its setting; '' if it cannot be read. */
export function digestInputFiles(settings: FileSettings): Readonly<Record<string, string>> {
  const digests: Record<string, string> = {};
  for (const [setting, file] of Object.entries(listInputFiles(settings))) {
    try {
      digests[setting] = sha256Of(readFileSync(file));
    } catch {
      digests[setting] = '';
    }
  }
  return digests;
}

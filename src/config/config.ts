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
  /** Where the key is: the name of an environment variable, or a file's absolute path. */
  readonly keySource: string;
}

/**
 * The configuration after defaults, flags and environment; paths are absolute. Holds no key. `settings.ts`
 * describes the members that it takes over.
 */
export interface Config
  extends Pick<Given, 'fieldPrefix' | 'companies' | 'decisions' | 'http' | 'payload' | 'drift' | 'limits'> {
  /** The file it was read from. */
  readonly file: string;
  readonly database: string;
  readonly v3: {
    readonly regions: readonly Endpoint[];
    /** Empty: each V3 list is read for all companies at once. */
    readonly companies: readonly bigint[];
    /** How far a sweep reaches back before the start of the reading that it follows. */
    readonly sweepOverlapMs: number;
  };
  readonly v4: Endpoint &
    Pick<Given['v4'], 'includeDeleted' | 'companies' | 'companyIdField' | 'eventTypeField'>;
  readonly models: readonly ModelPair[];
  readonly backfill: {
    /** Start of the backfill window, ms since 1970; null: inferred per company. */
    readonly sinceMs: number | null;
    /** `sinceMs` counts back from now, so the true start may be earlier. */
    readonly isRelative?: boolean;
    readonly dateFields: readonly string[];
  };
  readonly apply: { readonly targets: readonly ApplyTarget[] };
  /** A list read longer ago than this fails the gate. */
  readonly maxAgeMs: number;
}

import type { ModelPair } from '../domain.js';
import type { ApplyTarget } from './apply-targets.js';

/** One host with its own key, limiter and page size. */
export interface Endpoint {
  /** '' for V4, the region's name for V3. */
  readonly region: string;
  /** Without a trailing slash. V3: requests go to `{baseUrl}/{category}/{model}`; V4: `{baseUrl}/v4/core/…`. */
  readonly baseUrl: string;
  /** Where the key is: the name of an environment variable, or a file's absolute path. */
  readonly keySource: string;
  readonly pageSize: number;
  /** Requests under way at once to this host. */
  readonly concurrency: number;
  readonly requestsPerSecond: number;
}

/** How V3 companies find their V4 twins. */
export type CompanyMatching = 'auto' | 'same_id' | 'overlap' | { readonly file: string };

/** A limit: a count of rows, or a share of the rows with a V3 id in the same scope. */
export type LimitValue =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'percent'; readonly percent: number; readonly text: string };

/** The configuration after defaults, flags and environment; paths are absolute. Holds no key. */
export interface Config {
  /** The file it was read from. */
  readonly file: string;
  readonly database: string;
  readonly fieldPrefix: string;
  readonly v3: {
    readonly regions: readonly Endpoint[];
    /** Empty: each V3 list is read for all companies at once. */
    readonly companies: readonly bigint[];
    /** How far a sweep reaches back before the start of the reading it follows. */
    readonly sweepOverlapMs: number;
  };
  readonly v4: Endpoint & {
    readonly includeDeleted: 'auto' | boolean;
    /** Empty: the company list is asked. */
    readonly companies: readonly bigint[];
    /** Field of a listed V4 company that holds its id; null: `<prefix>id`, then `<prefix>company_id`, then `id`. */
    readonly companyIdField: string | null;
    /** Member of a webhook event that holds its type, as a dotted path. */
    readonly eventTypeField: string;
  };
  readonly models: readonly ModelPair[];
  readonly companies: {
    readonly match: CompanyMatching;
    /** V3 company ids; empty: all. */
    readonly include: readonly bigint[];
    readonly exclude: readonly bigint[];
  };
  /** File of what a person decided; null: none. */
  readonly decisions: string | null;
  readonly backfill: {
    /** Start of the backfill window, ms since 1970; null: inferred per company. */
    readonly sinceMs: number | null;
    /** `sinceMs` counts back from now, so the true start may lie before it. */
    readonly isRelative?: boolean;
    readonly dateFields: readonly string[];
  };
  readonly http: {
    readonly timeoutMs: number;
    readonly attempts: number;
    readonly maxWaitMs: number;
    readonly maxBodyBytes: number;
    readonly allowHttp: boolean;
  };
  readonly payload: 'full' | 'ids';
  readonly drift: {
    /** Top-level fields not compared, by V3 model; `*` is every model. */
    readonly ignore: Readonly<Record<string, readonly string[]>>;
    /** Records with equal `data_hash`es are equal; both APIs are asked for it. */
    readonly trustDataHash: boolean;
  };
  readonly limits: {
    /** By `reason`, `status`, `rejected`, `short`, `unique_id_conflict`, `drift` or `decision_stale`. */
    readonly global: Readonly<Record<string, LimitValue>>;
    readonly models: Readonly<Record<string, Readonly<Record<string, LimitValue>>>>;
  };
  readonly apply: {
    /** Where the user's own data hold ids. */
    readonly targets: readonly ApplyTarget[];
  };
  /** Oldest acceptable stream, ms. */
  readonly maxAgeMs: number;
}

// Ids are exact 64-bit integers end to end: `bigint` inside the program, INTEGER in SQLite, strings of digits in JSON.

export const MIN_INT64 = -(2n ** 63n);
export const MAX_INT64 = 2n ** 63n - 1n;

/** Parses up to 19 digits as an id; null for other texts and beyond 64 bits. */
export function parseId(text: string): bigint | null {
  if (!/^\d{1,19}$/.test(text)) return null;
  const id = BigInt(text);
  return id <= MAX_INT64 ? id : null;
}

/** Parses an id in canonical form; null for other texts, such as `007` and `+7`, and beyond 64 bits. */
export function parseSvcId(text: string): bigint | null {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) return null;
  const id = BigInt(text);
  return BigInt.asIntN(64, id) === id ? id : null;
}

export const GENERATIONS = ['v3', 'v4'] as const;
export type Generation = (typeof GENERATIONS)[number];

/**
 * States of a list. `short`: read to its end twice, with fewer records than the service counts. `absent`: it answered
 * 404. `failed`: an error ended the reading; the next export continues it.
 */
export const STREAM_STATES = ['running', 'complete', 'short', 'absent', 'failed'] as const;
export type StreamState = (typeof STREAM_STATES)[number];

export function isUnfinished({ state }: { readonly state: StreamState }): boolean {
  return state === 'running' || state === 'failed';
}

/** The state of a list or a group of lists as it is shown: `not started` if no page was read yet. */
export function shownState(state: StreamState, isBegun: boolean): StreamState | 'not started' {
  return state === 'running' && !isBegun ? 'not started' : state;
}

export const STALE_REASONS = [
  'expired',
  'company_not_paired',
  'v3_not_exported',
  'v4_not_exported',
  'v3_several',
  'v4_several',
  'parents_not_matched',
  'v3_deleted',
  'v4_deleted',
  'v3_paired',
  'v4_paired',
  'not_read_in_full',
] as const;
export type StaleReason = (typeof STALE_REASONS)[number];

export const COMPANY_MATCHES = ['same_id', 'overlap', 'file', 'ambiguous', 'none'] as const;
export type CompanyMatch = (typeof COMPANY_MATCHES)[number];

/** Databases behind a connection string that `apply` rewrites. */
export const SERVERS = [
  { kind: 'postgres', product: 'PostgreSQL' },
  { kind: 'mysql', product: 'MySQL or MariaDB' },
] as const;
export type Server = (typeof SERVERS)[number];

/** A V3 path paired with its V4 model name; `v4: null` says the model is known to be absent from V4. */
export interface ModelPair {
  /** Such as `accounting/invoices`. */
  readonly v3: string;
  readonly v4: string | null;
  readonly expand: readonly string[];
  /** Fields whose array items are children: objects with an id and a platform_id of their own. */
  readonly children: readonly string[];
  /** Whether the V4 name is an unconfirmed default. */
  readonly v4Guessed: boolean;
}

/** One paged list. `companyId: null` reads all companies; `region` is '' for V4. */
export interface StreamKey {
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  readonly companyId: bigint | null;
}

export interface PageChild {
  /** The record's member that holds it. */
  readonly path: string;
  readonly svcId: number | bigint;
  readonly platformId: string | null;
  readonly platformUniqueId: string | null;
  readonly deleted: boolean;
}

/** What matching needs of a record. Ids are exact: a `number` is a safe integer. */
export interface PageRecord {
  readonly svcId: number | bigint;
  readonly companyId: number | bigint;
  readonly platformId: string | null;
  readonly platformUniqueId: string | null;
  readonly deleted: boolean;
  /** `svc_updated_at` in ms since 1970; null if unreadable. */
  readonly updatedMs: number | null;
  /** Latest readable date among the configured date fields, else among the service's own dates. */
  readonly latestMs: number | null;
  readonly latestFrom: 'platform' | 'service' | null;
  /** Platform creation date (`created_at`, else `org_created_at`), ms since 1970. */
  readonly createdMs: number | null;
  readonly children: readonly PageChild[];
  /** Digests of the fields by which records are compared; null where the page is kept. */
  readonly facts: Uint8Array | null;
}

export const REJECT_REASONS = [
  'not_an_object',
  'no_svc_id',
  'bad_svc_id',
  'no_company_id',
  'bad_company_id',
  'other_company',
  'bad_deleted_at',
] as const;

export interface RejectedObject {
  readonly position: number;
  /** '' for a record, otherwise the child's field. */
  readonly path: string;
  /** The record that holds a child; null for a record. */
  readonly parentSvcId: number | bigint | null;
  readonly reason: (typeof REJECT_REASONS)[number];
  readonly raw: string;
}

export interface ListPage {
  readonly records: readonly PageRecord[];
  readonly rejected: readonly RejectedObject[];
  readonly next: string | null;
  readonly totalCount: number | null;
  /** The response's `Date` header, ms since 1970; null if there was none. */
  readonly servedMs: number | null;
  /** The body, compressed: as it came with `gzip`, else with `br`. */
  readonly body: Uint8Array;
  readonly encoding: string;
}

export type ProgressEvent = StageEvent & {
  /** Both generations can be read at the same time, each in a stage of its own. */
  readonly generation?: Generation;
};

type StageEvent =
  /** Begins a stage, of the event's generation if it names one. */
  | { readonly kind: 'stage'; readonly name: string }
  | { readonly kind: 'end'; readonly how: 'done' | 'failed' }
  | {
      readonly kind: 'page';
      readonly stream: StreamKey;
      readonly records: number;
      readonly totalCount: number | null;
    }
  | { readonly kind: 'stream'; readonly stream: StreamKey; readonly state: StreamState }
  | {
      readonly kind: 'wait';
      readonly host: string;
      readonly waitMs: number;
      /** Such as `V3 answered 429 and asked for it`. */
      readonly reason: string;
    }
  | {
      readonly kind: 'step';
      readonly name: string;
      readonly done: number;
      readonly total: number | null;
      /** Shown instead of name and numbers; its parts are separated by ` · `. */
      readonly text?: string;
    }
  /** Where an earlier process of the same export stopped. */
  | {
      readonly kind: 'resume';
      readonly endedLists: number;
      readonly endedRecords: number;
      readonly openRecords: number;
    }
  | { readonly kind: 'note'; readonly level: 'info' | 'warning'; readonly text: string };

export type OnProgress = (event: ProgressEvent) => void;

export function progressOf(generation: Generation, onProgress: OnProgress): OnProgress {
  return (event) => onProgress({ ...event, generation });
}

/**
 * Runs work that cannot check the signal, such as a long SQL statement. A signal then ends the process at once, so the
 * work must be safe to cut off anywhere. @throws SvcError `interrupted` if a signal came before
 */
export type RunUninterruptible = <T>(work: () => T) => Promise<T>;

/** HTTP statuses of a server that refuses a parameter. */
export const REFUSED_STATUSES: readonly unknown[] = [400, 405, 422, 501];

/** HTTP statuses: if the server refuses its own cursor with one of these, the cursor has expired. */
export const EXPIRED_STATUSES: readonly unknown[] = [400, 404, 410, 422];

export interface Clock {
  now(): number;
}

export type Env = Readonly<Record<string, string | undefined>>;

/** How old the evidence may be where the configuration does not say it. */
export const DEFAULT_MAX_AGE_MS = 24 * 3_600_000;

export interface NamedCompanyPair {
  /** Line in the file, from 1. */
  readonly line: number;
  readonly region: string;
  readonly v3CompanyId: bigint;
  /** Null: the company is not in V4. */
  readonly v4CompanyId: bigint | null;
}

export interface Decision {
  /** Line in the file, from 1. */
  readonly line: number;
  readonly model: string;
  readonly path: string;
  readonly region: string;
  readonly v3CompanyId: bigint;
  /** Null: the V4 id has no V3 record. Never null together with `v4SvcId`. */
  readonly v3SvcId: bigint | null;
  /** Null: the V3 id has no V4 record. */
  readonly v4SvcId: bigint | null;
  readonly note: string;
  /** The decision holds before this day, UTC, as YYYY-MM-DD; null: for good. */
  readonly until: string | null;
}

export function isExpired({ until }: Pick<Decision, 'until'>, nowMs: number): boolean {
  return until !== null && nowMs >= Date.parse(until);
}

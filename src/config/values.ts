import { REASONS, STATUSES } from '../reasons.js';
import { toUrl } from '../text/to-url.js';
import * as z from '../zod.js';

/** Whether a host is this machine; plain http is always allowed there. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])\.?$/.test(hostname);
}

/** Placeholder host in the configuration written by `init`. */
export const PLACEHOLDER_HOST = 'fill-in.invalid';

/** The problem of a base URL, null if it is valid. Does not repeat the URL, which may contain a password. */
export function baseUrlProblem(text: string): string | null {
  const url = toUrl(text);
  if (url === null || !/^https?:$/.test(url.protocol) || !/^https?:\/\//i.test(text)) {
    return 'must be an absolute address such as "https://api.example.com"';
  }
  if (url.hostname === PLACEHOLDER_HOST)
    return 'is still a placeholder: replace it with the address of the service';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(text)) return 'must not hold a query or a fragment';
  return null;
}

/** V3 addresses by region; one address without a name is the region `default`. */
export function parseRegions(text: string): Record<string, string> {
  const named = text.split(',').map((part) => /^\s*(?:([\w-]+)=)?(.*?)\s*$/.exec(part) ?? []);
  return Object.fromEntries(named.map(([, region = 'default', url = '']) => [region, url]));
}

/** The problem of V3 addresses as `parseRegions` takes them. */
export function regionsProblem(text: string): string | null {
  const regions = parseRegions(text);
  if (Object.keys(regions).length < text.split(',').length)
    return 'must name each region once, as eu=https://…';
  return Object.values(regions).reduce<string | null>((found, url) => found ?? baseUrlProblem(url), null);
}

export function v4UrlProblem(text: string): string | null {
  return baseUrlProblem(text) ?? (/\/v4\/*$/i.test(text) ? 'must not end in /v4: it is added' : null);
}

const UNITS_MS = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);

/** Milliseconds of a duration such as `15m`, `24h` or `90d`; null for anything else. */
export function parseDuration(text: string): number | null {
  const [, amount, unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const unitMs = UNITS_MS.get(unit);
  return unitMs === undefined ? null : Math.round(Number(amount) * unitMs);
}

/** An ISO 8601 date (midnight UTC) or a time with its zone as ms since 1970; null for anything else. */
export function instantOf(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)) return null;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return null;
  // Date.parse reads 30 February as 1 March.
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text.slice(0, 10)) ? ms : null;
}

/** Names of limits besides statuses and reasons. */
const COUNTERS = ['rejected', 'short', 'unique_id_conflict', 'drift', 'decision_stale'] as const;

/** Everything that can be limited: all but `matched`, which is the goal. */
const LIMIT_NAMES: readonly string[] = [
  ...STATUSES.filter((status) => status !== 'matched'),
  ...REASONS,
  ...COUNTERS,
];

/** A limit: a count of rows, or a share of the rows with a V3 id in the same scope. */
export type LimitValue =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'percent'; readonly percent: number; readonly text: string };

const A_LIMIT = { error: 'must be a whole number of at least 0, or a share such as "2%" or "0.5%"' };

const A_COUNT = { error: 'must be a whole number of at least 0' };

const limitValue = z
  .union([z.int(A_LIMIT).min(0, A_LIMIT), z.string().regex(/^\d{1,3}(\.\d{1,9})?%$/, A_LIMIT)], A_LIMIT)
  .transform((value, context): LimitValue => {
    if (typeof value === 'number') return { kind: 'count', count: value };
    const percent = Number(value.slice(0, -1));
    if (percent > 100) context.addIssue('must not be above 100%');
    return { kind: 'percent', percent, text: value };
  });

/** The schema of each limit, by its name. */
export const limitsByName = Object.fromEntries(LIMIT_NAMES.map((name) => [name, limitValue.exactOptional()]));

/** A limit that can only be a count. */
export const countLimit = z
  .int(A_COUNT)
  .min(0, A_COUNT)
  .transform((count): LimitValue => ({ kind: 'count', count }));

import type { ErrorCode } from '../errors.js';
import type { AttemptOutcome } from './http.js';

/** Upper bound of the first backoff; it doubles with each attempt. */
const BASE_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;

/** What to do after an attempt, and the error code if it was the last. */
export type AttemptVerdict =
  | { readonly kind: 'parse' }
  | { readonly kind: 'retry'; readonly code: ErrorCode }
  | { readonly kind: 'fail'; readonly code: ErrorCode };

/** Whether the outcome is worth reading, worth another attempt, or final. */
export function classify(outcome: AttemptOutcome): AttemptVerdict {
  if (outcome.kind === 'answer') return classifyStatus(outcome.status);
  switch (outcome.failure) {
    case 'network':
      return { kind: 'retry', code: 'network' };
    case 'timeout':
      return { kind: 'retry', code: 'timeout' };
    case 'broken_body':
      return { kind: 'retry', code: 'bad_response' };
    case 'body_too_large':
      return { kind: 'fail', code: 'body_too_large' };
    case 'tls':
      return { kind: 'fail', code: 'network' };
    default:
      return outcome.failure satisfies never;
  }
}

function classifyStatus(status: number): AttemptVerdict {
  if (status === 200) return { kind: 'parse' };
  if (status < 300) return { kind: 'retry', code: 'bad_response' };
  if (status < 400) return { kind: 'fail', code: 'redirect' };
  if (status === 401 || status === 403) return { kind: 'fail', code: 'auth' };
  if (status === 408 || status === 429 || status >= 500) return { kind: 'retry', code: 'http_status' };
  return { kind: 'fail', code: 'http_status' };
}

/** If the server refuses its own cursor with one of these, the cursor has expired. */
export const EXPIRED_STATUSES: readonly unknown[] = [400, 404, 410, 422];

/** Exponential backoff with full jitter. `attempt` counts from 1. */
export function backoffMs(attempt: number, random: () => number): number {
  return Math.floor(random() * Math.min(MAX_BACKOFF_MS, BASE_BACKOFF_MS * 2 ** (attempt - 1)));
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';
const MONTH = `(?<month>${MONTHS.join('|')})`;
const TIME = '(?<hour>\\d{2}):(?<minute>\\d{2}):(?<second>\\d{2})';
/** The three forms of RFC 9110, section 5.6.7. */
const HTTP_DATES = [
  new RegExp(`^${DAY}, (?<day>\\d{2}) ${MONTH} (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^${LONG_DAY}, (?<day>\\d{2})-${MONTH}-(?<year>\\d{2}) ${TIME} GMT$`),
  new RegExp(`^${DAY} ${MONTH} (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];

/**
 * The wait that a Retry-After header asks for, in ms, from seconds or an HTTP date. Null if it is missing, invalid,
 * negative or in the past. `nowMs` is the server's time if known.
 */
export function parseRetryAfter(header: string | null, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Math.ceil(Number(text) * 1000), Number.MAX_SAFE_INTEGER);
  const at = parseHttpDate(text, nowMs);
  return at === null || at < nowMs ? null : Math.ceil(at - nowMs);
}

/** Parses an HTTP date; ms since 1970, or null. `nowMs` decides the century of a two-digit year. */
export function parseHttpDate(text: string, nowMs: number): number | null {
  for (const form of HTTP_DATES) {
    const parts = form.exec(text)?.groups;
    if (parts === undefined) continue;
    const month = MONTHS.indexOf(parts['month'] ?? '');
    const [day, hour, minute, second] = [parts['day'], parts['hour'], parts['minute'], parts['second']].map(
      Number,
    );
    const year = fullYear(parts['year'] ?? '', nowMs);
    const ms = Date.UTC(year, month, day, hour, minute, second);
    const isReal =
      new Date(ms).getUTCDate() === day && (hour ?? 24) < 24 && (minute ?? 60) < 60 && (second ?? 61) < 61;
    return isReal ? ms : null;
  }
  return null;
}

/** A two-digit year more than 50 years ahead is in the past (RFC 9110). */
function fullYear(text: string, nowMs: number): number {
  if (text.length === 4) return Number(text);
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = Math.floor(thisYear / 100) * 100 + Number(text);
  return year > thisYear + 50 ? year - 100 : year;
}

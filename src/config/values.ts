/** Whether a host is this machine; plain http is always allowed there. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname);
}

/** Placeholder host in the configuration written by `init`. */
export const PLACEHOLDER_HOST = 'fill-in.invalid';

/** The problem of a base URL, null if it is valid. Does not repeat the URL, which may contain a password. */
export function baseUrlProblem(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || !/^https?:\/\//i.test(text)) {
    return 'must be an absolute address such as "https://api.example.com"';
  }
  if (url.hostname === PLACEHOLDER_HOST)
    return 'is still a placeholder: replace it by the address of the service';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  if (url.search !== '' || url.hash !== '' || /[?#]/.test(text)) return 'must not hold a query or a fragment';
  return null;
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

/** Digits in groups of three: `1,234,567`. */
export function groupDigits(value: number | bigint): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${groupDigits(count)} ${count === 1 ? noun : plural}`;
}

/** A percentage rounded to one decimal. Only none is 0 %, only all are 100 %. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return '–';
  if (part === 0) return '0 %';
  if (part === whole) return '100 %';
  const share = (part / whole) * 100;
  if (share < 0.1) return '<0.1 %';
  return `${Math.min(share, 99.9).toFixed(1)} %`;
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** A duration in its two largest units: `2 d 3 h`, `4 min`; below a second `250 ms`. */
export function formatDuration(ms: number): string {
  let rest = Math.max(0, ms);
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const n = Math.floor(rest / size);
    rest -= n * size;
    if (n === 0) {
      if (parts.length > 0) break;
      continue;
    }
    parts.push(`${n} ${unit}`);
    if (parts.length === 2) break;
  }
  if (parts.length > 0) return parts.join(' ');
  return rest < 1 ? '0 s' : `${Math.floor(rest)} ms`;
}

/** `2026-11-20 14:10 UTC`; text that is not a date is returned unchanged. */
export function formatTime(iso: string): string {
  const ms = Date.parse(iso);
  if (Number.isNaN(ms)) return iso;
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

const BYTE_UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const;

/** `1.5 MiB`; below 1 KiB in bytes. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${groupDigits(value < 10 && unit > 0 ? Number(value.toFixed(1)) : Math.round(value))} ${BYTE_UNITS[unit]}`;
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

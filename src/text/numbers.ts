export function groupDigits(value: number | bigint): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

export function countOf(count: number, noun: string, plural = `${noun}s`): string {
  return `${groupDigits(count)} ${count === 1 ? noun : plural}`;
}

export function listFirst(names: readonly string[], max = 4, separator = ', '): string {
  const more = names.length - max;
  return [...names.slice(0, max), ...(more > 0 ? [`and ${groupDigits(more)} more`] : [])].join(separator);
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
  ['d', 86_400_000, Number.POSITIVE_INFINITY],
  ['h', 3_600_000, 24],
  ['min', 60_000, 60],
  ['s', 1000, 60],
] as const;

/** A duration in its two largest units: `2 d 3 h`, `4 min`; below a second `250 ms`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return ms < 1 ? '0 s' : `${Math.floor(ms)} ms`;
  const counts = UNITS.map(([unit, size, max]) => ({ unit, count: Math.floor(ms / size) % max }));
  const largest = counts.findIndex(({ count }) => count > 0);
  const shown = counts.slice(largest, largest + 2).filter(({ count }) => count > 0);
  return shown.map(({ unit, count }) => `${count} ${unit}`).join(' ');
}

/** `2026-11-20 14:10 UTC`; text that is not a date is returned unchanged. */
export function formatTime(iso: string): string {
  const ms = Date.parse(iso);
  if (Number.isNaN(ms)) return iso;
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

const BYTE_UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const;

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${groupDigits(value < 10 && unit > 0 ? Number(value.toFixed(1)) : Math.round(value))} ${BYTE_UNITS[unit]}`;
}

const UNITS_MS = new Map(Object.entries({ ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }));

/** Milliseconds of a duration such as `15m`, `24h` or `90d`; null for anything else. */
export function parseDuration(text: string): number | null {
  const [, amount, unit = ''] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text) ?? [];
  const unitMs = UNITS_MS.get(unit);
  return unitMs === undefined ? null : Math.round(Number(amount) * unitMs);
}

const UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of a duration such as `15m`, `24h` or `90d`; null where it is none. */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(text);
  const unit = UNITS_MS[match?.[2] ?? ''];
  return match === null || unit === undefined ? null : Math.round(Number(match[1]) * unit);
}

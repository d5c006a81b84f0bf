/** `YYYY-MM-DDThh:mm:ss.sssZ` with a day that every month has. */
const USUAL = /^\d{4}-\d\d-(?:[01]\d|2[0-8])T\d\d:\d\d:\d\d\.\d{3}Z$/;
const ISO_DATE =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?))?(?:[Zz]|([+-]\d\d)(?::?(\d\d))?)?$/;

/**
 * Parses an ISO 8601 date; returns ms since 1970, or NaN if it is invalid.
 *
 * `YYYY-MM-DD`, optionally with a time (`hh:mm`, seconds and a fraction of any length optional) and an offset (`Z`,
 * `+hh`, `+hhmm`, `+hh:mm`). The default time is midnight, the default offset UTC. Digits beyond the millisecond are
 * truncated. `Date.parse` takes 31 February for 3 March, and times without an offset for local time.
 */
export function parseIsoDate(text: string): number {
  // Most dates have this form, which needs no second look.
  if (USUAL.test(text)) return Date.parse(text);
  const [, date, time = '00:00', hours, minutes = '00'] = ISO_DATE.exec(text) ?? [];
  if (date === undefined || !isDay(date)) return Number.NaN;
  const offset = hours === undefined ? 'Z' : `${hours}:${minutes}`;
  return Date.parse(`${date}T${time.replace(',', '.')}${offset}`);
}

function isDay(date: string): boolean {
  const ms = Date.parse(date);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}

import { crc32 } from 'node:zlib';
import type { Members } from './exact-json.js';

/** The fields by which two records of one key are compared, besides the configured date fields. */
const FIELDS = [
  ...['platform_unique_id', 'posted_date', 'created_at', 'updated_at', 'org_created_at', 'fiscal_start_at'],
  ...['document_number', 'reference', 'code', 'name', 'legal_name', 'order_name', 'order_number'],
  ...['currency_id', 'base_currency', 'total_amount', 'remaining_credit', 'tax_amount', 'amount'],
  ...['amount_due', 'unit_price', 'sub_total', 'total_discount', 'shipping_amount'],
];

/** A digest of each compared field; 0 for a field without a value. */
export type RecordFacts = Int32Array;

export function comparedFields(dateFields: readonly string[]): readonly string[] {
  return [...new Set([...FIELDS, ...dateFields])];
}

export function digestFacts(record: object, fields: readonly string[]): RecordFacts {
  return Int32Array.from(fields, (field) => digestValue(Reflect.get(record, field)));
}

const DECIMAL = /^-?\d+\.\d+$/;

/** A digest by meaning: times by the second, `"1.50"` like `1.5`. 0 for no value, objects and lists. */
function digestValue(value: unknown): number {
  if (typeof value === 'number' || typeof value === 'boolean') return crc32(String(value)) | 1;
  if (typeof value !== 'string' || value === '') return 0;
  const ms = parseIsoDate(value);
  if (!Number.isNaN(ms)) return crc32(`time ${Math.floor(ms / 1000)}`) | 1;
  return crc32(DECIMAL.test(value) ? String(Number(value)) : value) | 1;
}

export function packFacts(facts: RecordFacts): Uint8Array {
  return new Uint8Array(facts.buffer);
}

export function unpackFacts(stored: Uint8Array): RecordFacts {
  return new Int32Array(Uint8Array.from(stored).buffer);
}

// Dates -----------------------------------------------------------------------------------------

export function readDate(value: unknown): number | null {
  const ms = typeof value === 'string' ? parseIsoDate(value) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

export function latestDate(record: Members, names: readonly string[]): number | null {
  let latest = Number.NaN;
  let latestText = '';
  for (const name of names) {
    const value = record[name];
    if (typeof value !== 'string') continue;
    // Dates of the usual form and one length compare as texts, which is faster than parsing them.
    if (value.length === latestText.length && value <= latestText && USUAL.test(value)) continue;
    const ms = parseIsoDate(value);
    if (Number.isNaN(ms) || ms <= latest) continue;
    latest = ms;
    latestText = USUAL.test(value) ? value : '';
  }
  return Number.isNaN(latest) ? null : latest;
}

/** `YYYY-MM-DDThh:mm:ssZ` or `YYYY-MM-DDThh:mm:ss.sssZ`, with a day that every month has. */
const USUAL = /^\d{4}-\d\d-(?:[01]\d|2[0-8])T\d\d:\d\d:\d\d(?:\.\d{3})?Z$/;
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

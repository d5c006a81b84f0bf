import { crc32 } from 'node:zlib';

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

const TIME = /^\d{4}-\d\d-\d\d(?:[T ]|$)/;
const DECIMAL = /^-?\d+\.\d+$/;

/** A digest by meaning: times by the second, `"1.50"` like `1.5`. 0 for no value, objects and lists. */
function digestValue(value: unknown): number {
  if (typeof value === 'number' || typeof value === 'boolean') return crc32(String(value)) | 1;
  if (typeof value !== 'string' || value === '') return 0;
  const ms = TIME.test(value) ? Date.parse(value) : Number.NaN;
  if (!Number.isNaN(ms)) return crc32(`time ${Math.floor(ms / 1000)}`) | 1;
  return crc32(DECIMAL.test(value) ? String(Number(value)) : value) | 1;
}

/** The facts as they are stored. */
export function packFacts(facts: RecordFacts): Uint8Array {
  return new Uint8Array(facts.buffer);
}

export function unpackFacts(stored: Uint8Array): RecordFacts {
  return new Int32Array(Uint8Array.from(stored).buffer);
}

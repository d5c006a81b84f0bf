/**
 * Digests of the fields by which companies are paired: some of the members of a record, see `member-digests.ts`. Times are
 * compared by the second.
 */

import { hasValue, LIST_WORDS } from './member-digests.js';

const FIELDS = [
  ...['platform_unique_id', 'posted_date', 'created_at', 'updated_at', 'org_created_at', 'fiscal_start_at'],
  ...['document_number', 'reference', 'code', 'name', 'legal_name', 'order_name', 'order_number'],
  ...[
    'currency_id',
    'base_currency',
    'total_amount',
    'remaining_credit',
    'tax_amount',
    'amount',
    'amount_due',
  ],
  ...['unit_price', 'sub_total', 'total_discount', 'shipping_amount'],
];

/** The fields that are compared. */
export function listFields(dateFields: readonly string[]): readonly string[] {
  return [...new Set([...FIELDS, ...dateFields])];
}

/** For each field, its place among the members of a record; -1 if it has none. Of members with one name, the last counts. */
export function placesOf(fields: readonly string[], names: readonly string[]): readonly number[] {
  return fields.map((field) => names.lastIndexOf(field));
}

/** The digest of the member at a place of the record whose words begin at `start`, 30 bits; 0 if it has no value. */
function digestAt(words: Buffer, start: number, place: number): number {
  const word = place < 0 ? 0 : words.readInt32LE(start + 4 * (LIST_WORDS + place));
  return hasValue(word) ? word >>> 2 : 0;
}

/** The digests of a record's fields, from its words. */
export function fieldDigestsOf(words: Buffer, places: readonly number[]): string {
  const digests = places.map((place) => digestAt(words, 0, place));
  return String.fromCharCode(...digests.flatMap((digest) => [digest >>> 15, digest & 0x7fff]));
}

/** A hash of the digests of a record's fields; 0 if none has a value. */
export function hashFields(words: Buffer, start: number, places: readonly number[]): number {
  let hash = 0;
  for (let field = 0; field < places.length; field++) {
    const digest = digestAt(words, start, places[field] ?? -1);
    if (digest === 0) continue;
    hash = Math.imul(hash ^ digest, 0x85ebca6b) + Math.imul(field + 1, 0x9e3779b1);
    hash = (hash ^ (hash >>> 15)) >>> 0;
  }
  return hash;
}

/** Characters of the digest of a field. */
const WIDTH = 2;

/** The fields that have a value, each with its digest. */
export function splitFieldDigests(
  digests: string,
): readonly { readonly field: number; readonly digest: string }[] {
  const fields = [];
  for (let field = 0; field * WIDTH < digests.length; field++) {
    const digest = digests.slice(field * WIDTH, (field + 1) * WIDTH);
    if (digest !== NONE) fields.push({ field, digest: `${field} ${digest}` });
  }
  return fields;
}

const NONE = '\0\0';

/** Compares the fields of two records: they agree if more than half of those that both have are equal. */
export function compareFieldDigests(a: string, b: string): 'agrees' | 'differs' | 'incomparable' {
  let [both, equal] = [0, 0];
  for (let at = 0; at < a.length; at += WIDTH) {
    const [one, other] = [a.slice(at, at + WIDTH), b.slice(at, at + WIDTH)];
    if (one === NONE || other === NONE) continue;
    both++;
    if (one === other) equal++;
  }
  if (both === 0) return 'incomparable';
  return equal * 2 > both ? 'agrees' : 'differs';
}

/**
 * Digests of the fields by which two records with the same key are compared.
 *
 * A digest string has seven base64url characters for each field of the record: two for its name and five (30 bits) for
 * its value. It is sorted by field. Amounts are compared as numbers (`"10.50"` equals `10.5`), dates as times to the
 * millisecond, everything else as text.
 */

import { OPEN_ARRAY, OPEN_OBJECT } from '../json/json-scanner.js';
import type { Members } from '../json/members.js';
import type { Texts } from '../json/record-columns.js';

/** A compared field. */
export interface DigestField {
  readonly name: string;
  readonly kind: 'text' | 'date' | 'amount';
  /** Two characters, derived from the name only, so that it does not depend on the configuration. */
  readonly code: string;
}

/** A compared field with its slot: the index of its member among those that are read. */
export type DigestedSlot = DigestField & { readonly slot: number };

const DATES = ['posted_date', 'created_at', 'updated_at', 'org_created_at', 'fiscal_start_at'];
const TEXTS = [
  'platform_unique_id',
  'document_number',
  'reference',
  'code',
  'name',
  'legal_name',
  'order_name',
  'order_number',
  'currency_id',
  'base_currency',
];
const AMOUNTS = [
  'total_amount',
  'remaining_credit',
  'tax_amount',
  'amount',
  'amount_due',
  'unit_price',
  'sub_total',
  'total_discount',
  'shipping_amount',
];

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const ALPHABET_BYTES = Buffer.from(ALPHABET, 'latin1');
const CODE_WIDTH = 2;
const DIGEST_WIDTH = 5;
const FIELD_WIDTH = CODE_WIDTH + DIGEST_WIDTH;

const SEED = { text: 0x811c9dc5, date: 0x1b873593, amount: 0x0cc9e2d5 } as const;
const DIGIT_ZERO = 0x30;
/** A number with a larger exponent is treated as text. */
const MAX_EXPONENT = 1_000_000_000;

/** The compared fields, sorted by code. A configured date field is omitted if its code is already used. */
export function digestFields(dateFields: readonly string[]): readonly DigestField[] {
  const byCode = new Map<string, DigestField>();
  const add = (names: readonly string[], kind: DigestField['kind']): void => {
    for (const name of names) {
      const code = codeOf(name);
      if (!byCode.has(code)) byCode.set(code, { name, kind, code });
    }
  };
  add(DATES, 'date');
  add(TEXTS, 'text');
  add(AMOUNTS, 'amount');
  add([...dateFields].sort(), 'date');
  return [...byCode.values()].sort((a, b) => (a.code < b.code ? -1 : 1));
}

function codeOf(name: string): string {
  const bytes = Buffer.from(name, 'utf8');
  const hash = digestText(bytes, 0, bytes.length);
  return `${ALPHABET[hash & 63]}${ALPHABET[(hash >>> 6) & 63]}`;
}

/** Digest of a text by its bytes. */
export function digestText(bytes: Uint8Array, start: number, end: number): number {
  let hash: number = SEED.text;
  for (let i = start; i < end; i++) hash = step(hash, bytes[i] ?? 0);
  return finish(hash);
}

function digestDate(ms: number): number {
  return finish(step(step(SEED.date, Math.floor(ms / 0x1_0000_0000)), ms | 0));
}

/** Digest of a decimal number by value, exact at any length; of the text if it is not a number. */
export function digestAmount(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  const sign = bytes[at] === 0x2d ? 1 : 0;
  if (sign === 1 || bytes[at] === 0x2b) at++;
  let hash: number = SEED.amount;
  let digits = 0;
  let zeros = 0;
  let significant = false;
  let exponent = 0;
  let inFraction = false;
  for (; at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === 0x2e && !inFraction) {
      inFraction = true;
      continue;
    }
    const digit = byte - DIGIT_ZERO;
    if (digit < 0 || digit > 9) break;
    digits++;
    if (inFraction) exponent--;
    if (digit === 0) {
      if (significant) zeros++;
      continue;
    }
    for (; zeros > 0; zeros--) hash = step(hash, 0);
    significant = true;
    hash = step(hash, digit);
  }
  const explicit = at === end ? 0 : readExponent(bytes, at, end);
  if (digits === 0 || explicit === null) return digestText(bytes, start, end);
  if (!significant) return finish(SEED.amount);
  return finish(step(step(hash, sign + 10), exponent + zeros + explicit));
}

function readExponent(bytes: Uint8Array, start: number, end: number): number | null {
  if (((bytes[start] ?? 0) | 0x20) !== 0x65) return null;
  let at = start + 1;
  const negative = bytes[at] === 0x2d;
  if (negative || bytes[at] === 0x2b) at++;
  if (at === end) return null;
  let value = 0;
  for (; at < end; at++) {
    const digit = (bytes[at] ?? 0) - DIGIT_ZERO;
    if (digit < 0 || digit > 9) return null;
    value = value * 10 + digit;
    if (value > MAX_EXPONENT) return null;
  }
  return negative ? -value : value;
}

/** FNV-1a. */
function step(hash: number, value: number): number {
  return Math.imul(hash ^ value, 0x01000193);
}

/** MurmurHash3's finalizer, reduced to 30 bits. */
function finish(hash: number): number {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 2;
}

/** Splits a digest string into fields; `digest` is the code and the value. */
export function splitFieldDigests(text: string): { readonly code: string; readonly digest: string }[] {
  const fields = [];
  for (let at = 0; at < text.length; at += FIELD_WIDTH) {
    fields.push({ code: text.slice(at, at + CODE_WIDTH), digest: text.slice(at, at + FIELD_WIDTH) });
  }
  return fields;
}

/** Compares two digest strings: they agree if more than half of their common fields are equal. */
export function compareFieldDigests(a: string, b: string): 'agrees' | 'differs' | 'incomparable' {
  let both = 0;
  let equal = 0;
  let inA = 0;
  let inB = 0;
  while (inA < a.length && inB < b.length) {
    const order = compareAt(a, inA, b, inB, CODE_WIDTH);
    if (order === 0) {
      both++;
      if (compareAt(a, inA + CODE_WIDTH, b, inB + CODE_WIDTH, DIGEST_WIDTH) === 0) equal++;
    }
    if (order <= 0) inA += FIELD_WIDTH;
    if (order >= 0) inB += FIELD_WIDTH;
  }
  if (both === 0) return 'incomparable';
  return equal * 2 > both ? 'agrees' : 'differs';
}

function compareAt(a: string, inA: number, b: string, inB: number, width: number): number {
  for (let i = 0; i < width; i++) {
    const order = a.charCodeAt(inA + i) - b.charCodeAt(inB + i);
    if (order !== 0) return order;
  }
  return 0;
}

/** Writes the digests of the record whose members were read last. */
export class DigestWriter {
  readonly #members: Members;
  readonly #uniqueId: number;
  readonly #fields: readonly DigestedSlot[];
  readonly #codes: Buffer;

  /** `uniqueId`: the slot of `platform_unique_id`. */
  constructor(
    { uniqueId, digested }: { readonly uniqueId: number; readonly digested: readonly DigestedSlot[] },
    members: Members,
  ) {
    this.#members = members;
    this.#uniqueId = uniqueId;
    this.#fields = digested;
    this.#codes = Buffer.from(digested.map(({ code }) => code).join(''), 'latin1');
  }

  /** `instants`: for each slot, its date in ms, NaN if it is not a date. */
  write(instants: Float64Array, texts: Texts): void {
    const fields = this.#fields;
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index];
      if (field === undefined || !this.#hasValue(field.slot)) continue;
      const at = texts.extend(FIELD_WIDTH);
      const { bytes } = texts;
      bytes[at] = this.#codes[index * CODE_WIDTH] ?? 0;
      bytes[at + 1] = this.#codes[index * CODE_WIDTH + 1] ?? 0;
      const digest = this.#digest(field.slot, field.kind, instants[field.slot] ?? Number.NaN);
      for (let i = 0; i < DIGEST_WIDTH; i++)
        bytes[at + CODE_WIDTH + i] = ALPHABET_BYTES[(digest >>> (6 * i)) & 63] ?? 0;
    }
  }

  /** False for null, arrays, objects and empty text. */
  #hasValue(slot: number): boolean {
    const first = this.#members.kind(slot);
    if (first === 0 || first === OPEN_ARRAY || first === OPEN_OBJECT) return false;
    return !this.#members.isEmptyText(slot) && (slot !== this.#uniqueId || this.#members.isKey(slot));
  }

  #digest(slot: number, kind: DigestField['kind'], instant: number): number {
    if (kind === 'date' && !Number.isNaN(instant)) return digestDate(instant);
    return this.#members.onScalar(slot, kind === 'amount' ? digestAmount : digestText);
  }
}

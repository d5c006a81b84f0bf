/**
 * Digests of the members of a record, by which two records are compared without reading their bodies.
 *
 * A record has 32 bits for each compared member, in the order of its members; the names are stored once for all records
 * with the same ones. Equal digests say that two values are the same by the rules of `match/compare-payloads.ts`, so values
 * are digested by meaning where that is unique: `"1.50"` like `1.5`, and times by their seconds. Different digests say
 * nothing: then the bodies decide. Two different values share a digest with a probability of 2^-30; nothing protects against
 * a service that looks for such values.
 */

import type { MemberColumn } from '../domain.js';
import {
  bufferOf,
  DOT,
  type JsonScanner,
  LETTER_N,
  MINUS,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  ZERO,
} from '../json/json-scanner.js';
import { KeyTable, type MemberObserver } from '../json/members.js';
import { parseIsoDate } from './iso-date.js';

/**
 * Fields that are not compared: those that the service adds on request, and the key, which both records share: it may be
 * text in one and a number beyond 2^53 in the other, and was compared exactly when they were matched.
 */
export const NOT_COMPARED: readonly string[] = ['raw_data', 'data_hash', 'platform_id'];

/** Words before the digests of a record: the number of its list of names. */
export const LIST_WORDS = 2;

/** Kinds of digests, in the lowest two bits; 0: of no time. */
const KIND = 3;
/** A time without a fraction of a second. */
const INSTANT = 1;
/** A time with the fraction 0. */
const WHOLE_SECOND = 2;
/** A time whose milliseconds follow the digests of the record. */
const FRACTION = 3;
/** The digest of a value that cannot be compared by it. */
const UNKNOWN = 0;

const SEED = { text: 0x3c6ef372, decimal: 0x1b873593, instant: 0x0cc9e2d5, other: 0x510e527f } as const;
/** More digits of a number, or more zeros, can be lost when it is rounded to a double. */
const EXACT_DIGITS = 15;
const EXACT_LENGTH = 32;
/** As many digits are below 2^31. */
const CHUNK_DIGITS = 9;
/** Values nested deeper have no digest. */
const MAX_DEPTH = 32;
/** Characters of a list of names; records with a longer one have no digests. */
const MAX_LIST_LENGTH = 65_536;
/** Members of a record, and records of a page, that have digests at most: more would fill the memory. */
const MAX_MEMBERS = 16_384;
const MAX_RECORDS = 100_000;

/** The compared members of a record in their order, as words with the number of the list of names. */
export interface MemberDigests {
  /** The digest at `place`. */
  readonly words: Int32Array;
  /** Position of the first digest of the record in `words`. */
  readonly first: number;
  /** Number of its digests. */
  readonly count: number;
}

/** Whether two members are the same as far as their digests tell. */
export function areEqualDigests(a: MemberDigests, placeA: number, b: MemberDigests, placeB: number): boolean {
  const [one = UNKNOWN, other = UNKNOWN] = [a.words[a.first + placeA], b.words[b.first + placeB]];
  if (one === UNKNOWN || (one ^ other) >>> 2 !== 0) return false;
  const [kind, otherKind] = [one & KIND, other & KIND];
  if (kind === FRACTION && otherKind === FRACTION)
    return millisecondsOf(a, placeA) === millisecondsOf(b, placeB);
  if (kind === otherKind) return true;
  // a time without a fraction is compared by the second
  return kind === INSTANT || otherKind === INSTANT;
}

function millisecondsOf({ words, first, count }: MemberDigests, place: number): number | undefined {
  let rank = 0;
  for (let at = 0; at < place; at++) if (((words[first + at] ?? 0) & KIND) === FRACTION) rank++;
  return words[first + count + rank];
}

/** Digests the members of the records of a page while they are scanned. */
export class MemberDigester implements MemberObserver {
  readonly #scanner: JsonScanner;
  readonly #view: DataView;
  readonly #prefix: Uint8Array;
  readonly #skipped: KeyTable;
  readonly #wanted: KeyTable | null;
  #words: Int32Array;
  /** Where the record that is scanned begins, and the end of its digests so far. */
  #start = 0;
  #length = 0;
  readonly #milliseconds: number[] = [];
  #nameHash = 0;
  #otherNameHash = 0;
  #ends = new Uint32Array(1024);
  #records = 0;
  readonly #lists = new Map<number, string>();
  /** After the container digested last. */
  #end = 0;
  #isTooDeep = false;

  /** `children`: the fields whose items have rows of their own in the remap. `fields`: the only fields; null: all. */
  constructor(
    scanner: JsonScanner,
    fieldPrefix: string,
    children: readonly string[],
    fields: readonly string[] | null,
  ) {
    this.#scanner = scanner;
    this.#view = viewOf(scanner.bytes);
    // enough for most pages
    this.#words = new Int32Array(64 + (scanner.bytes.length >> 8));
    this.#prefix = Buffer.from(fieldPrefix, 'utf8');
    this.#skipped = new KeyTable([...new Set([...children, ...NOT_COMPARED])]);
    this.#wanted = fields === null ? null : new KeyTable(fields);
  }

  clear(): void {
    this.#start = 0;
    this.#records = 0;
    this.#lists.clear();
  }

  take(): MemberColumn {
    return {
      words: this.#words.subarray(0, this.#start),
      ends: this.#ends.slice(0, this.#records),
      lists: this.#lists,
    };
  }

  nameOf(start: number, end: number): number {
    const { bytes } = this.#scanner;
    const isWanted = (this.#wanted?.find(bytes, start, end) ?? 0) >= 0;
    const isCompared = isWanted && !this.#isOfService(start) && this.#skipped.find(bytes, start, end) < 0;
    return isCompared ? hashBytes(this.#view, start, end, SEED.text) | 1 : 0;
  }

  begin(): void {
    this.#length = this.#start + LIST_WORDS;
    this.#milliseconds.length = 0;
    this.#nameHash = 0;
    this.#otherNameHash = 0;
  }

  add(name: number, first: number, start: number, end: number, escaped: boolean): void {
    this.#nameHash = Math.imul(this.#nameHash ^ name, 0x01000193);
    this.#otherNameHash = Math.imul(this.#otherNameHash + name, 0x85ebca6b) ^ (this.#otherNameHash >>> 15);
    if (this.#isTooWide()) return;
    if (this.#length >= this.#words.length) this.#grow();
    this.#words[this.#length++] =
      first === QUOTE ? this.#digestText(start + 1, end - 1, escaped) : this.#digestOther(first, start, end);
  }

  /** Keeps the digests of the record scanned last, whose brace is at `at`. */
  keep(at: number): void {
    const list = (this.#nameHash >>> 0) * 0x20_0000 + (this.#otherNameHash >>> 11);
    const isKept = !this.#isTooWide() && this.#records < MAX_RECORDS;
    if (isKept && this.#isListed(list, at)) {
      const milliseconds = this.#milliseconds;
      // there are no more of them than digests
      if (this.#length + milliseconds.length > this.#words.length) this.#grow();
      this.#words[this.#start] = this.#nameHash;
      this.#words[this.#start + 1] = this.#otherNameHash >>> 11;
      for (let index = 0; index < milliseconds.length; index++)
        this.#words[this.#length++] = milliseconds[index] ?? 0;
      this.#start = this.#length;
    }
    if (this.#records === this.#ends.length) {
      const longer = new Uint32Array(this.#ends.length * 2);
      longer.set(this.#ends);
      this.#ends = longer;
    }
    this.#ends[this.#records++] = this.#start;
  }

  #isTooWide(): boolean {
    return this.#length - this.#start - LIST_WORDS > MAX_MEMBERS;
  }

  /** Whether the names of the record at `at` are in the lists, or can be added. */
  #isListed(list: number, at: number): boolean {
    if (this.#lists.has(list)) return true;
    const names = this.#namesOf(at);
    if (names.length > MAX_LIST_LENGTH) return false;
    this.#lists.set(list, names);
    return true;
  }

  /** The names of the compared members, as JSON. */
  #namesOf(at: number): string {
    const scanner = this.#scanner;
    const bytes = bufferOf(scanner.bytes);
    const names: string[] = [];
    let i = scanner.enter(at);
    while (scanner.more) {
      const end = scanner.skipKey(i);
      if (this.nameOf(i + 1, end - 1) !== 0) names.push(bytes.toString('utf8', i, end));
      i = scanner.nextMember(scanner.skipValue(scanner.skipColon(end)));
    }
    return `[${names.join(',')}]`;
  }

  #isOfService(start: number): boolean {
    const prefix = this.#prefix;
    for (let i = 0; i < prefix.length; i++) if (this.#scanner.bytes[start + i] !== prefix[i]) return false;
    return true;
  }

  #digestText(start: number, end: number, escaped: boolean): number {
    const { bytes } = this.#scanner;
    if (!escaped) return this.#digestBytes(bytes, this.#view, start, end);
    const text = this.#scanner.text(start, end, true);
    // all lone surrogates have the same bytes
    if (/\p{Surrogate}/u.test(text)) return UNKNOWN;
    const own = Buffer.from(text, 'utf8');
    return this.#digestBytes(own, viewOf(own), 0, own.length);
  }

  #digestBytes(bytes: Uint8Array, view: DataView, start: number, end: number): number {
    const first = bytes[start] ?? 0;
    if (first <= NINE && first >= MINUS) {
      const decimal = digestDecimal(bytes, start, end, true);
      if (decimal !== null) return plain(decimal);
      const ms = parseIsoDate(bytes, start, end);
      if (!Number.isNaN(ms)) return this.#digestInstant(ms, bytes[start + FRACTION_AT] === DOT);
    }
    return plain(hashBytes(view, start, end, SEED.text));
  }

  #digestInstant(ms: number, hasFraction: boolean): number {
    const seconds = Math.floor(ms / 1000);
    const hash = finish(mix(mix(SEED.instant, seconds | 0), Math.floor(seconds / 0x1_0000_0000)));
    const fraction = ms - seconds * 1000;
    const kind = !hasFraction ? INSTANT : fraction === 0 ? WHOLE_SECOND : FRACTION;
    if (kind === FRACTION) this.#milliseconds.push(fraction);
    return (hash & ~KIND) | kind;
  }

  #digestOther(first: number, start: number, end: number): number {
    if (first === LETTER_N) return NULL;
    if (first !== OPEN_ARRAY && first !== OPEN_OBJECT) return plain(this.#digestLiteral(first, start, end));
    this.#isTooDeep = false;
    const hash = this.#digestContainer(start, 1);
    return this.#isTooDeep ? UNKNOWN : plain(hash);
  }

  #digestLiteral(first: number, start: number, end: number): number {
    const isNumber = first === MINUS || (first >= ZERO && first <= NINE);
    const decimal = isNumber ? digestDecimal(this.#scanner.bytes, start, end, false) : null;
    return decimal ?? hashBytes(this.#view, start, end, SEED.other);
  }

  /**
   * Digests a list or an object. Lists of scalars are compared regardless of order, and objects without the service's fields.
   * Otherwise, values inside are digested as they are written, in their order.
   */
  #digestContainer(at: number, depth: number): number {
    const scanner = this.#scanner;
    const { bytes } = scanner;
    const isObject = bytes[at] === OPEN_OBJECT;
    let [hash, sum, count, isNested] = [isObject ? 1 : 2, 0, 0, isObject];
    this.#isTooDeep ||= depth > MAX_DEPTH;
    let i = depth > MAX_DEPTH ? scanner.skipValue(at) : scanner.enter(at);
    while (depth <= MAX_DEPTH && scanner.more) {
      const nameAt = i;
      const nameEnd = isObject ? scanner.skipKey(i) : i;
      if (isObject) i = scanner.skipColon(nameEnd);
      const first = bytes[i] ?? 0;
      let value: number;
      let end: number;
      if (first === OPEN_ARRAY || first === OPEN_OBJECT) {
        value = this.#digestContainer(i, depth + 1);
        end = this.#end;
        isNested = true;
      } else {
        end = scanner.skipValue(i);
        value =
          first === QUOTE ? hashBytes(this.#view, i, end, SEED.text) : this.#digestLiteral(first, i, end);
      }
      if (!isObject || !this.#isOfService(nameAt + 1)) {
        if (isObject) hash = mix(hash, hashBytes(this.#view, nameAt, nameEnd, SEED.text));
        hash = mix(hash, value);
        sum = (sum + finish(value)) | 0;
        count++;
      }
      i = isObject ? scanner.nextMember(end) : scanner.nextItem(end);
    }
    this.#end = i;
    return finish(isNested ? hash : mix(mix(SEED.other, sum), count));
  }

  #grow(): void {
    const words = new Int32Array(2 * this.#words.length);
    words.set(this.#words);
    this.#words = words;
  }
}

const NINE = 0x39;
/** The place of the point in `2026-01-02T03:04:05.678Z`. */
const FRACTION_AT = 19;

/** The digests of null and of an empty text. */
const NULL = SEED.other & ~KIND;
const EMPTY = plain(finish(SEED.text));

/** Whether a digest is that of a value. */
export function hasValue(digest: number): boolean {
  return digest !== NULL && digest !== EMPTY;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function plain(hash: number): number {
  return hash & ~KIND;
}

/**
 * Digests a decimal by its value; null if the bytes are none, or if their value does not say all: two texts without a
 * point are compared as texts, and long numbers after rounding.
 */
function digestDecimal(bytes: Uint8Array, start: number, end: number, isText: boolean): number | null {
  const first = bytes[start] === MINUS ? start + 1 : start;
  let hash: number = SEED.decimal;
  // the last significant digits as a number
  let chunk = 0;
  let digits = 0;
  let zeros = 0;
  let point = -1;
  let at = first;
  for (; at < end; at++) {
    const byte = bytes[at] ?? 0;
    const digit = byte - ZERO;
    if (byte === DOT && point < 0 && at > first) point = at;
    else if (digit < 0 || digit > 9) break;
    else if (digit === 0 && digits === 0) continue;
    else if (digit === 0) zeros++;
    else {
      for (; zeros >= 0; zeros--) {
        if (digits % CHUNK_DIGITS === 0) {
          hash = mix(hash, chunk);
          chunk = 0;
        }
        chunk = chunk * 10 + (zeros === 0 ? digit : 0);
        digits++;
      }
      zeros = 0;
    }
  }
  const hasLeadingZero = bytes[first] === ZERO && at > first + 1 && point !== first + 1;
  if (at === point + 1 || hasLeadingZero) return null;
  const exponent = at === end ? 0 : isText && point >= 0 ? readExponent(bytes, at, end) : null;
  const isRounded = !isText && (digits > EXACT_DIGITS || end - start > EXACT_LENGTH);
  if (exponent === null || isRounded) return null;
  if (digits === 0) return isText && point < 0 && first > start ? null : finish(SEED.decimal);
  const places = point < 0 ? 0 : at - point - 1;
  hash = mix(mix(hash, chunk), 2 * digits + first - start);
  return finish(mix(hash, exponent + zeros - places));
}

function readExponent(bytes: Uint8Array, start: number, end: number): number | null {
  const found = /^[eE]([+-]?\d{1,4})$/.exec(Buffer.from(bytes.subarray(start, end)).toString('latin1'));
  return found === null ? null : Number(found[1]);
}

function hashBytes(view: DataView, start: number, end: number, seed: number): number {
  const length = end - start;
  let hash = seed ^ length;
  const last = end - 4;
  let at = start;
  for (; at <= last; at += 4) hash = mix(hash, view.getInt32(at, true));
  // the last four bytes may overlap those before
  if (length > 4 && at < end) hash = mix(hash, view.getInt32(last, true));
  else for (; at < end; at++) hash = mix(hash, view.getUint8(at));
  return finish(hash);
}

/** MurmurHash3's step. */
function mix(hash: number, value: number): number {
  const k = Math.imul(value, 0xcc9e2d51);
  const h = hash ^ Math.imul((k << 15) | (k >>> 17), 0x1b873593);
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
}

/** MurmurHash3's finalizer. */
function finish(hash: number): number {
  let h = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

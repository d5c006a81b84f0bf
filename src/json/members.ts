import { MAX_INT64, MIN_INT64 } from '../domain.js';
import { type JsonScanner, LETTER_N, MINUS, QUOTE, ZERO } from './json-scanner.js';

/** Reads the value at `at` of the member `slot` and returns its end. */
type ReadValue = (slot: number, at: number) => number;

/** Sees the members of an object while they are scanned. */
export interface MemberObserver {
  begin(): void;
  /** A number for the name at bytes `start` to `end`; 0: its values are not of interest. */
  nameOf(start: number, end: number): number;
  /** Called for each member of interest; `first` is the first byte of its value. */
  add(name: number, first: number, start: number, end: number, escaped: boolean): void;
}

/** Locates the wanted members of an object. The last of duplicate keys counts, as with `JSON.parse`. */
export class Members {
  readonly #scanner: JsonScanner;
  readonly #keys: KeyReader;
  /** First bytes of the values, 0 where a member is absent. */
  readonly #firsts: Uint8Array;
  readonly #starts: Int32Array;
  readonly #ends: Int32Array;
  readonly #escaped: Uint8Array;
  readonly #observer: MemberObserver | null;

  constructor(table: KeyTable, scanner: JsonScanner, observer: MemberObserver | null = null) {
    this.#scanner = scanner;
    this.#observer = observer;
    this.#keys = new KeyReader(table, scanner, observer);
    this.#firsts = new Uint8Array(table.names.length);
    this.#starts = new Int32Array(table.names.length);
    this.#ends = new Int32Array(table.names.length);
    this.#escaped = new Uint8Array(table.names.length);
  }

  /**
   * Scans the object whose brace is at `at` and returns its end. `readValue` reads the values of slots from
   * `firstNested` on; it is called for duplicate keys too.
   */
  read(at: number, firstNested: number, readValue: ReadValue | null): number {
    const scanner = this.#scanner;
    const { bytes } = scanner;
    const keys = this.#keys;
    const observer = this.#observer;
    observer?.begin();
    // for an array this short, `fill` is slower
    const firsts = this.#firsts;
    for (let slot = 0; slot < firsts.length; slot++) firsts[slot] = 0;
    let i = scanner.enter(at);
    for (let place = 0; scanner.more; place++) {
      const start = keys.read(i, place);
      const slot = keys.slot;
      const wanted = readValue !== null && slot >= firstNested;
      const first = bytes[start] ?? 0;
      if (wanted) i = readValue(slot, start);
      else i = first === QUOTE ? scanner.skipString(start + 1) : scanner.skipValue(start);
      if (slot >= 0) {
        firsts[slot] = first;
        this.#starts[slot] = start;
        this.#ends[slot] = i;
        this.#escaped[slot] = first === QUOTE && scanner.escaped ? 1 : 0;
      }
      if (keys.name !== 0) observer?.add(keys.name, first, start, i, scanner.escaped);
      i = scanner.nextMember(i);
    }
    return i;
  }

  /** The first byte of the value, or 0 if the member is absent or null. */
  kind(slot: number): number {
    const first = this.#firsts[slot] ?? 0;
    return first === LETTER_N ? 0 : first;
  }

  isAbsent(slot: number): boolean {
    return this.#firsts[slot] === 0;
  }

  /** Position of the value's first byte; valid only if the member is present. */
  start(slot: number): number {
    return this.#starts[slot] ?? -1;
  }

  /** Position after the value. */
  end(slot: number): number {
    return this.#ends[slot] ?? -1;
  }

  /** Whether the value is a string that contains a backslash. */
  isEscaped(slot: number): boolean {
    return this.#firsts[slot] === QUOTE && this.#escaped[slot] === 1;
  }

  isEmptyText(slot: number): boolean {
    return this.end(slot) - this.start(slot) === 2 && this.kind(slot) === QUOTE;
  }

  /** The exact value of an integer literal within signed 64 bits; null for any other value. */
  integer(slot: number): bigint | null {
    return this.isAbsent(slot) ? null : parseInt64(this.#scanner.bytes, this.start(slot), this.end(slot));
  }

  /** Whether the member can be a join key: a non-empty string of valid Unicode, or an integer literal. */
  isKey(slot: number): boolean {
    const kind = this.kind(slot);
    if (kind === 0) return false;
    if (kind !== QUOTE) return isIntegerLiteral(this.#scanner.bytes, this.start(slot), this.end(slot));
    if (this.isEmptyText(slot)) return false;
    // in valid UTF-8, a lone surrogate can only come from an escape
    return !this.isEscaped(slot) || !/\p{Surrogate}/u.test(this.text(slot));
  }

  /** The join key: the text of a string, or an integer literal as written; null if the member is no key. */
  key(slot: number): string | null {
    if (!this.isKey(slot)) return null;
    if (this.kind(slot) === QUOTE) return this.text(slot);
    return this.#scanner.ascii(this.start(slot), this.end(slot));
  }

  /** The value of a string member. */
  text(slot: number): string {
    return this.#scanner.text(this.start(slot) + 1, this.end(slot) - 1, this.isEscaped(slot));
  }

  /** Calls `read` with the bytes of a scalar: a string unescaped and without quotes, or a literal as written. */
  onScalar<T>(slot: number, read: (bytes: Uint8Array, start: number, end: number) => T): T {
    if (this.isEscaped(slot)) {
      const bytes = Buffer.from(this.text(slot), 'utf8');
      return read(bytes, 0, bytes.length);
    }
    const { bytes } = this.#scanner;
    const quote = bytes[this.start(slot)] === QUOTE ? 1 : 0;
    return read(bytes, this.start(slot) + quote, this.end(slot) - quote);
  }
}

/** Maximum number of keys of an object that are remembered. */
const MAX_PLACES = 128;

/**
 * Reads the keys of objects. The objects of a list mostly have the same keys in the same order, so each key is compared
 * with the one at the same place of the previous object, and scanned only if it differs: a page is parsed in four fifths
 * of the time.
 */
class KeyReader {
  /** The slot of the key read last, or -1. */
  slot = -1;
  /** What the observer calls it; 0 without one. */
  name = 0;
  readonly #table: KeyTable;
  readonly #scanner: JsonScanner;
  readonly #observer: MemberObserver | null;
  readonly #view: DataView;
  readonly #byteLength: number;
  /** For each place, the bytes from the key's opening quote to its value, its slot and its name. */
  readonly #starts = new Int32Array(MAX_PLACES);
  readonly #lengths = new Int32Array(MAX_PLACES);
  readonly #slots = new Int32Array(MAX_PLACES);
  readonly #names = new Int32Array(MAX_PLACES);

  constructor(table: KeyTable, scanner: JsonScanner, observer: MemberObserver | null) {
    this.#observer = observer;
    this.#table = table;
    this.#scanner = scanner;
    const { buffer, byteOffset, byteLength } = scanner.bytes;
    this.#view = new DataView(buffer, byteOffset, byteLength);
    this.#byteLength = byteLength;
  }

  /** Reads the key at `at`, the `place`th of its object, sets `slot`, and returns the position of the value. */
  read(at: number, place: number): number {
    const length = this.#lengths[place] ?? 0;
    // before the value there can be more space than before the earlier one
    const isValue = (this.#scanner.bytes[at + length] ?? 0) > 0x20;
    if (length > 0 && isValue && this.#repeats(this.#starts[place] ?? 0, at, length)) {
      this.slot = this.#slots[place] ?? -1;
      this.name = this.#names[place] ?? 0;
      return at + length;
    }
    const scanner = this.#scanner;
    const end = scanner.skipKey(at);
    this.slot = scanner.escaped
      ? this.#table.findText(scanner.text(at + 1, end - 1, true))
      : this.#table.find(scanner.bytes, at + 1, end - 1);
    this.name = this.#observer?.nameOf(at + 1, end - 1) ?? 0;
    const valueStart = scanner.skipColon(end);
    if (place < MAX_PLACES) {
      this.#starts[place] = at;
      this.#lengths[place] = valueStart - at;
      this.#slots[place] = this.slot;
      this.#names[place] = this.name;
    }
    return valueStart;
  }

  #repeats(before: number, at: number, length: number): boolean {
    const view = this.#view;
    if (length < 4 || at + length > this.#byteLength) return false;
    // four bytes at a time; the last four may overlap those before
    const last = length - 4;
    for (let i = 0; i < last; i += 4) {
      if (view.getInt32(before + i) !== view.getInt32(at + i)) return false;
    }
    return view.getInt32(before + last) === view.getInt32(at + last);
  }
}

/** A set of member names that finds a name by its bytes, without creating a string. */
export class KeyTable {
  readonly names: readonly string[];
  readonly #bytes: readonly Uint8Array[];
  /** For each hash, 1 + the first slot with that hash; 0 for none. */
  readonly #heads = new Uint8Array(256);
  /** For each slot, 1 + the next slot with the same hash; 0 for none. */
  readonly #followers: Uint8Array;
  readonly #slots: ReadonlyMap<string, number>;

  /** At most 254 distinct names; the index of a name is its slot. */
  constructor(names: readonly string[]) {
    if (names.length > 254) throw new RangeError('too many names for one table');
    this.names = names;
    this.#bytes = names.map((name) => Buffer.from(name, 'utf8'));
    this.#followers = new Uint8Array(names.length);
    this.#slots = new Map(names.map((name, slot) => [name, slot]));
    for (const [slot, bytes] of this.#bytes.entries()) {
      const hash = hashOf(bytes, 0, bytes.length);
      this.#followers[slot] = this.#heads[hash] ?? 0;
      this.#heads[hash] = slot + 1;
    }
  }

  /** The slot of the name whose bytes are `bytes[start, end)`, or -1. */
  find(bytes: Uint8Array, start: number, end: number): number {
    let next = this.#heads[hashOf(bytes, start, end)] ?? 0;
    while (next !== 0) {
      const slot = next - 1;
      const name = this.#bytes[slot];
      if (name !== undefined && sameBytes(name, bytes, start, end)) return slot;
      next = this.#followers[slot] ?? 0;
    }
    return -1;
  }

  /** The slot of a name that had to be unescaped, or -1. */
  findText(name: string): number {
    return this.#slots.get(name) ?? -1;
  }
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  if (end === start) return 0;
  const first = bytes[start] ?? 0;
  const middle = bytes[(start + end) >> 1] ?? 0;
  const last = bytes[end - 1] ?? 0;
  return (first * 3 + middle * 7 + last * 31 + (end - start) * 67) & 255;
}

function sameBytes(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (name[i] !== bytes[start + i]) return false;
  return true;
}

/** Every integer of up to 15 digits is exact as a JavaScript number. */
const EXACT_DIGITS = 15;

function parseInt64(bytes: Uint8Array, start: number, end: number): bigint | null {
  if (!isIntegerLiteral(bytes, start, end)) return null;
  const first = bytes[start] === MINUS ? start + 1 : start;
  if (end - first > EXACT_DIGITS) return parseLong(bytes, start, end);
  let value = 0;
  for (let i = first; i < end; i++) value = value * 10 + (bytes[i] ?? 0) - ZERO;
  return BigInt(first === start ? value : -value);
}

/** A non-negative integer literal of at most 15 digits as a number, or -1. */
export function parseSmallId(bytes: Uint8Array, start: number, end: number): number {
  if (end - start > EXACT_DIGITS) return -1;
  let value = 0;
  for (let i = start; i < end; i++) {
    const digit = (bytes[i] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

function parseLong(bytes: Uint8Array, start: number, end: number): bigint | null {
  // JSON allows no leading zeros, so a longer literal exceeds 64 bits
  if (end - start > 20) return null;
  const value = BigInt(Buffer.from(bytes.subarray(start, end)).toString('latin1'));
  return value < MIN_INT64 || value > MAX_INT64 ? null : value;
}

/** Whether a valid JSON value is an integer without fraction or exponent. */
function isIntegerLiteral(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] === MINUS ? start + 1 : start;
  for (let i = first; i < end; i++) {
    const digit = (bytes[i] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return false;
  }
  return first < end;
}

import { isAscii } from 'node:buffer';
import { Texts } from '../json/record-columns.js';

/** An id of a row: a bigint only beyond 2^53, because other numbers need no object. */
export type RowId = number | bigint;

export function rowIdOf(id: bigint): RowId {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : id;
}

/** Null comes first, as in SQLite. */
export function compareIds(a: RowId | null, b: RowId | null): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  return a < b ? -1 : 1;
}

/** Stands for no key; it is not UTF-8. */
const NO_KEY = Buffer.of(0xff);
/** Numbers of a row: its ids, and of a child the row and the id of the record that holds it. */
const [V3, V4, PARENT, HOLDER, NUMBERS] = [0, 1, 2, 3, 4];
/** Words of a row: its group, and where its key ends. */
const [GROUP, KEY_END, WORDS] = [0, 1, 2];
/** Bytes before the numbers of stored rows: the number of rows, and the length of their keys. */
const HEAD = 8;
const FIRST_ROWS = 64;

/** Rows of the remap by column, because as objects they would be most of what garbage collection copies. */
export class RowColumns {
  length = 0;
  /** JSON by position, for rows with evidence. */
  #evidence = new Map<number, string>();
  /** Ids beyond 2^53 by their place in `#numbers`, where they are NaN, as is null. */
  #large = new Map<number, bigint>();
  #numbers = new Float64Array(NUMBERS * FIRST_ROWS);
  #words = new Uint32Array(WORDS * FIRST_ROWS);
  readonly #keys = new Texts(16 * FIRST_ROWS);
  /** All keys; null if they are not ASCII, undefined before they are decoded. */
  #text: string | null | undefined;

  /** `parent` and `holder`: of a child, the row and the id of the record that holds it. */
  add(
    group: number,
    key: string | null,
    v3: RowId | null,
    v4: RowId | null,
    evidence: string | null,
    parent: number | null,
    holder: RowId | null,
  ): void {
    const bytes = key === null ? NO_KEY : Buffer.from(key);
    this.addBytes(group, bytes, 0, bytes.length, v3, v4, evidence, parent, holder);
  }

  /** Adds a row whose key is bytes `start` to `end`. */
  addBytes(
    group: number,
    bytes: Uint8Array,
    start: number,
    end: number,
    v3: RowId | null,
    v4: RowId | null,
    evidence: string | null,
    parent: number | null,
    holder: RowId | null,
  ): void {
    const at = this.length++;
    if (WORDS * at === this.#words.length) this.#lengthen();
    this.#keys.copy(bytes, start, end);
    this.#text = undefined;
    this.#words[WORDS * at + GROUP] = group;
    this.#words[WORDS * at + KEY_END] = this.#keys.length;
    this.#setId(NUMBERS * at + V3, v3);
    this.#setId(NUMBERS * at + V4, v4);
    this.#setId(NUMBERS * at + PARENT, parent);
    this.#setId(NUMBERS * at + HOLDER, holder);
    if (evidence !== null) this.#evidence.set(at, evidence);
  }

  /** Adds a row of others. */
  copy(from: RowColumns, at: number): void {
    this.addBytes(
      from.group(at),
      from.#keys.bytes,
      from.#keyStart(at),
      from.#keyEnd(at),
      from.v3(at),
      from.v4(at),
      from.evidence(at),
      from.parent(at),
      from.#idAt(NUMBERS * at + HOLDER),
    );
  }

  clear(): void {
    this.length = 0;
    this.#keys.clear();
    this.#evidence.clear();
    this.#large.clear();
  }

  group(at: number): number {
    return this.#words[WORDS * at + GROUP] ?? 0;
  }

  v3(at: number): RowId | null {
    return this.#idAt(NUMBERS * at + V3);
  }

  v4(at: number): RowId | null {
    return this.#idAt(NUMBERS * at + V4);
  }

  parent(at: number): number | null {
    const parent = this.#numbers[NUMBERS * at + PARENT] ?? Number.NaN;
    return Number.isNaN(parent) ? null : parent;
  }

  evidence(at: number): string | null {
    return this.#evidence.size === 0 ? null : (this.#evidence.get(at) ?? null);
  }

  key(at: number): string | null {
    this.#text ??= this.#decode();
    const [start, end] = [this.#keyStart(at), this.#keyEnd(at)];
    if (this.#text !== null) return this.#text.slice(start, end);
    const bytes = this.#keys.bytes.subarray(start, end);
    return bytes[0] === NO_KEY[0] ? null : Buffer.from(bytes).toString();
  }

  /** Compares two rows by their ids, and then by those of the records that hold them. */
  compare(at: number, others: RowColumns, otherAt: number): number {
    const [place, otherPlace] = [NUMBERS * at, NUMBERS * otherAt];
    return (
      compareIds(this.#idAt(place + V3), others.#idAt(otherPlace + V3)) ||
      compareIds(this.#idAt(place + V4), others.#idAt(otherPlace + V4)) ||
      compareIds(this.#idAt(place + HOLDER), others.#idAt(otherPlace + HOLDER))
    );
  }

  toBytes(): Buffer {
    const { bytes, length } = this.#keys;
    const rare = [[...this.#evidence], [...this.#large].map(([place, id]) => [place, String(id)])];
    return Buffer.concat([
      bytesOf(Uint32Array.of(this.length, length)),
      bytesOf(this.#numbers.subarray(0, NUMBERS * this.length)),
      bytesOf(this.#words.subarray(0, WORDS * this.length)),
      bytes.subarray(0, length),
      Buffer.from(JSON.stringify(rare)),
    ]);
  }

  /** Reads the result of `toBytes`. */
  static from(bytes: Buffer): RowColumns {
    // copied, because numbers must begin at a multiple of 8
    const { buffer } = new Uint8Array(bytes);
    const [length = 0, keyBytes = 0] = new Uint32Array(buffer, 0, 2);
    const rows = new RowColumns();
    rows.length = length;
    rows.#numbers = new Float64Array(buffer, HEAD, NUMBERS * length);
    const wordsAt = HEAD + rows.#numbers.byteLength;
    rows.#words = new Uint32Array(buffer, wordsAt, WORDS * length);
    const keysAt = wordsAt + rows.#words.byteLength;
    rows.#keys.bytes = new Uint8Array(buffer, keysAt, keyBytes);
    rows.#keys.length = keyBytes;
    const [evidence, large] = JSON.parse(bytes.toString('utf8', keysAt + keyBytes));
    rows.#evidence = new Map(evidence);
    for (const [place, id] of large) rows.#large.set(place, BigInt(id));
    return rows;
  }

  #decode(): string | null {
    const { bytes, length } = this.#keys;
    const keys = Buffer.from(bytes.buffer, bytes.byteOffset, length);
    return isAscii(keys) ? keys.toString('latin1') : null;
  }

  #keyStart(at: number): number {
    return at === 0 ? 0 : this.#keyEnd(at - 1);
  }

  #keyEnd(at: number): number {
    return this.#words[WORDS * at + KEY_END] ?? 0;
  }

  #idAt(place: number): RowId | null {
    const number = this.#numbers[place] ?? Number.NaN;
    if (!Number.isNaN(number)) return number;
    return this.#large.size === 0 ? null : (this.#large.get(place) ?? null);
  }

  #setId(place: number, id: RowId | null): void {
    this.#numbers[place] = typeof id === 'number' ? id : Number.NaN;
    if (typeof id === 'bigint') this.#large.set(place, id);
  }

  #lengthen(): void {
    const [numbers, words] = [this.#numbers, this.#words];
    this.#numbers = new Float64Array(2 * numbers.length);
    this.#numbers.set(numbers);
    this.#words = new Uint32Array(2 * words.length);
    this.#words.set(words);
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float64Array | Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

import { isAscii } from 'node:buffer';
import type { MemberColumn, ParsedRecord, RecordColumns } from '../domain.js';

/** Flags of a record. */
export const IS_DELETED = 1;
/** `latestMs` comes from a platform date. */
export const FROM_PLATFORM = 2;

/** Entries of `numbers` for one record. */
const NUMBERS = 10;
/** Records that a page has room for at first. */
const FIRST_RECORDS = 128;

/** Builds the columns of one page, record by record. */
export class ColumnWriter {
  /** The texts of the current record, in order; call `endText` after each. */
  readonly texts = new Texts(16_384);
  readonly #body: Uint8Array;
  #ids = new BigInt64Array(2 * FIRST_RECORDS);
  #numbers = new Float64Array(NUMBERS * FIRST_RECORDS);
  #length = 0;
  /** The next entry of `#numbers`. */
  #next = 0;

  constructor(body: Uint8Array) {
    this.#body = body;
  }

  /** Removes all records. */
  clear(): void {
    this.texts.length = 0;
    this.#length = 0;
    this.#next = 0;
  }

  /** Begins a record at bytes `start` to `end` of the body. */
  begin(svcId: bigint, companyId: bigint, start: number, end: number): void {
    const at = this.#length * 2;
    if (at === this.#ids.length) this.#grow(start);
    this.#ids[at] = svcId;
    this.#ids[at + 1] = companyId;
    this.#push(start);
    this.#push(end);
    this.#push(this.texts.length);
  }

  endText(): void {
    this.#push(this.texts.length);
  }

  /** Ends the record, after its last text. Times are in ms since 1970, NaN for none. */
  end(flags: number, updatedMs: number, latestMs: number, createdMs: number): void {
    this.#push(flags);
    this.#push(updatedMs);
    this.#push(latestMs);
    this.#push(createdMs);
    this.#length++;
  }

  take(members: MemberColumn | null = null): RecordColumns {
    return {
      members,
      length: this.#length,
      ids: this.#ids.subarray(0, 2 * this.#length),
      numbers: this.#numbers.subarray(0, NUMBERS * this.#length),
      texts: this.texts.bytes.subarray(0, this.texts.length),
      body: this.#body,
    };
  }

  #push(number: number): void {
    this.#numbers[this.#next++] = number;
  }

  /** Makes room for the whole page, estimated from the records before `start`; unused room takes no memory. */
  #grow(start: number): void {
    const expected = Math.ceil((1.1 * this.#length * this.#body.length) / Math.max(start, 1));
    const records = Math.max(2 * this.#length, expected);
    const [ids, numbers] = [this.#ids, this.#numbers];
    this.#ids = new BigInt64Array(2 * records);
    this.#numbers = new Float64Array(NUMBERS * records);
    this.#ids.set(ids);
    this.#numbers.set(numbers);
  }
}

/** The records as objects; `raw` is a view of the body. */
export function recordsOf({ length, ids, numbers, texts, body, members }: RecordColumns): ParsedRecord[] {
  const bytes = Buffer.from(texts.buffer, texts.byteOffset, texts.byteLength);
  // ASCII texts are decoded once and sliced, which is faster than decoding each
  const ascii = isAscii(texts) ? bytes.toString('latin1') : null;
  const textAt = (index: number): string => {
    const [start = 0, end = 0] = [numbers[index], numbers[index + 1]];
    return ascii === null ? bytes.toString('utf8', start, end) : ascii.slice(start, end);
  };
  const instantAt = (index: number): number | null => {
    const ms = numbers[index] ?? Number.NaN;
    return Number.isNaN(ms) ? null : ms;
  };
  const records: ParsedRecord[] = [];
  for (let at = 0; at < length; at++) {
    const first = at * NUMBERS;
    const flags = numbers[first + 6] ?? 0;
    const latestMs = instantAt(first + 8);
    const ofService = latestMs === null ? null : 'service';
    records.push({
      svcId: ids[at * 2] ?? 0n,
      companyId: ids[at * 2 + 1] ?? 0n,
      platformId: textAt(first + 2) || null,
      platformUniqueId: textAt(first + 3) || null,
      deleted: (flags & IS_DELETED) !== 0,
      updatedMs: instantAt(first + 7),
      latestMs,
      latestFrom: (flags & FROM_PLATFORM) === 0 ? ofService : 'platform',
      createdMs: instantAt(first + 9),
      children: textAt(first + 4) || null,
      members: members === null ? null : membersAt(members, at),
      raw: body.subarray(numbers[first], numbers[first + 1]),
    });
  }
  return records;
}

function membersAt({ words, ends, lists }: MemberColumn, at: number): ParsedRecord['members'] {
  const [start = 0, end = 0] = [at === 0 ? 0 : ends[at - 1], ends[at]];
  if (start === end) return null;
  const names = lists.get(listNumber(words, start));
  return names === undefined ? null : { names, words: words.subarray(start, end) };
}

/** The number of the list of names of a record whose words begin at `start`. */
export function listNumber(words: Int32Array, start: number): number {
  return ((words[start] ?? 0) >>> 0) * 0x20_0000 + (words[start + 1] ?? 0);
}

/** Bytes from which `Uint8Array.set` is faster than a loop. */
const LONG_PIECE = 96;

/** Maximum capacity that `clear` keeps. */
const MAX_KEPT_BYTES = 65_536;

/** A growing buffer of UTF-8 text. */
export class Texts {
  bytes: Uint8Array;
  length = 0;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
  }

  /** Removes all bytes and shrinks an unusually large buffer. */
  clear(): void {
    this.length = 0;
    if (this.bytes.length > MAX_KEPT_BYTES) this.bytes = new Uint8Array(MAX_KEPT_BYTES);
  }

  /** Appends the bytes `start` to `end` of `source`. */
  copy(source: Uint8Array, start: number, end: number): void {
    this.#reserve(end - start);
    if (end - start > LONG_PIECE) {
      this.bytes.set(source.subarray(start, end), this.length);
      this.length += end - start;
      return;
    }
    const { bytes } = this;
    let at = this.length;
    for (let i = start; i < end; i++) bytes[at++] = source[i] ?? 0;
    this.length = at;
  }

  byte(byte: number): void {
    this.#reserve(1);
    this.bytes[this.length++] = byte;
  }

  text(text: string): void {
    const bytes = Buffer.from(text, 'utf8');
    this.copy(bytes, 0, bytes.length);
  }

  #reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const wider = new Uint8Array(Math.max(this.bytes.length * 2, this.length + count));
    wider.set(this.bytes.subarray(0, this.length));
    this.bytes = wider;
  }
}

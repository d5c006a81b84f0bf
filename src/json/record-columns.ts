import { isAscii } from 'node:buffer';
import type { ParsedRecord, RecordColumns } from '../domain.js';

export const IS_DELETED = 1;
/** `latestMs` is from the platform's dates. */
export const FROM_PLATFORM = 2;

/** Entries of `instants` and of `places` for one record. */
const INSTANTS = 3;
const PLACES = 7;

/** What a page takes at first; columns grow as they must. */
const FIRST_CAPACITY = 128;
const TEXT_BYTES_PER_RECORD = 128;

/** Writes the columns of one page, record after record. */
export class ColumnWriter {
  /** The texts of the record under way, in their order: call `endText` behind each. */
  readonly texts: Texts;
  length = 0;
  readonly #body: Uint8Array;
  #fixed: FixedColumns;
  #place = 0;

  /** `capacity`: how many records to expect. */
  constructor(body: Uint8Array, capacity = FIRST_CAPACITY) {
    this.#body = body;
    this.texts = new Texts(capacity * TEXT_BYTES_PER_RECORD);
    this.#fixed = makeFixed(capacity);
  }

  /** Forgets every record. */
  clear(): void {
    this.length = 0;
    this.texts.length = 0;
  }

  /** Begins a record whose bytes are `start` to `end` of the body. */
  begin(svcId: bigint, companyId: bigint, start: number, end: number): void {
    const at = this.length;
    if (at === this.#fixed.flags.length) this.#grow();
    const { svcIds, companyIds, places } = this.#fixed;
    svcIds[at] = svcId;
    companyIds[at] = companyId;
    this.#place = at * PLACES;
    places[this.#place++] = start;
    places[this.#place++] = end;
    places[this.#place++] = this.texts.length;
  }

  endText(): void {
    this.#fixed.places[this.#place++] = this.texts.length;
  }

  /** Ends the record, all of whose texts have ended. Instants are ms since 1970, NaN for none. */
  end(flags: number, updatedMs: number, latestMs: number, createdMs: number): void {
    const at = this.length++;
    const { instants } = this.#fixed;
    this.#fixed.flags[at] = flags;
    instants[at * INSTANTS] = updatedMs;
    instants[at * INSTANTS + 1] = latestMs;
    instants[at * INSTANTS + 2] = createdMs;
  }

  take(): RecordColumns {
    return {
      length: this.length,
      ...this.#fixed,
      texts: this.texts.bytes.subarray(0, this.texts.length),
      body: this.#body,
    };
  }

  #grow(): void {
    const before = this.#fixed;
    this.#fixed = makeFixed(before.flags.length * 2 || FIRST_CAPACITY);
    this.#fixed.svcIds.set(before.svcIds);
    this.#fixed.companyIds.set(before.companyIds);
    this.#fixed.instants.set(before.instants);
    this.#fixed.places.set(before.places);
    this.#fixed.flags.set(before.flags);
  }
}

/** The columns whose entries all have the same width. */
type FixedColumns = Pick<RecordColumns, 'svcIds' | 'companyIds' | 'instants' | 'places' | 'flags'>;

function makeFixed(capacity: number): FixedColumns {
  return {
    svcIds: new BigInt64Array(capacity),
    companyIds: new BigInt64Array(capacity),
    instants: new Float64Array(INSTANTS * capacity),
    places: new Uint32Array(PLACES * capacity),
    flags: new Uint8Array(capacity),
  };
}

/** The records as objects; their raw bytes stay in the body. */
export function recordsOf({ length, ...columns }: RecordColumns): ParsedRecord[] {
  const { svcIds, companyIds, instants, flags, places, body } = columns;
  const texts = Buffer.from(columns.texts.buffer, columns.texts.byteOffset, columns.texts.byteLength);
  // all texts at once where every byte is a character: cutting is cheaper than decoding
  const ascii = isAscii(texts) ? texts.toString('latin1') : null;
  const textAt = (place: number): string => {
    const [start = 0, end = 0] = [places[place], places[place + 1]];
    return ascii === null ? texts.toString('utf8', start, end) : ascii.slice(start, end);
  };
  const instantAt = (index: number): number | null => {
    const ms = instants[index] ?? Number.NaN;
    return Number.isNaN(ms) ? null : ms;
  };
  const records: ParsedRecord[] = [];
  for (let at = 0; at < length; at++) {
    const place = at * PLACES;
    const flag = flags[at] ?? 0;
    const latestMs = instantAt(at * INSTANTS + 1);
    const ofService = latestMs === null ? null : 'service';
    records.push({
      svcId: svcIds[at] ?? 0n,
      companyId: companyIds[at] ?? 0n,
      platformId: textAt(place + 2) || null,
      platformUniqueId: textAt(place + 3) || null,
      deleted: (flag & IS_DELETED) !== 0,
      updatedMs: instantAt(at * INSTANTS),
      latestMs,
      latestFrom: (flag & FROM_PLATFORM) === 0 ? ofService : 'platform',
      createdMs: instantAt(at * INSTANTS + 2),
      fieldDigests: textAt(place + 4),
      children: textAt(place + 5) || null,
      raw: body.subarray(places[place], places[place + 1]),
    });
  }
  return records;
}

/** Longer pieces are copied by the runtime, shorter ones byte by byte: that is where the two cost the same. */
const LONG_PIECE = 96;

/** So much memory waits for other pieces, bytes. */
const MOST_KEPT = 65_536;

/** UTF-8 bytes, one piece behind the other. */
export class Texts {
  bytes: Uint8Array;
  length = 0;

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity);
  }

  /** Forgets every piece, and memory that only a rare one needed. */
  clear(): void {
    this.length = 0;
    if (this.bytes.length > MOST_KEPT) this.bytes = new Uint8Array(MOST_KEPT);
  }

  /** Bytes `start` to `end` of `source`. */
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

  /** Makes room for `count` bytes to be written from the place that is told. */
  extend(count: number): number {
    this.#reserve(count);
    const at = this.length;
    this.length = at + count;
    return at;
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

import { isAscii } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { SvcError } from '../errors.js';
import { OPEN_ARRAY, QUOTE } from '../json/json-scanner.js';
import { Texts } from '../json/record-columns.js';
import { parseChildren, type StoredChild } from '../json/stored-lists.js';
import { damaged } from '../store/checksum.js';
import type { Db } from '../store/open.js';
import { type RowId, rowIdOf } from '../store/remap-blocks.js';
import type { ExportedPart } from './exported-parts.js';
import { hashBytes, StoredRecords, selectRecords } from './record-bytes.js';
import type { ExportScope } from './scope.js';

/** The records of a part by column, in the order of their row ids. Texts stay bytes until they are needed. */
export class PartRecords {
  readonly length: number;
  /** The number of children of all records. */
  childCount = 0;
  /** Row ids. */
  readonly ids: Float64Array;
  readonly svcIds: BigInt64Array;
  /** 1 or 0. */
  readonly deleted: Uint8Array;
  readonly fromPlatform: Uint8Array;
  readonly readInFull: Uint8Array;
  /** Whether their bodies are stored. */
  readonly hasPayload: Uint8Array;
  /** ms since 1970; NaN for none. */
  readonly latestMs: Float64Array;
  readonly createdMs: Float64Array;
  readonly members: PartMembers;
  /** The key, the unique id and the children of each record, UTF-8; one that is empty is null. */
  readonly #texts: Texts;
  readonly #ends: Uint32Array;
  #buffer: Buffer = Buffer.alloc(0);
  #encoding: 'latin1' | 'utf8' = 'latin1';

  constructor(length: number, room: Room) {
    this.length = length;
    this.ids = new Float64Array(room.take(8 * length), 0, length);
    this.svcIds = new BigInt64Array(room.take(8 * length), 0, length);
    this.deleted = new Uint8Array(room.take(length), 0, length);
    this.fromPlatform = new Uint8Array(room.take(length), 0, length);
    this.readInFull = new Uint8Array(room.take(length), 0, length);
    this.hasPayload = new Uint8Array(room.take(length), 0, length);
    this.latestMs = new Float64Array(room.take(8 * length), 0, length);
    this.createdMs = new Float64Array(room.take(8 * length), 0, length);
    this.members = new PartMembers(length, room);
    this.#texts = room.takeTexts(BYTES_OF_TEXTS * length);
    this.#ends = new Uint32Array(room.take(4 * TEXTS * length), 0, TEXTS * length);
  }

  /** Adds a text of the record at `at`; call it for all three in their order. */
  addText(at: number, place: 0 | 1 | 2, bytes: Uint8Array, start: number, end: number): void {
    this.#texts.copy(bytes, start, end);
    if (this.#texts.length > MAX_BYTES_OF_TEXTS)
      throw new SvcError('resources', 'The keys and line items of one company are too large to be joined.', {
        facts: { bytes: MAX_BYTES_OF_TEXTS },
      });
    this.#ends[TEXTS * at + place] = this.#texts.length;
  }

  /** Call it after the last text. */
  seal(): void {
    const { bytes, length } = this.#texts;
    this.#buffer = Buffer.from(bytes.buffer, 0, length);
    // texts in ASCII are faster to decode
    this.#encoding = isAscii(this.#buffer) ? 'latin1' : 'utf8';
  }

  hasKey(at: number): boolean {
    return this.#endOf(TEXTS * at) > this.#startOf(TEXTS * at);
  }

  keyOf(at: number): string | null {
    return this.#textAt(TEXTS * at);
  }

  idOf(at: number): RowId {
    return rowIdOf(this.svcIds[at] ?? 0n);
  }

  uniqueIdOf(at: number): string | null {
    return this.#textAt(TEXTS * at + 1);
  }

  childrenOf(at: number): readonly StoredChild[] {
    const text = this.childrenTextOf(at);
    return text === null ? [] : parseChildren(text);
  }

  /** As stored, see `stored-lists.ts`. */
  childrenTextOf(at: number): string | null {
    return this.#textAt(TEXTS * at + 2);
  }

  /** null if it has no key. */
  hashOfKey(at: number): number | null {
    const [start, end] = [this.#startOf(TEXTS * at), this.#endOf(TEXTS * at)];
    return start < end ? hashBytes(this.#texts.bytes, start, end) : null;
  }

  /** Whether a record has the key of another one. */
  hasKeyOf(at: number, other: PartRecords, otherAt: number): boolean {
    const [start, otherStart] = [this.#startOf(TEXTS * at), other.#startOf(TEXTS * otherAt)];
    const length = this.#endOf(TEXTS * at) - start;
    if (other.#endOf(TEXTS * otherAt) - otherStart !== length) return false;
    const [bytes, otherBytes] = [this.#texts.bytes, other.#texts.bytes];
    for (let i = 0; i < length; i++) if (bytes[start + i] !== otherBytes[otherStart + i]) return false;
    return true;
  }

  #startOf(text: number): number {
    return text === 0 ? 0 : (this.#ends[text - 1] ?? 0);
  }

  #endOf(text: number): number {
    return this.#ends[text] ?? 0;
  }

  #textAt(text: number): string | null {
    const [start, end] = [this.#startOf(text), this.#endOf(text)];
    return start < end ? this.#buffer.toString(this.#encoding, start, end) : null;
  }
}

/**
 * Memory for the records of one part after another, which are read once those of the part before are not needed any more. With
 * new memory for each, several parts would be in memory until garbage is collected.
 */
class Room {
  words = new Int32Array(0);
  #texts = new Texts(0);
  readonly #buffers: ArrayBuffer[] = [];
  #taken = 0;

  /** Begins another part. */
  clear(): void {
    this.#taken = 0;
  }

  /** At least so many bytes, with any content. */
  take(bytes: number): ArrayBuffer {
    const at = this.#taken++;
    const known = this.#buffers[at];
    if (known !== undefined && known.byteLength >= bytes) return known;
    const buffer = new ArrayBuffer(bytes);
    this.#buffers[at] = buffer;
    return buffer;
  }

  takeTexts(bytes: number): Texts {
    if (this.#texts.bytes.length < bytes) this.#texts = new Texts(bytes);
    this.#texts.length = 0;
    return this.#texts;
  }
}

/** Texts of a record. */
const TEXTS = 3;
/** Their ends are numbers of 32 bits. */
const MAX_BYTES_OF_TEXTS = 0xffff_ffff;
/** Room for its texts at first; what is not used takes no memory. */
const BYTES_OF_TEXTS = 256;

/** Records read at once. A record can have any number of children: the size of those before says how many fit the bytes. */
const FIRST_CHUNK = 16;
const MAX_CHUNK = 1024;
const CHUNK_BYTES = 4 * 1024 * 1024;

/** The digests of the members of a part's records, one after another. */
export class PartMembers {
  readonly #room: Room;
  #bytes: Uint8Array;
  /** For each record, the end of its words; it has none if that is the end of those before. */
  readonly #ends: Float64Array;
  #length = 0;

  constructor(records: number, room: Room) {
    this.#room = room;
    this.#bytes = new Uint8Array(room.words.buffer);
    this.#ends = new Float64Array(room.take(8 * records), 0, records);
  }

  get words(): Int32Array {
    return this.#room.words;
  }

  /** Adds the words of the record at `at`, which follows those that were added. */
  add(at: number, bytes: Uint8Array): void {
    const end = this.#length + bytes.length / 4;
    if (end > this.words.length) {
      const records = Math.min(this.#ends.length, Math.max(2 * at, 64));
      const words = new Int32Array(Math.max(end, Math.ceil((1.05 * end * records) / (at + 1))));
      words.set(this.words.subarray(0, this.#length));
      this.#room.words = words;
      this.#bytes = new Uint8Array(words.buffer);
    }
    this.#bytes.set(bytes, 4 * this.#length);
    this.#length = end;
    this.#ends[at] = end;
  }

  /** Position of the first word of a record; -1 if it has none. */
  startOf(at: number): number {
    const start = at === 0 ? 0 : (this.#ends[at - 1] ?? 0);
    return start === this.#ends[at] ? -1 : start;
  }
}

/**
 * Makes the function that reads the records of a part and compares each with its checksum. They are valid until the next call.
 */
export function preparePartRecords(
  db: Db,
  { lists }: ExportScope,
  throwIfStopped: () => void,
): (part: ExportedPart | null) => PartRecords {
  const read = db
    .prepare<[string], Buffer | null>(selectRecords('id IN (SELECT value FROM json_each(?)) ORDER BY id'))
    .pluck();
  const record = new StoredRecords();
  const room = new Room();
  return (part) => {
    room.clear();
    const records = new PartRecords(part?.records ?? 0, room);
    const nextIds = part?.ids.reader() ?? (() => []);
    let at = 0;
    let most = FIRST_CHUNK;
    for (let chunk = nextIds(most); chunk.length > 0; chunk = nextIds(most)) {
      throwIfStopped();
      for (record.open(read.get(`[${chunk.join(',')}]`) ?? null); record.next(); at++)
        addRecord(records, at, record, lists.get(record.streamId)?.readInFull === true);
      most = Math.min(2 * most, MAX_CHUNK, Math.ceil((chunk.length * CHUNK_BYTES) / record.bytes.length));
    }
    // the memory still holds the records of another part
    if (at !== records.length) throw damaged('A stored record');
    records.seal();
    return records;
  };
}

function addRecord(records: PartRecords, at: number, record: StoredRecords, readInFull: boolean): void {
  const { bytes, checked, members, key, uniqueId, children, checksum } = record;
  if (crc32(bytes.subarray(checked.start, checked.end)) !== checksum) throw damaged('A stored record');
  records.ids[at] = record.id;
  records.readInFull[at] = readInFull ? 1 : 0;
  records.hasPayload[at] = record.hasPayload ? 1 : 0;
  records.svcIds[at] = record.exactSvcId();
  records.deleted[at] = record.deleted;
  records.fromPlatform[at] = record.fromPlatform ? 1 : 0;
  records.latestMs[at] = record.latestMs;
  records.createdMs[at] = record.createdMs;
  records.members.add(at, bytes.subarray(members.start, members.end));
  records.addText(at, 0, bytes, key.start, key.end);
  records.addText(at, 1, bytes, uniqueId.start, uniqueId.end);
  records.addText(at, 2, bytes, children.start, children.end);
  records.childCount += countChildren(bytes, children.start, children.end);
}

const BACKSLASH = 0x5c;

/** Counts the inner lists of a list of lists. */
function countChildren(bytes: Uint8Array, start: number, end: number): number {
  let count = 0;
  let isInText = false;
  for (let at = start + 1; at < end; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) isInText = !isInText;
    else if (byte === BACKSLASH) at++;
    else if (byte === OPEN_ARRAY && !isInText) count++;
  }
  return count;
}

import { crc32 } from 'node:zlib';
import type { Db } from '../store/open.js';
import type { ExportedPart } from './exported-parts.js';

/** A record with a key, in a list that was read in full. */
export interface KeyedRecord {
  readonly id: number;
  readonly modelId: number;
  readonly key: string;
  readonly part: ExportedPart;
  readonly fieldDigests: string;
}

const FIRST_RECORDS = 1024;

/**
 * The records by which companies are paired, in arrays: a million records on each side take 60 MiB. Keys are 64-bit hashes of
 * the model and the key. Two keys that share a hash would count as one key in the evidence for a pair of companies; records
 * are never joined by them.
 */
export class KeyedRecords {
  readonly #db: Db;
  readonly #parts: ExportedPart[] = [];
  readonly #placeOf = new Map<ExportedPart, number>();
  #length = 0;
  #hashes = new Uint32Array(2 * FIRST_RECORDS);
  /** CRC-32 of the digests of a record's fields; 0 if it has none. */
  #digests = new Uint32Array(FIRST_RECORDS);
  #places = new Uint32Array(FIRST_RECORDS);
  #ids = new Float64Array(FIRST_RECORDS);

  constructor(db: Db) {
    this.#db = db;
  }

  add({ id, modelId, key, part, fieldDigests }: KeyedRecord): void {
    const at = this.#length;
    if (at === this.#ids.length) this.#lengthen();
    this.#length += 1;
    let first = Math.imul(modelId + 1, 0x9e3779b1);
    let second = Math.imul(modelId + 0x5bd1e995, 0xc2b2ae35);
    for (let i = 0; i < key.length; i++) {
      const unit = key.charCodeAt(i);
      first = Math.imul(first ^ unit, 0x01000193);
      second = Math.imul(second ^ unit, 0x85ebca6b);
      second ^= second >>> 13;
    }
    first ^= first >>> 15;
    this.#hashes[2 * at] = Math.imul(first, 0x2c1b3c6d);
    this.#hashes[2 * at + 1] = second;
    this.#digests[at] = fieldDigests === '' ? 0 : crc32(fieldDigests);
    this.#places[at] = this.#placeOfPart(part);
    this.#ids[at] = id;
  }

  /** The part that a record is in. */
  partOf(record: number): ExportedPart | undefined {
    return this.#parts[this.#places[record] ?? -1];
  }

  /** Whether two records have the same digests of fields, and at least one. */
  haveEqualDigests(a: number, b: number): boolean {
    return this.#digests[a] === this.#digests[b] && this.#digests[a] !== 0;
  }

  /** Makes the function that reads the digests of a record's fields. */
  prepareFieldDigests(): (record: number) => string {
    const read = this.#db.prepare<[number], string>('SELECT field_digests FROM record WHERE id = ?').pluck();
    return (record) => read.get(this.#ids[record] ?? 0) ?? '';
  }

  /** Calls `onKey` with the records of each key. The array is reused. */
  forEachKey(onKey: (records: readonly number[]) => void): void {
    const length = this.#length;
    const hashes = this.#hashes;
    const size = 2 ** Math.ceil(Math.log2(2 * length + 1));
    // the last record of each key, and for each record the one before it
    const table = new Int32Array(size).fill(-1);
    const before = new Int32Array(length);
    const slots = new Int32Array(length);
    let keys = 0;
    for (let at = 0; at < length; at++) {
      const [first, second] = [hashes[2 * at] ?? 0, hashes[2 * at + 1] ?? 0];
      let slot = (first ^ (second >>> 7)) & (size - 1);
      let known = table[slot] ?? -1;
      while (known >= 0 && (hashes[2 * known] !== first || hashes[2 * known + 1] !== second)) {
        slot = (slot + 1) & (size - 1);
        known = table[slot] ?? -1;
      }
      if (known < 0) slots[keys++] = slot;
      before[at] = known;
      table[slot] = at;
    }
    const records: number[] = [];
    for (let key = 0; key < keys; key++) {
      records.length = 0;
      for (let at = table[slots[key] ?? 0] ?? -1; at >= 0; at = before[at] ?? -1) records.push(at);
      onKey(records);
    }
  }

  /** Frees the memory. */
  clear(): void {
    this.#length = 0;
    this.#hashes = new Uint32Array(2 * FIRST_RECORDS);
    this.#digests = new Uint32Array(FIRST_RECORDS);
    this.#places = new Uint32Array(FIRST_RECORDS);
    this.#ids = new Float64Array(FIRST_RECORDS);
  }

  #placeOfPart(part: ExportedPart): number {
    const known = this.#placeOf.get(part);
    if (known !== undefined) return known;
    this.#placeOf.set(part, this.#parts.length);
    return this.#parts.push(part) - 1;
  }

  #lengthen(): void {
    const capacity = 2 * this.#ids.length;
    const longer = <T extends Uint32Array | Float64Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    this.#hashes = longer(this.#hashes, new Uint32Array(2 * capacity));
    this.#digests = longer(this.#digests, new Uint32Array(capacity));
    this.#places = longer(this.#places, new Uint32Array(capacity));
    this.#ids = longer(this.#ids, new Float64Array(capacity));
  }
}

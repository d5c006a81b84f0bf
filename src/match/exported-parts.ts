import { fieldDigestsOf, hashFields, placesOf } from '../api/field-digests.js';
import { LIST_WORDS } from '../api/member-digests.js';
import { Texts } from '../json/record-columns.js';
import { damaged } from '../store/checksum.js';
import { prepareReadMemberList } from '../store/member-lists.js';
import type { Db } from '../store/open.js';
import { chainByKey } from './key-chains.js';
import { hashBytes, StoredRecords, selectRecords } from './record-bytes.js';
import type { ExportScope, ScopeList } from './scope.js';

/** Rows read at once: nothing can be written while a query is open. */
const CHUNK = 1000;

/** What tells the part of a record, and pairs companies. */
const READ_AT_FIRST = [
  'stream_id',
  'company_id',
  'platform_id',
  'latest_ms',
  'latest_from',
  'members',
] as const;

/** Ascending row ids above 0, stored as differences: those below 128 take a byte. */
export class RowIds {
  length = 0;
  #last = 0;
  readonly #steps = new Texts(8);

  push(id: number): void {
    let step = id - this.#last;
    for (; step >= 0x80; step = Math.floor(step / 0x80)) this.#steps.byte(0x80 + (step % 0x80));
    this.#steps.byte(step);
    this.#last = id;
    this.length += 1;
  }

  /** Makes the function that returns the next ids, at most `most`. */
  reader(): (most: number) => readonly number[] {
    const { bytes, length } = this.#steps;
    let [at, id] = [0, 0];
    return (most) => {
      const ids: number[] = [];
      while (ids.length < most && at < length) {
        for (let unit = 1; ; unit *= 0x80) {
          const byte = bytes[at++] ?? 0;
          id += (byte % 0x80) * unit;
          if (byte < 0x80) break;
        }
        ids.push(id);
      }
      return ids;
    };
  }
}

/** The exported records of one model and company of a generation. */
export class ExportedPart {
  /** Tells it from the others. */
  readonly number: number;
  readonly generation: 3 | 4;
  /** '' for V4. */
  readonly region: string;
  /** Digits. */
  readonly companyId: string;
  /** The place of its company among those of its generation. */
  company: number | undefined;
  /** Row ids of its records. */
  readonly ids = new RowIds();
  /** Records with a date of the platform's own, and the earliest of these dates in ms. */
  dated = 0;
  earliestMs = Number.POSITIVE_INFINITY;

  constructor(number: number, generation: 3 | 4, region: string, companyId: string) {
    this.number = number;
    this.generation = generation;
    this.region = region;
    this.companyId = companyId;
  }

  get records(): number {
    return this.ids.length;
  }
}

/** Everything that was exported, by where it is. */
export interface ExportedParts {
  readonly find: (model: number, generation: 3 | 4, region: string, companyId: string) => ExportedPart | null;
  readonly all: () => Iterable<ExportedPart>;
  /** Records of lists that the configuration does not name. */
  readonly others: ExportedPart;
  readonly keyed: KeyedRecords;
}

/**
 * Reads every exported record, sorts them by company, and keeps the keys of the lists that were read in full.
 *
 * @param fields those by which companies are paired
 */
export function readExportedParts(
  db: Db,
  scope: ExportScope,
  fields: readonly string[],
  throwIfStopped: () => void,
): ExportedParts {
  const parts = new Map<string, ExportedPart>();
  const others = new ExportedPart(-1, 3, '', '');
  let keys = 0;
  for (const { readInFull, stored } of scope.lists.values()) if (readInFull) keys += stored;
  const keyed = new KeyedRecords(db, fields, keys);
  /** The parts of each list by company; beyond 2^53, companies are not in it. */
  const partsOfLists = new Map<number, Map<number, ExportedPart>>();
  const partOf = (list: ScopeList, record: StoredRecords): ExportedPart => {
    const { streamId, bytes, companyId, companyDigits } = record;
    const ofList = partsOfLists.get(streamId) ?? new Map<number, ExportedPart>();
    partsOfLists.set(streamId, ofList);
    const known = ofList.get(companyId);
    if (known !== undefined) return known;
    const company = bytes.toString('latin1', companyDigits.start, companyDigits.end);
    const name = nameOf(list.model, list.generation, list.region, company);
    const part = parts.get(name) ?? new ExportedPart(parts.size, list.generation, list.region, company);
    parts.set(name, part);
    if (Number.isSafeInteger(companyId)) ofList.set(companyId, part);
    return part;
  };
  const read = db
    .prepare<[number, number], Buffer | null>(selectRecords('id > ? ORDER BY id LIMIT ?', READ_AT_FIRST))
    .pluck();
  const record = new StoredRecords();
  let last = 0;
  for (let after = Number.NEGATIVE_INFINITY; ; after = last) {
    throwIfStopped();
    record.open(read.get(after, CHUNK) ?? null);
    if (record.bytes.length === 0) break;
    while (record.next()) {
      // no export writes such an id, and the next one cannot be told from it
      if (!Number.isSafeInteger(record.id) || record.id <= last) throw damaged('A stored record');
      last = record.id;
      const list = scope.lists.get(record.streamId);
      const part = list === undefined ? others : partOf(list, record);
      part.ids.push(record.id);
      if (record.fromPlatform && !Number.isNaN(record.latestMs)) {
        part.dated += 1;
        part.earliestMs = Math.min(part.earliestMs, record.latestMs);
      }
      if (list?.readInFull === true && record.key.end > record.key.start) keyed.add(list.model, part, record);
    }
  }
  return {
    find: (...place) => parts.get(nameOf(...place)) ?? null,
    all: () => parts.values(),
    others,
    keyed,
  };
}

function nameOf(model: number, generation: 3 | 4, region: string, companyId: string): string {
  return `${model} ${generation} ${companyId} ${region}`;
}

/** Finds the places of fields among the members of a record, whose digests are the bytes `start` to `end`; null: it has none. */
type FindPlaces = (members: Buffer, start: number, end: number) => readonly number[] | null;

function prepareFindPlaces(db: Db, fields: readonly string[]): FindPlaces {
  const readNames = prepareReadMemberList(db);
  const known = new Map<number, { readonly places: readonly number[]; readonly bytes: number }>();
  return (members, start, end) => {
    if (end - start < 4 * LIST_WORDS) return null;
    const list = members.readUInt32LE(start) * 0x20_0000 + members.readInt32LE(start + 4);
    let found = known.get(list);
    if (found === undefined) {
      const names = readNames(list);
      found = { places: placesOf(fields, names), bytes: 4 * (LIST_WORDS + names.length) };
      known.set(list, found);
    }
    if (end - start < found.bytes) throw damaged('A stored record');
    return found.places;
  };
}

/**
 * The records by which companies are paired, in arrays: a million records on each side take 60 MiB. Keys are 64-bit hashes of
 * the model and the key. Two keys that share a hash would count as one key in the evidence for a pair of companies; records
 * are never joined by them.
 */
export class KeyedRecords {
  readonly #readMembers: (id: number) => Buffer;
  readonly #placesOf: FindPlaces;
  readonly #parts: ExportedPart[] = [];
  #length = 0;
  #hashes: Int32Array;
  /** Hash of the digests of a record's fields; 0 if it has none. */
  #digests: Uint32Array;
  #places: Uint32Array;
  #ids: Float64Array;

  constructor(db: Db, fields: readonly string[], most: number) {
    this.#hashes = new Int32Array(2 * most);
    this.#digests = new Uint32Array(most);
    this.#places = new Uint32Array(most);
    this.#ids = new Float64Array(most);
    const read = db.prepare<[number], Buffer | null>('SELECT members FROM record WHERE id = ?').pluck();
    this.#readMembers = (id) => read.get(id) ?? Buffer.of();
    this.#placesOf = prepareFindPlaces(db, fields);
  }

  add(model: number, part: ExportedPart, { bytes, id, key, members }: StoredRecords): void {
    const at = this.#length;
    // more than their lists are said to hold
    if (at === this.#ids.length) throw damaged('A stored record');
    this.#length += 1;
    const ofModel = Math.imul(model + 1, 0x9e3779b1);
    this.#hashes[2 * at] = hashBytes(bytes, key.start, key.end) ^ ofModel;
    this.#hashes[2 * at + 1] = hashBytes(bytes, key.start, key.end, 0x5bd1e995) + ofModel;
    const places = this.#placesOf(bytes, members.start, members.end);
    this.#digests[at] = places === null ? 0 : hashFields(bytes, members.start, places);
    this.#places[at] = part.number;
    this.#parts[part.number] = part;
    this.#ids[at] = id;
  }

  /** The part that a record is in. */
  partOf(record: number): ExportedPart | undefined {
    return this.#parts[this.#places[record] ?? -1];
  }

  /** The hash of a record's digests of fields; 0 if it has none. */
  digestOf(record: number): number {
    return this.#digests[record] ?? 0;
  }

  /** Reads the digests of a record's fields; null: unknown. */
  readFieldDigests(record: number): string | null {
    const members = this.#readMembers(this.#ids[record] ?? 0);
    const places = this.#placesOf(members, 0, members.length);
    return places === null ? null : fieldDigestsOf(members, places);
  }

  /** Calls `onKey` with the records of each key. The array is reused. */
  forEachKey(onKey: (records: readonly number[]) => void): void {
    const hashes = this.#hashes;
    const { count, last, before } = chainByKey(
      this.#length,
      (at) => hashes[2 * at] ?? 0,
      (a, b) => hashes[2 * a + 1] === hashes[2 * b + 1],
    );
    const records: number[] = [];
    for (let key = 0; key < count; key++) {
      records.length = 0;
      for (let at = last[key] ?? -1; at >= 0; at = before[at] ?? -1) records.push(at);
      onKey(records);
    }
  }

  /** Frees the memory. */
  clear(): void {
    this.#length = 0;
    this.#hashes = new Int32Array(0);
    this.#digests = new Uint32Array(0);
    this.#places = new Uint32Array(0);
    this.#ids = new Float64Array(0);
  }
}

import { fieldDigestsOf, hashFields, placesOf } from '../api/field-digests.js';
import { LIST_WORDS } from '../api/member-digests.js';
import { damaged } from '../store/checksum.js';
import { prepareReadMemberList } from '../store/member-digests.js';
import type { Db } from '../store/open.js';
import { bytesOf, hashBytes, lengthOf, RecordBytes } from './record-bytes.js';

/** The exported records of one model and company of a generation. */
export interface ExportedPart {
  readonly generation: 3 | 4;
  /** '' for V4. */
  readonly region: string;
  /** Digits. */
  readonly companyId: string;
  /** Row ids: the first and last of each run of consecutive ones. */
  readonly runs: number[];
  records: number;
  /** Records with a date of the platform's own, and the earliest of these dates in ms. */
  dated: number;
  earliestMs: number;
}

/** Everything that was exported, by where it is. */
export interface ExportedParts {
  readonly find: (
    modelId: number,
    generation: 3 | 4,
    region: string,
    companyId: string,
  ) => ExportedPart | null;
  readonly all: () => Iterable<ExportedPart>;
  /** Records of lists that the configuration does not name. */
  readonly others: ExportedPart;
  readonly keyed: KeyedRecords;
}

/** Rows read at once: nothing can be written while a query is open. */
const CHUNK = 2000;

const COLUMNS = bytesOf(
  [
    'id',
    'stream_id',
    "iif(latest_from IS 'platform', latest_ms, NULL)",
    lengthOf('platform_id'),
    lengthOf('members'),
    'company_id',
  ],
  ["ifnull(platform_id, '')", "ifnull(CAST(members AS TEXT), '')"],
);

/**
 * Reads where every exported record is, and the keys of the lists that were read in full.
 *
 * @param fields those by which companies are paired
 */
export function readExportedParts(
  db: Db,
  fields: readonly string[],
  throwIfStopped: () => void,
): ExportedParts {
  const parts = new Map<string, ExportedPart>();
  const others = newPart(3, '', '');
  const keyed = new KeyedRecords(db, fields);
  const streams = readScopeStreams(db);
  const partOf = (
    { modelId, generation, region, parts: known }: ScopeStream,
    companyId: string,
  ): ExportedPart => {
    const name = nameOf(modelId, generation, region, companyId);
    const part = parts.get(name) ?? newPart(generation, region, companyId);
    parts.set(name, part);
    known.set(companyId, part);
    return part;
  };
  const read = db
    .prepare<[number], Buffer | null>(
      `SELECT ${COLUMNS} FROM (SELECT * FROM record NOT INDEXED WHERE id > ? ORDER BY id LIMIT ${CHUNK})`,
    )
    .pluck();
  const bytes = new RecordBytes();
  for (let last = Number.NEGATIVE_INFINITY; ; ) {
    throwIfStopped();
    bytes.open(read.get(last) ?? null);
    if (!bytes.hasMore) break;
    while (bytes.hasMore) {
      const id = bytes.number();
      // no export writes such an id, and the next one cannot be told from it
      if (!Number.isSafeInteger(id) || id <= last) throw damaged('A stored record');
      last = id;
      const stream = streams.get(bytes.number());
      const platformMs = bytes.number();
      const [keyLength, membersLength] = [bytes.number(), bytes.number()];
      bytes.number();
      const company = bytes.digits();
      const part = stream === undefined ? others : (stream.parts.get(company) ?? partOf(stream, company));
      addRow(part, id);
      if (!Number.isNaN(platformMs)) {
        part.dated += 1;
        part.earliestMs = Math.min(part.earliestMs, platformMs);
      }
      const keyAt = bytes.skip(keyLength);
      const membersAt = bytes.skip(membersLength);
      if (stream?.readInFull === 1 && keyLength > 0)
        keyed.add({ id, modelId: stream.modelId, part, bytes: bytes.bytes, keyAt, membersAt, end: bytes.at });
    }
  }
  return {
    find: (modelId, generation, region, companyId) =>
      parts.get(nameOf(modelId, generation, region, companyId)) ?? null,
    all: () => parts.values(),
    others,
    keyed,
  };
}

function newPart(generation: 3 | 4, region: string, companyId: string): ExportedPart {
  return {
    generation,
    region,
    companyId,
    runs: [],
    records: 0,
    dated: 0,
    earliestMs: Number.POSITIVE_INFINITY,
  };
}

function nameOf(modelId: number, generation: 3 | 4, region: string, companyId: string): string {
  return `${modelId} ${generation} ${companyId} ${region}`;
}

function addRow(part: ExportedPart, id: number): void {
  const { runs } = part;
  part.records += 1;
  if (runs.length > 0 && runs[runs.length - 1] === id - 1) runs[runs.length - 1] = id;
  else runs.push(id, id);
}

interface ScopeStream {
  readonly id: number;
  readonly modelId: number;
  readonly generation: 3 | 4;
  readonly region: string;
  readonly readInFull: number;
  /** By company. */
  readonly parts: Map<string, ExportedPart>;
}

function readScopeStreams(db: Db): ReadonlyMap<number, ScopeStream> {
  const rows = db
    .prepare<[], Omit<ScopeStream, 'parts'>>(`
      SELECT stream_id AS id, model_id AS modelId, generation, iif(generation = 3, region, '') AS region,
        read_in_full AS readInFull FROM scope_stream`)
    .safeIntegers(false)
    .all();
  return new Map(rows.map((row) => [row.id, { ...row, parts: new Map() }]));
}

/** A record with a key, in a list that was read in full. */
export interface KeyedRecord {
  readonly id: number;
  readonly modelId: number;
  readonly part: ExportedPart;
  /** Its key, and after that the digests of its members. */
  readonly bytes: Buffer;
  readonly keyAt: number;
  readonly membersAt: number;
  readonly end: number;
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

const FIRST_RECORDS = 1024;

/**
 * The records by which companies are paired, in arrays: a million records on each side take 60 MiB. Keys are 64-bit hashes of
 * the model and the key. Two keys that share a hash would count as one key in the evidence for a pair of companies; records
 * are never joined by them.
 */
export class KeyedRecords {
  readonly #readMembers: (id: number) => Buffer;
  readonly #placesOf: FindPlaces;
  readonly #parts: ExportedPart[] = [];
  readonly #placeOf = new Map<ExportedPart, number>();
  #length = 0;
  #hashes = new Uint32Array(2 * FIRST_RECORDS);
  /** Hash of the digests of a record's fields; 0 if it has none. */
  #digests = new Uint32Array(FIRST_RECORDS);
  #places = new Uint32Array(FIRST_RECORDS);
  #ids = new Float64Array(FIRST_RECORDS);

  constructor(db: Db, fields: readonly string[]) {
    const read = db.prepare<[number], Buffer | null>('SELECT members FROM record WHERE id = ?').pluck();
    this.#readMembers = (id) => read.get(id) ?? Buffer.of();
    this.#placesOf = prepareFindPlaces(db, fields);
  }

  add({ id, modelId, part, bytes, keyAt, membersAt, end }: KeyedRecord): void {
    const at = this.#length;
    if (at === this.#ids.length) this.#lengthen();
    this.#length += 1;
    const ofModel = Math.imul(modelId + 1, 0x9e3779b1);
    this.#hashes[2 * at] = hashBytes(bytes, keyAt, membersAt) ^ ofModel;
    this.#hashes[2 * at + 1] = hashBytes(bytes, keyAt, membersAt, 0x5bd1e995) + ofModel;
    const places = this.#placesOf(bytes, membersAt, end);
    this.#digests[at] = places === null ? 0 : hashFields(bytes, membersAt, places);
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

  /** Reads the digests of a record's fields; null: unknown. */
  readFieldDigests(record: number): string | null {
    const members = this.#readMembers(this.#ids[record] ?? 0);
    const places = this.#placesOf(members, 0, members.length);
    return places === null ? null : fieldDigestsOf(members, 0, places);
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

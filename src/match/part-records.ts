import { crc32 } from 'node:zlib';
import { checkedText, damaged } from '../store/checksum.js';
import { areIntactMembers } from '../store/member-digests.js';
import type { Db } from '../store/open.js';
import type { ExportedPart } from './exported-parts.js';

/** The records of a part as columns, in the order of their row ids. */
export interface PartRecords {
  readonly length: number;
  /** The number of children of all records. */
  childCount: number;
  /** Row ids. */
  readonly ids: Float64Array;
  readonly svcIds: BigInt64Array;
  readonly keys: (string | null)[];
  readonly uniqueIds: (string | null)[];
  /** As stored, see `stored-lists.ts`. */
  readonly children: (string | null)[];
  /** 1 or 0. */
  readonly deleted: Uint8Array;
  readonly fromPlatform: Uint8Array;
  readonly readInFull: Uint8Array;
  /** ms since 1970; NaN for none. */
  readonly latestMs: Float64Array;
  readonly createdMs: Float64Array;
  readonly members: PartMembers;
}

/** The digests of the members of a part's records, one after another. */
export class PartMembers {
  words = new Int32Array(0);
  /** For each record, the end of its words; it has none if that is the end of those before. */
  readonly #ends: Float64Array;
  #length = 0;

  constructor(records: number) {
    this.#ends = new Float64Array(records);
  }

  /** Adds the words of the record at `at`, which follows those that were added. */
  add(at: number, bytes: Uint8Array | null): void {
    const end = this.#length + (bytes?.length ?? 0) / 4;
    if (end > this.words.length) {
      const records = Math.min(this.#ends.length, Math.max(2 * at, 64));
      const words = new Int32Array(Math.max(end, Math.ceil((1.05 * end * records) / (at + 1))));
      words.set(this.words.subarray(0, this.#length));
      this.words = words;
    }
    if (bytes !== null) new Uint8Array(this.words.buffer).set(bytes, 4 * this.#length);
    this.#length = end;
    this.#ends[at] = end;
  }

  /** Position of the first word of a record; -1 if it has none. */
  startOf(at: number): number {
    const start = at === 0 ? 0 : (this.#ends[at - 1] ?? 0);
    return start === this.#ends[at] ? -1 : start;
  }
}

/** Rows read at once. */
const CHUNK = 500;
/** Shorter runs of row ids are read together, by a list of row ids. */
const LONG_RUN = 32;

type Row = readonly [
  id: number,
  svcId: bigint,
  key: string | null,
  uniqueId: string | null,
  children: string | null,
  deleted: number,
  fromPlatform: number,
  stream: number,
  latestMs: number | null,
  createdMs: number | null,
  checksum: number,
  checked: string,
  childCount: number,
  members: Buffer | null,
];

/** Makes the function that reads the records of a part and compares each with its checksum. */
export function preparePartRecords(
  db: Db,
  throwIfStopped: () => void,
): (part: ExportedPart | null) => PartRecords {
  const fullStreams = new Set(
    db
      .prepare<[], number>('SELECT stream_id FROM scope_stream WHERE read_in_full')
      .pluck()
      .safeIntegers(false)
      .all(),
  );
  // integers but the id become doubles, which are faster to read than 64-bit integers
  const columns = `CAST(id AS REAL), svc_id, platform_id, unique_id, children, CAST(deleted AS REAL),
    CAST(latest_from IS 'platform' AS REAL), CAST(stream_id AS REAL), CAST(latest_ms AS REAL), CAST(created_ms AS REAL),
    CAST(checksum AS REAL), ${checkedText('record')}, CAST(ifnull(json_array_length(children), 0) AS REAL), members`;
  const byRange = db
    .prepare<[number, number], Row>(`SELECT ${columns} FROM record WHERE id BETWEEN ? AND ? ORDER BY id`)
    .raw();
  const byList = db
    .prepare<[string], Row>(
      `SELECT ${columns} FROM record WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id`,
    )
    .raw();
  return (part) => {
    const records = newRecords(part?.records ?? 0);
    let at = 0;
    const take = (rows: readonly Row[]): void => {
      throwIfStopped();
      for (const row of rows) {
        if (row[10] !== crc32(row[11])) throw damaged('A stored record');
        if (row[13] !== null && !areIntactMembers(row[13], row[10])) throw damaged('A stored record');
        records.members.add(at, row[13]);
        saveRow(records, at++, row, fullStreams.has(row[7]));
        records.childCount += row[12];
      }
    };
    for (const ids of part === null ? [] : chunksOf(part.runs)) {
      take(typeof ids === 'string' ? byList.all(ids) : byRange.all(...ids));
    }
    if (at !== records.length) throw damaged('A stored record');
    return records;
  };
}

function newRecords(length: number): PartRecords {
  const texts = () => new Array<string | null>(length);
  return {
    length,
    childCount: 0,
    ids: new Float64Array(length),
    svcIds: new BigInt64Array(length),
    keys: texts(),
    uniqueIds: texts(),
    children: texts(),
    deleted: new Uint8Array(length),
    fromPlatform: new Uint8Array(length),
    readInFull: new Uint8Array(length),
    latestMs: new Float64Array(length),
    createdMs: new Float64Array(length),
    members: new PartMembers(length),
  };
}

function saveRow(records: PartRecords, at: number, row: Row, readInFull: boolean): void {
  const [id, svcId, key, uniqueId, children, deleted, fromPlatform, , latestMs, createdMs] = row;
  records.ids[at] = id;
  records.svcIds[at] = svcId;
  records.keys[at] = key;
  records.uniqueIds[at] = uniqueId;
  records.children[at] = children;
  records.deleted[at] = deleted;
  records.fromPlatform[at] = fromPlatform;
  records.readInFull[at] = readInFull ? 1 : 0;
  records.latestMs[at] = latestMs ?? Number.NaN;
  records.createdMs[at] = createdMs ?? Number.NaN;
}

/** Ranges of row ids, and lists of row ids as JSON. */
function* chunksOf(runs: readonly number[]): Generator<readonly [from: number, to: number] | string> {
  let list: number[] = [];
  for (let at = 0; at < runs.length; at += 2) {
    const [from = 0, to = 0] = [runs[at], runs[at + 1]];
    const isLong = to - from >= LONG_RUN;
    if (list.length > 0 && (isLong || list.length >= CHUNK)) {
      yield JSON.stringify(list);
      list = [];
    }
    if (isLong) for (let id = from; id <= to; id += CHUNK) yield [id, Math.min(to, id + CHUNK - 1)];
    else for (let id = from; id <= to; id++) list.push(id);
  }
  if (list.length > 0) yield JSON.stringify(list);
}

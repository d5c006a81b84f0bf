import { isAscii } from 'node:buffer';
import type { ParsedChild, ParsedRecord, RecordColumns } from '../domain.js';
import { parseChildren, renderChildren } from './stored-lists.js';
import { Texts } from './texts.js';

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

/** The latest `<prefix>updated_at` of the records, ms since 1970; null where none has one. */
export function latestUpdateOf({ length, instants }: RecordColumns): number | null {
  let latest: number | null = null;
  for (let at = 0; at < length; at++) {
    const updatedMs = instants[at * INSTANTS];
    // NaN, for none, is not above anything
    if (updatedMs !== undefined && updatedMs > (latest ?? -Infinity)) latest = updatedMs;
  }
  return latest;
}

/** Those of the records that `keep` wants, by their place. */
export function pickRecords(columns: RecordColumns, keep: (at: number) => boolean): RecordColumns {
  const wanted = Array.from({ length: columns.length }, (_, at) => keep(at));
  const isWanted = (width: number) => (_: unknown, entry: number) =>
    wanted[Math.trunc(entry / width)] === true;
  return {
    ...columns,
    length: wanted.filter(Boolean).length,
    svcIds: columns.svcIds.filter(isWanted(1)),
    companyIds: columns.companyIds.filter(isWanted(1)),
    instants: columns.instants.filter(isWanted(INSTANTS)),
    flags: columns.flags.filter(isWanted(1)),
    places: columns.places.filter(isWanted(PLACES)),
  };
}

/** Reads the columns of one page. Records are named by their place. */
export class ColumnReader {
  readonly columns: RecordColumns;
  readonly #texts: Buffer;
  /** All texts at once where every byte is a character: cutting is cheaper than decoding. */
  readonly #ascii: string | null;

  constructor(columns: RecordColumns) {
    const { texts } = columns;
    this.columns = columns;
    this.#texts = Buffer.from(texts.buffer, texts.byteOffset, texts.byteLength);
    this.#ascii = isAscii(texts) ? this.#texts.toString('latin1') : null;
  }

  svcId(at: number): bigint {
    return this.columns.svcIds[at] ?? 0n;
  }

  companyId(at: number): bigint {
    return this.columns.companyIds[at] ?? 0n;
  }

  platformId(at: number): string | null {
    return this.#text(at, 0) || null;
  }

  platformUniqueId(at: number): string | null {
    return this.#text(at, 1) || null;
  }

  fieldDigests(at: number): string {
    return this.#text(at, 2);
  }

  /** As stored, see `stored-lists.ts`. */
  children(at: number): string | null {
    return this.#text(at, 3) || null;
  }

  deleted(at: number): boolean {
    return this.#is(at, IS_DELETED);
  }

  updatedMs(at: number): number | null {
    return this.#instant(at, 0);
  }

  latestMs(at: number): number | null {
    return this.#instant(at, 1);
  }

  latestFrom(at: number): ParsedRecord['latestFrom'] {
    if (this.#is(at, FROM_PLATFORM)) return 'platform';
    return this.latestMs(at) === null ? null : 'service';
  }

  createdMs(at: number): number | null {
    return this.#instant(at, 2);
  }

  raw(at: number): Uint8Array {
    const { body, places } = this.columns;
    return body.subarray(places[at * PLACES] ?? 0, places[at * PLACES + 1] ?? 0);
  }

  #is(at: number, flag: number): boolean {
    return ((this.columns.flags[at] ?? 0) & flag) !== 0;
  }

  #instant(at: number, which: number): number | null {
    const ms = this.columns.instants[at * INSTANTS + which] ?? Number.NaN;
    return Number.isNaN(ms) ? null : ms;
  }

  #text(at: number, which: number): string {
    const { places } = this.columns;
    const start = places[at * PLACES + 2 + which] ?? 0;
    const end = places[at * PLACES + 3 + which] ?? 0;
    return this.#ascii === null ? this.#texts.toString('utf8', start, end) : this.#ascii.slice(start, end);
  }
}

/** The records as objects. */
export function recordsOf(columns: RecordColumns): ParsedRecord[] {
  const from = new ColumnReader(columns);
  return Array.from({ length: columns.length }, (_, at) => ({
    svcId: from.svcId(at),
    companyId: from.companyId(at),
    platformId: from.platformId(at),
    platformUniqueId: from.platformUniqueId(at),
    deleted: from.deleted(at),
    updatedMs: from.updatedMs(at),
    latestMs: from.latestMs(at),
    latestFrom: from.latestFrom(at),
    createdMs: from.createdMs(at),
    fieldDigests: from.fieldDigests(at),
    children: childrenOf(from.children(at)),
    raw: from.raw(at),
  }));
}

function childrenOf(stored: string | null): readonly ParsedChild[] {
  if (stored === null) return [];
  return parseChildren(stored).map(([path, svcId, platformId, platformUniqueId, deleted]) => ({
    path,
    svcId: BigInt(svcId),
    platformId,
    platformUniqueId,
    deleted: deleted === 1,
  }));
}

/** Records as columns, of a body of their own. */
export function columnsOf(records: readonly ParsedRecord[]): RecordColumns {
  const writer = new ColumnWriter(Buffer.concat(records.map(({ raw }) => raw)), records.length);
  let start = 0;
  for (const record of records) {
    writer.begin(record.svcId, record.companyId, start, start + record.raw.length);
    const texts = [
      record.platformId,
      record.platformUniqueId,
      record.fieldDigests,
      renderChildren(record.children),
    ];
    for (const text of texts) {
      writer.texts.text(text ?? '');
      writer.endText();
    }
    const flags = (record.deleted ? IS_DELETED : 0) | (record.latestFrom === 'platform' ? FROM_PLATFORM : 0);
    const { updatedMs, latestMs, createdMs } = record;
    writer.end(flags, updatedMs ?? Number.NaN, latestMs ?? Number.NaN, createdMs ?? Number.NaN);
    start += record.raw.length;
  }
  return writer.take();
}

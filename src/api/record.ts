import type { ParsedChild, ParsedRecord, RejectedObject } from '../domain.js';
import { type ChildList, ChildReader } from './children.js';
import { FactReader } from './fact-reader.js';
import { parseIsoDate } from './iso-date.js';
import { type JsonScanner, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-scan.js';
import { Members } from './members.js';
import type { RecordLayout } from './record-layout.js';
import { parseInt64, parsePlatformKey } from './svc-ids.js';

type RejectReason = RejectedObject['reason'];

/** Reads the objects of a page's list: what can be taken as a record, and what cannot. */
export class RecordReader {
  records: ParsedRecord[] = [];
  rejected: RejectedObject[] = [];
  readonly #scanner: JsonScanner;
  readonly #layout: RecordLayout;
  readonly #companyId: bigint | null;
  readonly #members: Members;
  readonly #facts: FactReader;
  readonly #childReader: ChildReader;
  /** Per children field, what its last array held. */
  readonly #childLists: ChildList[] = [];
  readonly #readChildren: ((slot: number, at: number) => number) | null;
  /** Per slot: the instant of a date, NaN where it is none. */
  readonly #instants: Float64Array;

  constructor(scanner: JsonScanner, layout: RecordLayout, companyId: bigint | null) {
    this.#scanner = scanner;
    this.#layout = layout;
    this.#companyId = companyId;
    this.#members = new Members(layout.table, scanner);
    this.#facts = new FactReader(scanner, layout, this.#members);
    this.#childReader = new ChildReader(scanner, layout);
    this.#instants = new Float64Array(layout.firstChild);
    this.#readChildren = layout.childPaths.length === 0 ? null : (slot, at) => this.#readChildField(slot, at);
  }

  /** Forgets what was read: an earlier list under a key that came again. */
  reset(): void {
    this.records = [];
    this.rejected = [];
  }

  /** Walks the array at `at` and tells where it ends. */
  readList(at: number): number {
    const scanner = this.#scanner;
    let i = scanner.enter(at);
    for (let position = 0; scanner.more; position++) {
      i = scanner.nextItem(this.readItem(i, position));
    }
    return i;
  }

  /** Walks one item of the list and tells where it ends. */
  readItem(at: number, position: number): number {
    const scanner = this.#scanner;
    if (scanner.bytes[at] !== OPEN_OBJECT) {
      const end = scanner.skipValue(at);
      this.#reject(position, 'not_an_object', at, end);
      return end;
    }
    const end = this.#members.read(at, this.#layout.firstChild, this.#readChildren);
    this.#takeRecord(at, end, position);
    return end;
  }

  #takeRecord(start: number, end: number, position: number): void {
    const { id, companyId: company } = this.#layout;
    const svcId = this.#integer(id);
    const companyId = this.#integer(company);
    if (svcId === null) this.#reject(position, this.#missing(id, 'svc_id'), start, end);
    else if (companyId === null) this.#reject(position, this.#missing(company, 'company_id'), start, end);
    else if (companyId !== (this.#companyId ?? companyId))
      this.#reject(position, 'other_company', start, end);
    else this.records.push(this.#buildRecord(svcId, companyId, start, end, position));
  }

  #buildRecord(svcId: bigint, companyId: bigint, start: number, end: number, at: number): ParsedRecord {
    const layout = this.#layout;
    this.#readInstants();
    const platformMs = this.#latest(layout.dates);
    const latestMs = platformMs ?? this.#latest(layout.serviceDates);
    const { bytes } = this.#scanner;
    return {
      svcId,
      companyId,
      platformId: parsePlatformKey(this.#scanner, this.#members, layout.platformId),
      platformUniqueId: parsePlatformKey(this.#scanner, this.#members, layout.uniqueId),
      deleted: this.#members.kind(layout.deletedAt) !== 0,
      updatedMs: this.#instant(layout.svcUpdatedAt),
      latestMs,
      latestFrom: platformMs !== null ? 'platform' : latestMs !== null ? 'service' : null,
      createdMs: this.#instant(layout.createdAt) ?? this.#instant(layout.orgCreatedAt),
      facts: this.#facts.build(this.#instants),
      children: this.#takeChildren(at),
      raw: bytes.subarray(start, end),
    };
  }

  #integer(slot: number): bigint | null {
    const members = this.#members;
    if (members.isAbsent(slot)) return null;
    return parseInt64(this.#scanner.bytes, members.start(slot), members.end(slot));
  }

  #missing(slot: number, name: 'svc_id' | 'company_id'): RejectReason {
    return this.#members.kind(slot) === 0 ? `no_${name}` : `bad_${name}`;
  }

  #reject(position: number, reason: RejectReason, start: number, end: number): void {
    this.rejected.push({ position, path: '', reason, raw: this.#scanner.bytes.subarray(start, end) });
  }

  #readInstants(): void {
    const { datelike } = this.#layout;
    for (let index = 0; index < datelike.length; index++) {
      const slot = datelike[index] ?? 0;
      const isText = this.#members.kind(slot) === QUOTE;
      this.#instants[slot] = isText ? this.#members.onScalar(slot, parseIsoDate) : Number.NaN;
    }
  }

  #instant(slot: number): number | null {
    const ms = this.#instants[slot] ?? Number.NaN;
    return Number.isNaN(ms) ? null : ms;
  }

  #latest(slots: readonly number[]): number | null {
    let latest: number | null = null;
    for (const slot of slots) {
      const ms = this.#instant(slot);
      if (ms !== null && (latest === null || ms > latest)) latest = ms;
    }
    return latest;
  }

  #readChildField(slot: number, at: number): number {
    if (this.#scanner.bytes[at] !== OPEN_ARRAY) return this.#scanner.skipValue(at);
    const index = slot - this.#layout.firstChild;
    const path = this.#layout.childPaths[index] ?? '';
    return this.#childReader.read(path, at, (list) => {
      this.#childLists[index] = list;
    });
  }

  #takeChildren(position: number): readonly ParsedChild[] {
    let children: readonly ParsedChild[] = [];
    for (let index = 0; index < this.#layout.childPaths.length; index++) {
      const list = this.#childLists[index];
      if (list === undefined || this.#members.kind(this.#layout.firstChild + index) !== OPEN_ARRAY) continue;
      children = children.length === 0 ? list.children : [...children, ...list.children];
      for (const child of list.rejected) this.rejected.push({ position, ...child });
    }
    return children;
  }
}

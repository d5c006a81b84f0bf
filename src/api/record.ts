import type { ListPage, RejectedObject } from '../domain.js';
import { SvcError } from '../errors.js';
import { type JsonScanner, OPEN_OBJECT, QUOTE } from '../json/json-scanner.js';
import { KeyTable, Members } from '../json/members.js';
import { ColumnWriter, FROM_PLATFORM, IS_DELETED } from '../json/record-columns.js';
import { type ChildLayout, ChildReader, type ChildrenLayout } from './child-reader.js';
import { listFields } from './field-digests.js';
import { parseIsoDate } from './iso-date.js';
import { MemberDigester } from './member-digests.js';

/** Maximum number of rejected objects per requested record, because they are kept in memory. */
const MAX_REJECTED_PER_RECORD = 10;

type RejectReason = RejectedObject['reason'];

/** Reads the items of a page's list into records and rejected objects. */
export class RecordReader {
  readonly #columns: ColumnWriter;
  #rejected: RejectedObject[] = [];
  readonly #scanner: JsonScanner;
  readonly #layout: RecordLayout;
  readonly #companyId: bigint | null;
  readonly #maxRejected: number;
  readonly #members: Members;
  readonly #memberDigests: MemberDigester;
  readonly #children: ChildReader;
  /** For each slot, its date in ms since 1970, NaN if it is not a date. */
  readonly #instants: Float64Array;
  /** The next item of the list. */
  #next = 0;
  #position = 0;
  #more = false;

  /** `companyId`: the company that records must belong to; null: any. `limit`: the number of records requested. */
  constructor(scanner: JsonScanner, layout: RecordLayout, companyId: bigint | null, limit: number) {
    this.#scanner = scanner;
    this.#layout = layout;
    this.#companyId = companyId;
    this.#maxRejected = limit * MAX_REJECTED_PER_RECORD;
    this.#columns = new ColumnWriter(scanner.bytes);
    this.#memberDigests = new MemberDigester(scanner, layout.fieldPrefix, layout.childPaths, layout.digested);
    this.#members = new Members(layout.table, scanner, this.#memberDigests);
    this.#children = new ChildReader(scanner, layout);
    this.#instants = new Float64Array(layout.firstChild);
  }

  take(): Pick<ListPage, 'columns' | 'rejected'> {
    return { columns: this.#columns.take(this.#memberDigests.take()), rejected: this.#rejected };
  }

  /** Begins to read the array at `at`. If it is called again for a duplicate key, the last array counts. */
  startList(at: number): void {
    this.#columns.clear();
    this.#memberDigests.clear();
    this.#rejected = [];
    this.#next = this.#scanner.enter(at);
    this.#more = this.#scanner.more;
    this.#position = 0;
  }

  /** Reads the items that begin within the next `byteCount` bytes of the list; returns false at its end. */
  readSlice(byteCount: number): boolean {
    const end = this.#next + byteCount;
    while (this.#more && this.#next < end) {
      this.#next = this.#scanner.nextItem(this.readItem(this.#next, this.#position++));
      this.#more = this.#scanner.more;
    }
    return this.#more;
  }

  /** Reads the array at `at` and returns its end. */
  readList(at: number): number {
    this.startList(at);
    this.readSlice(Number.POSITIVE_INFINITY);
    return this.#next;
  }

  readonly #readChildren = (slot: number, at: number): number =>
    this.#children.walk(slot - this.#layout.firstChild, at);

  /** Reads one item of the list and returns its end. */
  readItem(at: number, position: number): number {
    const scanner = this.#scanner;
    if (scanner.bytes[at] !== OPEN_OBJECT) {
      const end = scanner.skipValue(at);
      this.#reject(position, 'not_an_object', at, end);
      return end;
    }
    this.#children.reset();
    const end = this.#members.read(at, this.#layout.firstChild, this.#readChildren);
    this.#takeRecord(at, end, position);
    return end;
  }

  #takeRecord(start: number, end: number, position: number): void {
    const { id, companyId: company } = this.#layout;
    const svcId = this.#members.integer(id);
    const companyId = this.#members.integer(company);
    if (svcId === null) this.#reject(position, this.#missing(id, 'svc_id'), start, end);
    else if (companyId === null) this.#reject(position, this.#missing(company, 'company_id'), start, end);
    else if (companyId !== (this.#companyId ?? companyId))
      this.#reject(position, 'other_company', start, end);
    else this.#writeRecord(svcId, companyId, start, end, position);
  }

  #writeRecord(svcId: bigint, companyId: bigint, start: number, end: number, position: number): void {
    const columns = this.#columns;
    const layout = this.#layout;
    this.#readInstants();
    const platformMs = this.#latest(layout.dates);
    const latestMs = Number.isNaN(platformMs) ? this.#latest(layout.serviceDates) : platformMs;
    columns.begin(svcId, companyId, start, end);
    let flags = this.#members.kind(layout.deletedAt) === 0 ? 0 : IS_DELETED;
    if (!Number.isNaN(platformMs)) flags |= FROM_PLATFORM;
    this.#writeKey(layout.platformId);
    this.#writeKey(layout.uniqueId);
    this.#children.write(columns.texts, (child) => this.#keepRejected({ position, ...child }));
    columns.endText();
    const createdMs = this.#instants[layout.createdAt] ?? Number.NaN;
    const orgCreatedMs = this.#instants[layout.orgCreatedAt] ?? Number.NaN;
    const updatedMs = this.#instants[layout.svcUpdatedAt] ?? Number.NaN;
    this.#memberDigests.keep(start);
    columns.end(flags, updatedMs, latestMs, Number.isNaN(createdMs) ? orgCreatedMs : createdMs);
  }

  /** Writes the member's text if it can be a join key. */
  #writeKey(slot: number): void {
    const { texts } = this.#columns;
    const isKey = this.#members.isKey(slot);
    if (isKey && this.#members.isEscaped(slot)) texts.text(this.#members.text(slot));
    else if (isKey) {
      const quote = this.#members.kind(slot) === QUOTE ? 1 : 0;
      texts.copy(this.#scanner.bytes, this.#members.start(slot) + quote, this.#members.end(slot) - quote);
    }
    this.#columns.endText();
  }

  #missing(slot: number, name: 'svc_id' | 'company_id'): RejectReason {
    return this.#members.kind(slot) === 0 ? `no_${name}` : `bad_${name}`;
  }

  #reject(position: number, reason: RejectReason, start: number, end: number): void {
    this.#keepRejected({ position, path: '', reason, raw: this.#scanner.bytes.subarray(start, end) });
  }

  #keepRejected(object: RejectedObject): void {
    if (this.#rejected.length >= this.#maxRejected) throw tooManyRejected(this.#maxRejected);
    this.#rejected.push(object);
  }

  #readInstants(): void {
    const { datelike } = this.#layout;
    for (let index = 0; index < datelike.length; index++) {
      const slot = datelike[index] ?? 0;
      const isText = this.#members.kind(slot) === QUOTE;
      this.#instants[slot] = isText ? this.#members.onScalar(slot, parseIsoDate) : Number.NaN;
    }
  }

  /** The latest date of the slots, NaN if there is none. */
  #latest(slots: readonly number[]): number {
    let latest = Number.NaN;
    for (const slot of slots) {
      const ms = this.#instants[slot] ?? Number.NaN;
      if (!(ms <= latest) && !Number.isNaN(ms)) latest = ms;
    }
    return latest;
  }
}

function tooManyRejected(most: number): SvcError {
  return new SvcError('bad_response', `The page has more than ${most} objects that are not records.`, {
    hint: 'Nothing of it was stored. Check baseUrl, fieldPrefix and the model names in the configuration.',
  });
}

/** The format of the pages of a model's lists. */
export interface ListSpec {
  readonly generation: 'v3' | 'v4';
  readonly fieldPrefix: string;
  /** Fields whose array items are children. */
  readonly children: readonly string[];
  readonly dateFields: readonly string[];
  /** With `ids`, only the fields by which companies are paired have digests. */
  readonly payload: 'full' | 'ids';
}

/** The format of the pages of one company's list. */
export interface PageSpec extends ListSpec {
  /** The company that every record must belong to; null: any. */
  readonly companyId: bigint | null;
}

/** The slots (indexes in `table`) of the members that are read from a record. */
interface RecordLayout extends ChildLayout, ChildrenLayout {
  readonly table: KeyTable;
  readonly companyId: number;
  readonly svcUpdatedAt: number;
  readonly createdAt: number;
  readonly orgCreatedAt: number;
  readonly dates: readonly number[];
  readonly serviceDates: readonly number[];
  /** All slots that may contain a date, without duplicates. */
  readonly datelike: readonly number[];
  /** The members whose digests are kept; null: all. */
  readonly digested: readonly string[] | null;
  readonly fieldPrefix: string;
}

/** Assigns slots to the members to read; a name with several uses has one slot. */
export function buildRecordLayout(spec: ListSpec): RecordLayout {
  const prefix = spec.fieldPrefix;
  const identity = [`${prefix}id`, 'platform_id', 'platform_unique_id', `${prefix}deleted_at`];
  const service = [`${prefix}company_id`, `${prefix}created_at`, `${prefix}updated_at`];
  const dates = [...spec.dateFields, 'created_at', 'org_created_at'];
  const named = [...new Set([...identity, ...service, ...dates])];
  // a field with children that is also used otherwise is not read as children
  const childPaths = [...new Set(spec.children)].filter((path) => !named.includes(path));
  const slot = (name: string): number => named.indexOf(name);
  const layout = {
    table: new KeyTable([...named, ...childPaths]),
    ...identitySlots(identity, slot),
    companyId: slot(`${prefix}company_id`),
    svcUpdatedAt: slot(`${prefix}updated_at`),
    createdAt: slot('created_at'),
    orgCreatedAt: slot('org_created_at'),
    dates: spec.dateFields.map(slot),
    serviceDates: [slot(`${prefix}created_at`), slot(`${prefix}updated_at`)],
    digested: spec.payload === 'ids' ? listFields(spec.dateFields) : null,
    fieldPrefix: prefix,
    firstChild: named.length,
    childPaths,
    childTable: new KeyTable([...new Set(identity)]),
    child: identitySlots(identity, (name) => [...new Set(identity)].indexOf(name)),
  };
  const datelike = [...layout.dates, ...layout.serviceDates, layout.createdAt, layout.orgCreatedAt];
  return { ...layout, datelike: [...new Set(datelike)] };
}

function identitySlots(names: readonly string[], slot: (name: string) => number): ChildLayout {
  const [id = '', platformId = '', uniqueId = '', deletedAt = ''] = names;
  return { id: slot(id), platformId: slot(platformId), uniqueId: slot(uniqueId), deletedAt: slot(deletedAt) };
}

import type { ListPage, ParsedRecord } from '../domain.js';
import { SvcError } from '../errors.js';
import { assertUtf8, JsonScanner, JsonSyntaxError, OPEN_ARRAY, OPEN_OBJECT } from '../json/json-scanner.js';
import { KeyTable, Members } from '../json/members.js';
import { recordsOf } from '../json/record-columns.js';
import { buildRecordLayout, type ListSpec, type PageSpec, RecordReader } from './record.js';

/*
 * The shapes of answers: a page of records, a page of the V4 company list, and a single record.
 */

/** V3: data, next and total_count at the top. V4: inside `data`, and more beside it. */
const ENVELOPE = new KeyTable(['next', 'total_count', 'error', 'errors', 'data']);
const NEXT = 0;
const TOTAL_COUNT = 1;
const ERROR = 2;
const ERRORS = 3;
const DATA = 4;

/**
 * Runs `parse`, and describes the problem if the body is not JSON.
 *
 * @throws SvcError `bad_response`
 */
export function guardJson<T>(body: Uint8Array, parse: () => T): T {
  try {
    assertUtf8(body);
    return parse();
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw badPage(
      `the body is ${describeText(body)}, not JSON (wrong from byte ${error.at} of ${body.length})`,
    );
  }
}

function describeText(body: Uint8Array): string {
  const start = Buffer.from(body.subarray(0, 1000)).toString('latin1').trimStart();
  if (start === '') return 'empty';
  if (start.startsWith('<')) return 'an HTML or XML page';
  return start.startsWith('{') || start.startsWith('[') ? 'cut off or damaged' : 'text';
}

/**
 * Reads the envelope of a page of records; `walkList` reads or skips its list and returns where it ends.
 *
 * @throws SvcError `bad_response`
 */
export function readEnvelope(
  scanner: JsonScanner,
  generation: ListSpec['generation'],
  walkList: (at: number) => number,
): Pick<ListPage, 'totalCount' | 'next'> {
  const body = scanner.bytes;
  const [outer, inner] = [new Members(ENVELOPE, scanner), new Members(ENVELOPE, scanner)];
  const readList = (_slot: number, at: number): number =>
    body[at] === OPEN_ARRAY ? walkList(at) : scanner.skipValue(at);
  const readInner = (_slot: number, at: number): number =>
    body[at] === OPEN_OBJECT ? inner.read(at, DATA, readList) : scanner.skipValue(at);
  const start = scanner.skipSpace(0);
  const isObject = body[start] === OPEN_OBJECT;
  const end = isObject ? outer.read(start, DATA, generation === 'v3' ? readList : readInner) : 0;
  scanner.expectEnd(isObject ? end : scanner.skipValue(start));
  if (!isObject) throw badPage(`the body is ${describeKind(body[start] ?? 0)}, not an object`);
  assertNoError(body, outer, [ERROR, ERRORS]);
  assertShape(generation, outer, inner);
  if (generation === 'v4') assertNoError(body, inner, [ERROR, ERRORS]);
  const envelope = generation === 'v3' ? outer : inner;
  return { totalCount: readCount(envelope, TOTAL_COUNT), next: readNext(body, envelope, badPage) };
}

/** Bytes of an `error` member that are kept; fewer are shown. */
const MAX_ERROR_BYTES = 4096;

/**
 * Refuses an envelope with an `error` or `errors` member that is not null.
 *
 * @throws SvcError `bad_response`; its fact `answer` is the member as received
 */
function assertNoError(body: Uint8Array, envelope: Members, slots: readonly number[]): void {
  const slot = slots.find((one) => envelope.kind(one) !== 0);
  if (slot === undefined) return;
  const start = envelope.start(slot);
  const text = body.subarray(start, Math.min(envelope.end(slot), start + MAX_ERROR_BYTES));
  throw new SvcError('bad_response', 'The answer contains an error.', {
    facts: { answer: Buffer.from(text).toString('utf8') },
  });
}

function assertShape(generation: ListSpec['generation'], outer: Members, inner: Members): void {
  const kind = outer.kind(DATA);
  if (generation === 'v3') {
    if (kind === OPEN_ARRAY) return;
    throw badPage(kind === OPEN_OBJECT ? 'it has the shape of a V4 answer' : describeList(outer));
  }
  if (kind === OPEN_ARRAY) throw badPage('it has the shape of a V3 answer');
  if (kind !== OPEN_OBJECT) throw badPage(describeList(outer));
  if (inner.kind(DATA) !== OPEN_ARRAY) throw badPage(`inside data ${describeList(inner)}`);
}

function describeList(members: Members): string {
  if (members.isAbsent(DATA)) return 'there is no `data`';
  return `\`data\` is ${describeKind(members.kind(DATA))}, not a list`;
}

function describeKind(first: number): string {
  if (first === OPEN_OBJECT) return 'an object';
  if (first === OPEN_ARRAY) return 'a list';
  if (first === 0 || first === 0x6e) return 'null';
  return 'a single value';
}

function jsonOf(body: Uint8Array, members: Members, slot: number): unknown {
  const bytes = body.subarray(members.start(slot), members.end(slot));
  return JSON.parse(Buffer.from(bytes).toString('utf8'));
}

/** A non-negative integer, or null: a count is optional, so any other value is ignored. */
function readCount(envelope: Members, slot: number): number | null {
  const count = envelope.integer(slot);
  if (count === null || count < 0n || count > BigInt(Number.MAX_SAFE_INTEGER)) return null;
  return Number(count);
}

function badPage(what: string): SvcError {
  return new SvcError('bad_response', `The answer is not a page: ${what}.`);
}

const LIST_HINT =
  'The shape of the V4 company list is unknown; name the company ids in `v4.companies` instead.';

/** A page of the V4 company list whose companies are not read yet: `at` is the position of their list. */
export interface CompanyListEnvelope {
  readonly scanner: JsonScanner;
  readonly at: number;
  readonly next: () => string | null;
  readonly totalCount: number | null;
}

/**
 * Finds the list in a page of the V4 company list. Its shape is not specified: `{data: […], next}`, or the same inside
 * another `data`.
 *
 * @throws SvcError `bad_response`; `next` throws it if there is no cursor and no null
 */
export function openCompanyList(body: Uint8Array): CompanyListEnvelope {
  const scanner = new JsonScanner(body);
  const start = scanner.skipSpace(0);
  scanner.expectEnd(scanner.skipValue(start));
  const list = findList(scanner, start);
  return {
    scanner,
    at: list.start(DATA),
    next: () => readNext(body, list, badCompanyList),
    totalCount: readCount(list, TOTAL_COUNT),
  };
}

function findList(scanner: JsonScanner, start: number): Members {
  const { bytes } = scanner;
  let at = start;
  for (let depth = 0; depth < 2 && bytes[at] === OPEN_OBJECT; depth++) {
    const members = new Members(ENVELOPE, scanner);
    members.read(at, ENVELOPE.names.length, null);
    assertNoError(bytes, members, [ERROR, ERRORS]);
    if (members.kind(DATA) === OPEN_ARRAY) return members;
    if (members.isAbsent(DATA)) break;
    at = members.start(DATA);
  }
  throw badCompanyList('it holds no list of companies');
}

function readNext(body: Uint8Array, list: Members, bad: (what: string) => SvcError): string | null {
  if (list.isAbsent(NEXT)) throw bad('there is no `next`, so the end of the list is unknown');
  const next = jsonOf(body, list, NEXT);
  if (next === null || (typeof next === 'string' && next !== '')) return next;
  throw bad('its `next` is neither a cursor nor null');
}

export function badCompanyList(what: string): SvcError {
  return new SvcError('bad_response', `The V4 company list cannot be read: ${what}.`, { hint: LIST_HINT });
}

/**
 * The position of the only record in an answer. Its shape is not specified: the record is the outermost object with an
 * id, inside up to two levels of `data`, alone or as the only item of a list.
 *
 * @throws SvcError `bad_response`
 */
export function findRecord(scanner: JsonScanner, start: number, idField: string): number {
  const { bytes } = scanner;
  const table = new KeyTable([idField, 'data', 'error', 'errors']);
  let at = start;
  for (let depth = 0; depth < 3; depth++) {
    if (bytes[at] === OPEN_ARRAY) at = onlyItem(scanner, at);
    if (bytes[at] !== OPEN_OBJECT) break;
    const members = new Members(table, scanner);
    members.read(at, table.names.length, null);
    // an object with an id is the record; its `error` member is a field like any other
    if (!members.isAbsent(0)) return at;
    assertNoError(bytes, members, [2, 3]);
    if (members.isAbsent(1)) break;
    at = members.start(1);
  }
  throw badRecord('it holds no object with an id');
}

function onlyItem(scanner: JsonScanner, at: number): number {
  const item = scanner.enter(at);
  if (!scanner.more) throw badRecord('it is an empty list');
  scanner.nextItem(scanner.skipValue(item));
  if (scanner.more) throw badRecord('it is a list of several records');
  return item;
}

export function badRecord(what: string): SvcError {
  return new SvcError('bad_response', `The answer is not the requested record: ${what}.`);
}

/**
 * Parses the bytes of a page.
 *
 * @param companyId the company that all records must belong to; null: any
 * @param limit the number of records requested
 */
export type PageParser = (
  body: Uint8Array,
  companyId: bigint | null,
  limit: number,
) => Omit<ListPage, 'servedMs'>;

/** An asynchronous `PageParser`. */
export type PausingPageParser = (...args: Parameters<PageParser>) => Promise<ReturnType<PageParser>>;

/**
 * Makes the parser for the lists of a model. Ids are exact to 64 bits. The whole page must be valid JSON in the envelope
 * of its generation; otherwise the parser throws SvcError `bad_response`, without the facts of the request.
 */
export function pageParser(spec: ListSpec): PageParser {
  const layout = buildRecordLayout(spec);
  return (body, companyId, limit) =>
    guardJson(body, () => {
      const scanner = new JsonScanner(body);
      const records = new RecordReader(scanner, layout, companyId, limit);
      const envelope = readEnvelope(scanner, spec.generation, (at) => records.readList(at));
      return { ...records.take(), ...envelope };
    });
}

/** A body of at least `fromBytes` is read in slices of `sliceBytes`; a slice of the smallest records takes 0.1 s. */
const LARGE_PAGES = { fromBytes: 4 * 1024 * 1024, sliceBytes: 1024 * 1024 };

/**
 * Like `pageParser`, but reads a large page, which can take seconds, in slices and awaits `pause` between them, so that
 * signals are handled. The envelope is read first, then the records. An error that `pause` throws ends the parsing.
 */
export function pausingPageParser(
  spec: ListSpec,
  pause: () => Promise<void>,
  { fromBytes, sliceBytes } = LARGE_PAGES,
): PausingPageParser {
  const layout = buildRecordLayout(spec);
  const parseAtOnce = pageParser(spec);
  return async (body, companyId, limit) => {
    if (body.length < fromBytes) return parseAtOnce(body, companyId, limit);
    await pause();
    const scanner = new JsonScanner(body);
    const records = new RecordReader(scanner, layout, companyId, limit);
    const skipList = (at: number): number => {
      records.startList(at);
      return scanner.skipValue(at);
    };
    const envelope = guardJson(body, () => readEnvelope(scanner, spec.generation, skipList));
    do await pause();
    while (records.readSlice(sliceBytes));
    return { ...records.take(), ...envelope };
  };
}

/** `limit` for the reader of a single record: it may have ten times as many rejected children. */
const SINGLE_RECORD_LIMIT = 5000;

/**
 * Parses a single-record answer.
 *
 * @throws SvcError `bad_response`
 */
export function parseSingleRecord(body: Uint8Array, spec: PageSpec, svcId: bigint): ParsedRecord {
  return guardJson(body, () => {
    const scanner = new JsonScanner(body);
    const start = scanner.skipSpace(0);
    scanner.expectEnd(scanner.skipValue(start));
    const reader = new RecordReader(scanner, buildRecordLayout(spec), spec.companyId, SINGLE_RECORD_LIMIT);
    reader.readItem(findRecord(scanner, start, `${spec.fieldPrefix}id`), 0);
    const { columns, rejected } = reader.take();
    const [record] = recordsOf(columns);
    if (record === undefined) throw badRecord(`it is not a usable record (${rejected[0]?.reason})`);
    if (record.svcId !== svcId) throw badRecord(`it is record ${record.svcId} instead of ${svcId}`);
    return record;
  });
}

import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.js';
import type { Generation, ListPage, ModelPair, PageChild, PageRecord, RejectedObject } from '../domain.js';
import { SvcError } from '../errors.js';
import { at } from '../text/at.js';
import { itemTexts, memberText } from './json-text.js';
import { comparedFields, digestFacts, packFacts } from './record-facts.js';

export interface PageFormat {
  readonly generation: Generation;
  readonly fieldPrefix: string;
  readonly children: readonly string[];
  readonly dateFields: readonly string[];
  /** Digests the fields by which records are compared, for records whose bodies are not kept. */
  readonly keepsFacts: boolean;
}

export type ParsedPage = Pick<ListPage, 'records' | 'rejected' | 'next' | 'totalCount'>;

export function pageFormat(config: Config, generation: Generation, pair: ModelPair): PageFormat {
  const { fieldPrefix, backfill, payload } = config;
  const { dateFields } = backfill;
  return { generation, fieldPrefix, children: pair.children, dateFields, keepsFacts: payload === 'ids' };
}

/**
 * Parses the text of a page.
 *
 * @param companyId the company that all records must belong to; null: any
 * @throws SvcError `bad_response`
 */
export function parsePage(text: string, format: PageFormat, companyId: number | bigint | null): ParsedPage {
  const { generation } = format;
  const { list, path, next, totalCount } = openEnvelope(parseJson(text), generation);
  let reader = new RecordReader(format, companyId, list);
  if (reader.isInexact || hasFraction(text, reader.idMembers)) {
    const exact = parseJson(quoteIntegers(text, reader.idMembers));
    reader = new RecordReader(format, companyId, openEnvelope(exact, generation).list);
  }
  const rejected = reader.rejected.length === 0 ? [] : withRawText(reader.rejected, text, path);
  return { records: reader.records, rejected, next, totalCount };
}

// The envelope ----------------------------------------------------------------------------------

export interface Envelope {
  readonly list: readonly unknown[];
  /** The members that lead to the list. */
  readonly path: readonly string[];
  readonly next: string | null;
  readonly totalCount: number | null;
}

export type Members = Readonly<Record<string, unknown>>;

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const start = text.slice(0, 1000).trimStart();
    const what =
      start === '' ? 'empty' : start.startsWith('<') ? 'an HTML or XML page' : 'cut off or damaged';
    throw badPage(`the body is ${what}, not JSON`);
  }
}

/**
 * Opens a page: `{data: [...], next}` in V3, the same inside another `data` in V4. A list that is null counts as empty
 * only where the service also says that there are 0 records and no next page: without the count it may be a failure.
 *
 * @param generation null: V4's list of companies, whose shape is not specified and may be either
 * @throws SvcError `bad_response`
 */
export function openEnvelope(page: unknown, generation: Generation | null): Envelope {
  const outer = assertEnvelope(page, 'the body');
  const isNested = generation === 'v4' || (generation === null && isMembers(outer['data']));
  const path = isNested ? ['data', 'data'] : ['data'];
  const { data, next, total_count: count } = isNested ? assertEnvelope(outer['data'], 'its `data`') : outer;
  const list: unknown = data === null && next === null && count === 0 ? [] : data;
  if (!Array.isArray(list)) throw badPage(`its \`${path.join('.')}\` is ${kindOf(list)}, not a list`);
  if (next === undefined) throw badPage('it has no `next`, so the end of the list is unknown');
  if (next !== null && (typeof next !== 'string' || next === ''))
    throw badPage('its `next` is neither a cursor nor null');
  // A count is optional, so any other value is ignored.
  const isCount = typeof count === 'number' && Number.isSafeInteger(count) && count >= 0;
  return { list, path, next, totalCount: isCount ? count : null };
}

function assertEnvelope(value: unknown, name: string): Members {
  if (!isMembers(value)) throw badPage(`${name} is ${kindOf(value)}, not an object`);
  assertNoError(value);
  return value;
}

export function assertNoError({ error, errors }: Members): void {
  const isNone = (value: unknown) =>
    value === undefined || value === null || (Array.isArray(value) && value.length === 0);
  const said = [error, errors].find((value) => !isNone(value));
  if (said === undefined) return;
  throw new SvcError('bad_response', 'The answer contains an error.', {
    facts: { answer: JSON.stringify(said) },
  });
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : 'a single value';
}

function badPage(what: string): SvcError {
  return new SvcError('bad_response', `The answer is not a page: ${what}.`);
}

// Exact numbers ---------------------------------------------------------------------------------

/*
 * JSON.parse rounds integers beyond 2^53. A page whose ids need more digits, or whose keys are numbers, is parsed again
 * with the numbers of these members quoted: 15 to 20 ms for a page of 1,000 records of 1.2 KB, beside 2.5 ms for other
 * pages. lossless-json takes 90 ms.
 */

/** Begins the strings that stand for numbers. No service knows it, so that none can send such a string. */
const NUMBER = randomUUID();

/** Quotes the numbers of members, with `NUMBER` before them. */
export function quoteIntegers(text: string, members: readonly string[]): string {
  // In valid JSON, these quotes and the colon belong to a member: quotes inside strings follow a backslash.
  const pattern = new RegExp(`("(?:${members.join('|')})"\\s*:\\s*)(-?\\d[\\d.eE+-]*)`, 'g');
  return text.replace(pattern, (_, before: string, number: string) => `${before}"${NUMBER}${number}"`);
}

/** Whether a number of these members has a fraction or an exponent: JSON.parse does not tell 5.0 and 5e0 from 5. */
function hasFraction(text: string, members: readonly string[]): boolean {
  return new RegExp(`"(?:${members.join('|')})"\\s*:\\s*-?\\d+[.eE]`).test(text);
}

/** Quotes the numbers of 16 characters and more of all members, which JSON.parse may round, with `NUMBER` before them. */
export function quoteLongNumbers(text: string): string {
  // In valid JSON, a quote before a colon that no backslash precedes ends the name of a member.
  return text.replace(/(?<!\\)("\s*:\s*)(-?\d[\d.eE+-]{15,})/g, `$1"${NUMBER}$2"`);
}

/** The number that a quoted string stands for, as written; null for other values. */
export function quotedNumber(value: unknown): string | null {
  return typeof value === 'string' && value.startsWith(NUMBER) ? value.slice(NUMBER.length) : null;
}

/** An integer of 64 bits, exact; null for other values, and for numbers that JSON.parse has rounded. */
export function exactInteger(value: unknown): number | bigint | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value + 0 : null;
  const literal = quotedNumber(value);
  if (literal === null || !/^-?\d+$/.test(literal)) return null;
  const integer = BigInt(literal);
  return BigInt.asIntN(64, integer) === integer ? shortest(integer) : null;
}

/** As a number if that is exact, so that equal ids are identical. */
export function shortest(id: number | bigint): number | bigint {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number + 0 : id;
}

// Records ---------------------------------------------------------------------------------------

type RejectReason = RejectedObject['reason'];
type Rejection = Omit<RejectedObject, 'raw'> & { readonly index: number };

const MAX_REJECTED = 100_000;
const NO_CHILDREN: readonly PageChild[] = [];

/** Reads the records of a list. */
class RecordReader {
  readonly records: PageRecord[] = [];
  readonly rejected: Rejection[] = [];
  readonly idMembers: readonly string[];
  /** Whether a number was met that JSON.parse may have rounded. */
  isInexact = false;
  readonly #id: string;
  readonly #companyId: string;
  readonly #deletedAt: string;
  readonly #updatedAt: string;
  readonly #childFields: readonly string[];
  readonly #dateFields: readonly string[];
  readonly #serviceDates: readonly string[];
  readonly #facts: readonly string[] | null;

  constructor(
    { fieldPrefix, children, dateFields, keepsFacts }: PageFormat,
    companyId: number | bigint | null,
    list: readonly unknown[],
  ) {
    this.#id = `${fieldPrefix}id`;
    this.#companyId = `${fieldPrefix}company_id`;
    this.#deletedAt = `${fieldPrefix}deleted_at`;
    this.#updatedAt = `${fieldPrefix}updated_at`;
    this.#childFields = [...new Set(children)];
    this.#dateFields = dateFields;
    this.#serviceDates = [`${fieldPrefix}created_at`, this.#updatedAt];
    this.#facts = keepsFacts ? comparedFields(dateFields) : null;
    this.idMembers = [this.#id, this.#companyId, 'platform_id', 'platform_unique_id'];
    const company = companyId === null ? null : shortest(companyId);
    for (let position = 0; position < list.length; position++) {
      const item = list[position];
      const record = isMembers(item) ? this.#takeRecord(item, position, company) : 'not_an_object';
      if (typeof record === 'string') this.#reject(position, record);
      else this.records.push(record);
    }
  }

  #takeRecord(
    item: Members,
    position: number,
    listCompany: number | bigint | null,
  ): PageRecord | RejectReason {
    const svcId = this.#integer(item[this.#id]);
    const companyId = this.#integer(item[this.#companyId]);
    const deleted = readDeletion(item[this.#deletedAt]);
    if (svcId === null) return missing(item[this.#id], 'svc_id');
    if (companyId === null) return missing(item[this.#companyId], 'company_id');
    if (listCompany !== null && companyId !== listCompany) return 'other_company';
    if (deleted === null) return 'bad_deleted_at';
    const platformMs = latestDate(item, this.#dateFields);
    const latestMs = platformMs ?? latestDate(item, this.#serviceDates);
    const platformUniqueId = this.#key(item['platform_unique_id']);
    // A quoted number is not what the service sent.
    const facts = this.#facts && digestFacts({ ...item, platform_unique_id: platformUniqueId }, this.#facts);
    return {
      svcId,
      companyId,
      platformId: this.#key(item['platform_id']),
      platformUniqueId,
      deleted,
      updatedMs: readDate(item[this.#updatedAt]),
      latestMs,
      latestFrom: platformMs !== null ? 'platform' : latestMs !== null ? 'service' : null,
      createdMs: readDate(item['created_at']) ?? readDate(item['org_created_at']),
      children: this.#childFields.length === 0 ? NO_CHILDREN : this.#readChildren(item, svcId, position),
      facts: facts && packFacts(facts),
    };
  }

  #readChildren(record: Members, parent: number | bigint, position: number): readonly PageChild[] {
    const children: PageChild[] = [];
    for (const path of this.#childFields) {
      const list = record[path];
      if (!Array.isArray(list)) continue;
      for (let index = 0; index < list.length; index++) {
        const item: unknown = list[index];
        // Objects without an id are no children: not all line items have ids.
        if (!isMembers(item) || item[this.#id] === undefined) continue;
        const svcId = this.#integer(item[this.#id]);
        const deleted = readDeletion(item[this.#deletedAt]);
        const reject = (reason: RejectReason) => this.#reject(position, reason, parent, path, index);
        if (svcId === null) reject(missing(item[this.#id], 'svc_id'));
        else if (deleted === null) reject('bad_deleted_at');
        else {
          const platformId = this.#key(item['platform_id']);
          const platformUniqueId = this.#key(item['platform_unique_id']);
          children.push({ path, svcId, platformId, platformUniqueId, deleted });
        }
      }
    }
    return children;
  }

  #reject(
    position: number,
    reason: RejectReason,
    parentSvcId: number | bigint | null = null,
    path = '',
    index = 0,
  ): void {
    if (this.rejected.length >= MAX_REJECTED) {
      const text = `The page has more than ${MAX_REJECTED} objects that are not records.`;
      throw new SvcError('bad_response', text, {
        hint: 'Check baseUrl, fieldPrefix and the model names in the configuration.',
      });
    }
    this.rejected.push({ position, path, parentSvcId, reason, index });
  }

  #integer(value: unknown): number | bigint | null {
    if (typeof value === 'number' && !Number.isSafeInteger(value)) this.isInexact = true;
    return exactInteger(value);
  }

  /** The join key: a text, or the digits of an integer literal; null for other values. */
  #key(value: unknown): string | null {
    if (typeof value === 'number') {
      // 5.0 and 5e0 are no integer literals, but JSON.parse does not tell them from 5.
      this.isInexact = true;
      return null;
    }
    if (typeof value !== 'string' || value === '') return null;
    const literal = quotedNumber(value);
    if (literal !== null) return /^-?\d+$/.test(literal) ? literal : null;
    // UTF-8 has no lone surrogates: stored, two such keys could become one.
    return LONE_SURROGATE.test(value) ? null : value;
  }
}

const LONE_SURROGATE = /\p{Surrogate}/u;

function missing(value: unknown, name: 'svc_id' | 'company_id'): RejectReason {
  return value === undefined || value === null ? `no_${name}` : `bad_${name}`;
}

function withRawText(
  rejected: readonly Rejection[],
  text: string,
  path: readonly string[],
): RejectedObject[] {
  const items = itemTexts(memberText(text, path) ?? '');
  return rejected.map(({ index, ...object }) => {
    const item = at(items, object.position);
    if (object.path === '') return { ...object, raw: item };
    return { ...object, raw: at(itemTexts(memberText(item, [object.path]) ?? ''), index) };
  });
}

// Dates -----------------------------------------------------------------------------------------

function readDeletion(value: unknown): boolean | null {
  if (value === null || value === undefined) return false;
  return typeof value === 'string' && parseIsoDate(value) > 0 ? true : null;
}

function readDate(value: unknown): number | null {
  const ms = typeof value === 'string' ? parseIsoDate(value) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}

function latestDate(record: Members, names: readonly string[]): number | null {
  let latest = Number.NaN;
  let latestText = '';
  for (const name of names) {
    const value = record[name];
    if (typeof value !== 'string') continue;
    // Dates in UTC of one length compare as texts, which is faster than parsing them.
    if (value.length === latestText.length && value <= latestText && value.endsWith('Z')) continue;
    const ms = parseIsoDate(value);
    if (Number.isNaN(ms) || ms <= latest) continue;
    latest = ms;
    latestText = value.endsWith('Z') ? value : '';
  }
  return Number.isNaN(latest) ? null : latest;
}

/** `YYYY-MM-DDThh:mm:ss.sssZ` with a day that every month has. */
const USUAL = /^\d{4}-\d\d-(?:[01]\d|2[0-8])T\d\d:\d\d:\d\d\.\d{3}Z$/;
const ISO_DATE =
  /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?))?(?:[Zz]|([+-]\d\d)(?::?(\d\d))?)?$/;

/**
 * Parses an ISO 8601 date; returns ms since 1970, or NaN if it is invalid.
 *
 * `YYYY-MM-DD`, optionally with a time (`hh:mm`, seconds and a fraction of any length optional) and an offset (`Z`,
 * `+hh`, `+hhmm`, `+hh:mm`). The default time is midnight, the default offset UTC. Digits beyond the millisecond are
 * truncated. `Date.parse` takes 31 February for 3 March, and times without an offset for local time.
 */
export function parseIsoDate(text: string): number {
  // Most dates have this form, which needs no second look.
  if (USUAL.test(text)) return Date.parse(text);
  const [, date, time = '00:00', hours, minutes = '00'] = ISO_DATE.exec(text) ?? [];
  if (date === undefined || !isDay(date)) return Number.NaN;
  const offset = hours === undefined ? 'Z' : `${hours}:${minutes}`;
  return Date.parse(`${date}T${time.replace(',', '.')}${offset}`);
}

function isDay(date: string): boolean {
  const ms = Date.parse(date);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}

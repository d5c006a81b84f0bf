import { randomUUID } from 'node:crypto';
import type { Config } from '../config/config.js';
import type { Generation, ListPage, ModelPair, PageChild, PageRecord, RejectedObject } from '../domain.js';
import { SvcError } from '../errors.js';
import { isMembers, type Members, openEnvelope, parseJson } from './envelope.js';
import { parseIsoDate } from './iso-date.js';
import { itemTexts, valueStart } from './raw-text.js';

export interface PageFormat {
  readonly generation: Generation;
  readonly fieldPrefix: string;
  readonly children: readonly string[];
  readonly dateFields: readonly string[];
}

export type ParsedPage = Pick<ListPage, 'records' | 'rejected' | 'companies' | 'next' | 'totalCount'>;

/**
 * Parses the text of a page.
 *
 * @param companyId the company that all records must belong to; null: any
 * @throws SvcError `bad_response`
 */
export type ParsePage = (text: string, companyId: number | bigint | null) => ParsedPage;

export function pageFormat(config: Config, generation: Generation, pair: ModelPair): PageFormat {
  const { fieldPrefix, backfill } = config;
  return { generation, fieldPrefix, children: pair.children, dateFields: backfill.dateFields };
}

export function pageParser(format: PageFormat): ParsePage {
  const reader = new RecordReader(format);
  return (text, company) => {
    const companyId = company === null ? null : shortest(company);
    const { list, path, next, totalCount } = openEnvelope(parseJson(text), format.generation);
    let taken = reader.readList(list, companyId);
    if (taken.isInexact) {
      const exact = parseJson(quoteIntegers(text, reader.idMembers));
      taken = reader.readList(openEnvelope(exact, format.generation).list, companyId);
    }
    const rejected = taken.rejected.length === 0 ? [] : withRawText(taken.rejected, text, path);
    return { records: taken.records, rejected, companies: [], next, totalCount };
  };
}

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

/** The number that a string of `quoteIntegers` stands for, as written; null for other values. */
function quotedNumber(value: unknown): string | null {
  return typeof value === 'string' && value.startsWith(NUMBER) ? value.slice(NUMBER.length) : null;
}

/** An integer of 64 bits, exact; null for other values, and for numbers that JSON.parse has rounded. */
export function exactInteger(value: unknown): number | bigint | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value + 0 : null;
  const literal = quotedNumber(value);
  if (literal === null || !/^-?\d+$/.test(literal)) return null;
  const integer = BigInt(literal);
  if (BigInt.asIntN(64, integer) !== integer) return null;
  return shortest(integer);
}

/** As a number if that is exact, so that equal ids are identical. */
function shortest(id: number | bigint): number | bigint {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number + 0 : id;
}

type RejectReason = RejectedObject['reason'];
type Rejection = Omit<RejectedObject, 'raw'> & { readonly index: number };

interface Taken {
  readonly records: PageRecord[];
  readonly rejected: Rejection[];
  /** Whether a number was met that JSON.parse may have rounded. */
  isInexact: boolean;
}

const MAX_REJECTED = 100_000;
const NO_CHILDREN: readonly PageChild[] = [];

class RecordReader {
  readonly idMembers: readonly string[];
  readonly #id: string;
  readonly #companyId: string;
  readonly #deletedAt: string;
  readonly #updatedAt: string;
  readonly #childFields: readonly string[];
  readonly #dateFields: readonly string[];
  readonly #serviceDates: readonly string[];
  #taken: Taken = { records: [], rejected: [], isInexact: false };

  constructor({ fieldPrefix, children, dateFields }: PageFormat) {
    this.#id = `${fieldPrefix}id`;
    this.#companyId = `${fieldPrefix}company_id`;
    this.#deletedAt = `${fieldPrefix}deleted_at`;
    this.#updatedAt = `${fieldPrefix}updated_at`;
    this.#childFields = [...new Set(children)];
    this.#dateFields = dateFields;
    this.#serviceDates = [`${fieldPrefix}created_at`, this.#updatedAt];
    this.idMembers = [this.#id, this.#companyId, 'platform_id', 'platform_unique_id'];
  }

  readList(list: readonly unknown[], companyId: number | bigint | null): Taken {
    const taken: Taken = { records: [], rejected: [], isInexact: false };
    this.#taken = taken;
    for (let position = 0; position < list.length; position++)
      this.#readItem(list[position], position, companyId);
    return taken;
  }

  #readItem(item: unknown, position: number, listCompany: number | bigint | null): void {
    const record = isMembers(item) ? this.#takeRecord(item, position, listCompany) : 'not_an_object';
    if (typeof record === 'string') this.#reject(position, record);
    else this.#taken.records.push(record);
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
    return {
      svcId,
      companyId,
      platformId: this.#key(item['platform_id']),
      platformUniqueId: this.#key(item['platform_unique_id']),
      deleted,
      updatedMs: readDate(item[this.#updatedAt]),
      latestMs,
      latestFrom: platformMs !== null ? 'platform' : latestMs !== null ? 'service' : null,
      createdMs: readDate(item['created_at']) ?? readDate(item['org_created_at']),
      children: this.#childFields.length === 0 ? NO_CHILDREN : this.#readChildren(item, position),
    };
  }

  #readChildren(record: Members, position: number): readonly PageChild[] {
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
        if (svcId === null) this.#reject(position, missing(item[this.#id], 'svc_id'), path, index);
        else if (deleted === null) this.#reject(position, 'bad_deleted_at', path, index);
        else {
          const platformId = this.#key(item['platform_id']);
          const platformUniqueId = this.#key(item['platform_unique_id']);
          children.push({ path, svcId, platformId, platformUniqueId, deleted });
        }
      }
    }
    return children;
  }

  #reject(position: number, reason: RejectReason, path = '', index = 0): void {
    if (this.#taken.rejected.length >= MAX_REJECTED) throw tooManyRejected();
    this.#taken.rejected.push({ position, path, reason, index });
  }

  #integer(value: unknown): number | bigint | null {
    if (typeof value === 'number' && !Number.isSafeInteger(value)) this.#taken.isInexact = true;
    return exactInteger(value);
  }

  /** The join key: a text, or the digits of an integer literal; null for other values. */
  #key(value: unknown): string | null {
    if (typeof value === 'number') {
      // 5.0 and 5e0 are no integer literals, but JSON.parse does not tell them from 5.
      this.#taken.isInexact = true;
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

function withRawText(
  rejected: readonly Rejection[],
  text: string,
  path: readonly string[],
): RejectedObject[] {
  const list = valueStart(text, path);
  const items = list === null ? [] : [...itemTexts(text, list)];
  return rejected.map(({ index, ...object }) => {
    const item = items[object.position] ?? '';
    const children = object.path === '' ? null : valueStart(item, [object.path]);
    const raw = children === null ? item : ([...itemTexts(item, children)][index] ?? '');
    return { ...object, raw };
  });
}

function tooManyRejected(): SvcError {
  return new SvcError(
    'bad_response',
    `The page has more than ${MAX_REJECTED} objects that are not records.`,
    {
      hint: 'Nothing of it was stored. Check baseUrl, fieldPrefix and the model names in the configuration.',
    },
  );
}

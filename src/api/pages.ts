import type { Config } from '../config/config.js';
import type { Generation, ListPage, ModelPair, PageChild, PageRecord, RejectedObject } from '../domain.js';
import { SvcError } from '../errors.js';
import { at } from '../text/at.js';
import { groupBy } from '../text/rows.js';
import {
  exactInteger,
  isMembers,
  itemTexts,
  type Members,
  memberText,
  quotedNumber,
  quoteIntegers,
  quoteLongNumbers,
  shortest,
} from './exact-json.js';
import {
  comparedFields,
  digestFacts,
  latestDate,
  packFacts,
  parseIsoDate,
  readDate,
} from './record-facts.js';

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

/** @param companyId the company that all records must belong to; null: any. @throws SvcError `bad_response` */
export function parsePage(text: string, format: PageFormat, companyId: number | bigint | null): ParsedPage {
  const { generation } = format;
  const names = namesOf(format.fieldPrefix);
  const exact = isRounded(text, names) ? quoteIntegers(text, [...names.ids, ...KEYS]) : text;
  const { list, path, next, totalCount } = openEnvelope(parseJson(exact), generation);
  const reader = new RecordReader(format, names, companyId, list);
  const rejected = reader.rejected.length === 0 ? [] : withRawText(reader.rejected, text, path);
  return { records: reader.records, rejected, next, totalCount };
}

// The envelope ----------------------------------------------------------------------------------

export interface Envelope {
  readonly list: readonly unknown[];
  readonly path: readonly string[];
  readonly next: string | null;
  readonly totalCount: number | null;
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

function assertNoError({ error, errors }: Members): void {
  const isNone = (value: unknown) =>
    value === undefined || value === null || (Array.isArray(value) && value.length === 0);
  const said = [error, errors].find((value) => !isNone(value));
  if (said === undefined) return;
  throw new SvcError('bad_response', 'The response contains an error.', {
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
  return new SvcError('bad_response', `The response is not a page: ${what}.`);
}

// Records ---------------------------------------------------------------------------------------

type RejectReason = RejectedObject['reason'];
type Rejection = Omit<RejectedObject, 'raw'> & { readonly index: number };

const MAX_REJECTED = 100_000;
const NO_CHILDREN: readonly PageChild[] = [];

const KEYS = ['platform_id', 'platform_unique_id'];

function namesOf(prefix: string) {
  const [id, companyId, updatedAt] = [`${prefix}id`, `${prefix}company_id`, `${prefix}updated_at`];
  const serviceDates = [`${prefix}created_at`, updatedAt];
  return { id, companyId, ids: [id, companyId], deletedAt: `${prefix}deleted_at`, updatedAt, serviceDates };
}

type Names = ReturnType<typeof namesOf>;

/** Whether JSON.parse would round an id, or take 5.0 or 5e0 for one, or whether a key is a number. */
function isRounded(text: string, { ids }: Names): boolean {
  const [id, key] = [`"(?:${ids.join('|')})"`, `"(?:${KEYS.join('|')})"`];
  return new RegExp(`${id}\\s*:\\s*-?(?:\\d{16}|\\d+[.eE])|${key}\\s*:\\s*-?\\d`).test(text);
}

class RecordReader {
  readonly records: PageRecord[] = [];
  readonly rejected: Rejection[] = [];
  readonly #names: Names;
  readonly #childFields: readonly string[];
  readonly #dateFields: readonly string[];
  readonly #facts: readonly string[] | null;

  constructor(
    { children, dateFields, keepsFacts }: PageFormat,
    names: Names,
    companyId: number | bigint | null,
    list: readonly unknown[],
  ) {
    this.#names = names;
    this.#childFields = [...new Set(children)];
    this.#dateFields = dateFields;
    this.#facts = keepsFacts ? comparedFields(dateFields) : null;
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
    const names = this.#names;
    const svcId = exactInteger(item[names.id]);
    const companyId = exactInteger(item[names.companyId]);
    const deleted = readDeletion(item[names.deletedAt]);
    if (svcId === null) return missing(item[names.id], 'svc_id');
    if (companyId === null) return missing(item[names.companyId], 'company_id');
    if (listCompany !== null && companyId !== listCompany) return 'other_company';
    if (deleted === null) return 'bad_deleted_at';
    const platformMs = latestDate(item, this.#dateFields);
    const latestMs = platformMs ?? latestDate(item, names.serviceDates);
    const platformUniqueId = readKey(item['platform_unique_id']);
    // A quoted number is not what the service sent.
    const facts = this.#facts && digestFacts({ ...item, platform_unique_id: platformUniqueId }, this.#facts);
    return {
      svcId,
      companyId,
      platformId: readKey(item['platform_id']),
      platformUniqueId,
      deleted,
      updatedMs: readDate(item[names.updatedAt]),
      latestMs,
      latestFrom: platformMs !== null ? 'platform' : latestMs !== null ? 'service' : null,
      createdMs: readDate(item['created_at']) ?? readDate(item['org_created_at']),
      children: this.#childFields.length === 0 ? NO_CHILDREN : this.#readChildren(item, svcId, position),
      facts: facts && packFacts(facts),
    };
  }

  #readChildren(record: Members, parent: number | bigint, position: number): readonly PageChild[] {
    const { id, deletedAt } = this.#names;
    const children: PageChild[] = [];
    for (const path of this.#childFields) {
      const list = record[path];
      if (!Array.isArray(list)) continue;
      for (let index = 0; index < list.length; index++) {
        const item: unknown = list[index];
        // Objects without an id are not children: not all line items have ids.
        if (!isMembers(item) || item[id] === undefined) continue;
        const svcId = exactInteger(item[id]);
        const deleted = readDeletion(item[deletedAt]);
        const reject = (reason: RejectReason) => this.#reject(position, reason, parent, path, index);
        if (svcId === null) reject(missing(item[id], 'svc_id'));
        else if (deleted === null) reject('bad_deleted_at');
        else {
          const platformId = readKey(item['platform_id']);
          const platformUniqueId = readKey(item['platform_unique_id']);
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
}

/** The join key: a text, or the digits of an integer literal; null for other values. */
function readKey(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  const literal = quotedNumber(value);
  if (literal !== null) return /^-?\d+$/.test(literal) ? literal : null;
  // UTF-8 has no lone surrogates: stored, two such keys could become one.
  return LONE_SURROGATE.test(value) ? null : value;
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
  const lists = groupBy(rejected, ({ position, path: field }) => `${position} ${field}`);
  return [...lists.values()].flatMap((list) => {
    const { position, path: field } = at(list, 0);
    const item = at(items, position);
    const texts = field === '' ? [item] : itemTexts(memberText(item, [field]) ?? '');
    return list.map(({ index, ...object }) => ({ ...object, raw: at(texts, index) }));
  });
}

function readDeletion(value: unknown): boolean | null {
  if (value === null || value === undefined) return false;
  return typeof value === 'string' && parseIsoDate(value) > 0 ? true : null;
}

// Single records --------------------------------------------------------------------------------

/** The members of a record or child; numbers that JSON.parse would round are strings, as they were written. */
export type RecordMembers = Members;

/**
 * The only record in an answer, whose shape is not specified: the outermost object with an id, inside up to two levels of
 * `data`, alone or as the only item of a list.
 *
 * @throws SvcError `bad_response` if there is none, or if it has another id
 */
export function parseRecord(text: string, idField: string, svcId: bigint): RecordMembers {
  let value = parseJson(quoteLongNumbers(text));
  for (let depth = 0; depth < 3; depth++) {
    if (Array.isArray(value) && value.length !== 1) throw badRecord(`it is a list of ${value.length}`);
    const object: unknown = Array.isArray(value) ? value[0] : value;
    if (!isMembers(object)) break;
    // An `error` member of an object with an id is a field like any other.
    if (object[idField] !== undefined) return assertId(object, idField, svcId);
    assertNoError(object);
    value = object['data'];
  }
  throw badRecord('it holds no object with an id');
}

function assertId(object: Members, idField: string, svcId: bigint): RecordMembers {
  const record = findMembers([object], idField, svcId);
  if (record === null) throw badRecord(`its ${idField} is ${String(withNumbers(object)[idField])}`);
  return record;
}

function badRecord(what: string): SvcError {
  return new SvcError('bad_response', `The response is not the requested record: ${what}.`);
}

/** The record with this id in the text of a stored page; null if the page has none. */
export function findRecordInPage(
  text: string,
  { generation, fieldPrefix }: Pick<PageFormat, 'generation' | 'fieldPrefix'>,
  svcId: bigint,
): RecordMembers | null {
  const { list } = openEnvelope(parseJson(quoteLongNumbers(text)), generation);
  return findMembers(list, `${fieldPrefix}id`, svcId);
}

/** The object with this id in a list, which may be a member of a record; null if there is none. */
export function findMembers(list: unknown, idField: string, svcId: bigint): RecordMembers | null {
  const id = shortest(svcId);
  const items: readonly unknown[] = Array.isArray(list) ? list : [];
  const item = items.filter(isMembers).find((each) => exactInteger(each[idField]) === id);
  return item === undefined ? null : withNumbers(item);
}

function withNumbers(object: Members): RecordMembers {
  return Object.fromEntries(
    Object.entries(object).map(([name, value]) => [name, quotedNumber(value) ?? value]),
  );
}

import type { Generation } from '../domain.js';
import { SvcError } from '../errors.js';

export interface Envelope {
  readonly list: readonly unknown[];
  readonly next: string | null;
  readonly totalCount: number | null;
}

type Members = Readonly<Record<string, unknown>>;

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw badPage(`the body is ${describeText(text)}, not JSON`);
  }
}

function describeText(text: string): string {
  const start = text.slice(0, 1000).trimStart();
  if (start === '') return 'empty';
  if (start.startsWith('<')) return 'an HTML or XML page';
  return start.startsWith('{') || start.startsWith('[') ? 'cut off or damaged' : 'text';
}

export function openEnvelope(generation: Generation, page: unknown): Envelope {
  if (!isMembers(page)) throw badPage(`the body is ${kindOf(page)}, not an object`);
  assertNoError(page);
  const { data } = page;
  if (generation === 'v3') {
    if (isMembers(data)) throw badPage('it has the shape of a V4 answer');
    return readEnvelope(page, 'there', badPage);
  }
  if (Array.isArray(data)) throw badPage('it has the shape of a V3 answer');
  if (!isMembers(data)) throw badPage(describeList(page, 'there'));
  assertNoError(data);
  return readEnvelope(data, 'inside data there', badPage);
}

/**
 * Opens a page of V4's list of companies. Its shape is not specified: `{data: […], next}`, or the same inside another
 * `data`.
 *
 * @throws SvcError `bad_response`
 */
export function openCompanyEnvelope(page: unknown): Envelope & { readonly path: readonly string[] } {
  if (!isMembers(page)) throw badCompanyList(`the body is ${kindOf(page)}, not an object`);
  assertNoError(page);
  const { data } = page;
  if (!isMembers(data)) return { ...readEnvelope(page, 'there', badCompanyList), path: ['data'] };
  assertNoError(data);
  return { ...readEnvelope(data, 'inside data there', badCompanyList), path: ['data', 'data'] };
}

/**
 * A list that is null counts as empty only where the service also says that there are 0 records and no next page. Without
 * the count it may be a failure, and an empty list would hide its records.
 */
function readEnvelope(envelope: Members, place: string, bad: (what: string) => SvcError): Envelope {
  const totalCount = readCount(envelope['total_count']);
  const isEmpty = envelope['data'] === null && envelope['next'] === null && totalCount === 0;
  const list: unknown = isEmpty ? [] : envelope['data'];
  if (!Array.isArray(list)) throw bad(describeList(envelope, place));
  return { list, next: readNext(envelope, bad), totalCount };
}

function readNext({ next }: Members, bad: (what: string) => SvcError): string | null {
  if (next === undefined) throw bad('there is no `next`, so the end of the list is unknown');
  if (next === null || (typeof next === 'string' && next !== '')) return next;
  throw bad('its `next` is neither a cursor nor null');
}

/** A non-negative integer, or null: a count is optional, so any other value is ignored. */
function readCount(count: unknown): number | null {
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
}

function assertNoError(envelope: Members): void {
  const said = [envelope['error'], envelope['errors']].find((error) => !isEmpty(error));
  if (said === undefined) return;
  throw new SvcError('bad_response', 'The answer contains an error.', {
    facts: { answer: JSON.stringify(said) },
  });
}

function isEmpty(error: unknown): boolean {
  return error === undefined || error === null || (Array.isArray(error) && error.length === 0);
}

function describeList(envelope: Members, place: string): string {
  const { data } = envelope;
  if (data === undefined) return `${place} is no \`data\``;
  if (data === null) {
    return `${place} \`data\` is null, and no total_count of 0 says that the list is empty`;
  }
  return `${place} \`data\` is ${kindOf(data)}, not a list`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : 'a single value';
}

function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function badPage(what: string): SvcError {
  return new SvcError('bad_response', `The answer is not a page: ${what}.`);
}

export function badCompanyList(what: string): SvcError {
  return new SvcError('bad_response', `V4's list of companies cannot be read: ${what}.`, {
    hint: 'Name the company ids in `v4.companies`, or the field with the id in `v4.companyIdField`.',
  });
}

/**
 * The only record in a single-record answer, whose shape is not specified: the outermost object with an id, inside up to
 * two levels of `data`, alone or as the only item of a list.
 *
 * @throws SvcError `bad_response`
 */
export function openRecord(answer: unknown, idField: string): Members {
  let value = answer;
  for (let depth = 0; depth < 3; depth++) {
    if (Array.isArray(value)) {
      if (value.length !== 1)
        throw badRecord(value.length === 0 ? 'it is an empty list' : 'it is several records');
      value = value[0];
    }
    if (!isMembers(value)) break;
    // An `error` member of an object with an id is a field like any other.
    if (value[idField] !== undefined) return value;
    assertNoError(value);
    value = value['data'];
  }
  throw badRecord('it holds no object with an id');
}

export function badRecord(what: string): SvcError {
  return new SvcError('bad_response', `The answer is not the requested record: ${what}.`);
}

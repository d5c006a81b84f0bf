import type { Generation } from '../domain.js';
import { SvcError } from '../errors.js';

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
    throw badPage(`the body is ${describeText(text)}, not JSON`);
  }
}

function describeText(text: string): string {
  const start = text.slice(0, 1000).trimStart();
  if (start === '') return 'empty';
  if (start.startsWith('<')) return 'an HTML or XML page';
  return start.startsWith('{') || start.startsWith('[') ? 'cut off or damaged' : 'text';
}

/**
 * Opens a page: `{data: [...], next}` in V3, the same inside another `data` in V4.
 *
 * @param generation null: V4's list of companies, whose shape is not specified and may be either
 * @throws SvcError `bad_response`
 */
export function openEnvelope(page: unknown, generation: Generation | null): Envelope {
  const bad = generation === null ? badCompanyList : badPage;
  if (!isMembers(page)) throw bad(`the body is ${kindOf(page)}, not an object`);
  assertNoError(page);
  const { data } = page;
  if (generation === 'v3' && isMembers(data)) throw bad('it has the shape of a V4 answer');
  if (generation === 'v4' && Array.isArray(data)) throw bad('it has the shape of a V3 answer');
  if (!isMembers(data)) {
    if (generation === 'v4') throw bad(describeList(data, 'data'));
    return readEnvelope(page, ['data'], bad);
  }
  assertNoError(data);
  return readEnvelope(data, ['data', 'data'], bad);
}

/**
 * A list that is null counts as empty only where the service also says that there are 0 records and no next page. Without
 * the count it may be a failure, and an empty list would hide its records.
 */
function readEnvelope(
  { data, next, total_count: count }: Members,
  path: readonly string[],
  bad: (what: string) => SvcError,
): Envelope {
  const list: unknown = data === null && next === null && count === 0 ? [] : data;
  if (!Array.isArray(list)) throw bad(describeList(list, path.join('.')));
  if (next === undefined) throw bad('it has no `next`, so the end of the list is unknown');
  if (next !== null && (typeof next !== 'string' || next === '')) {
    throw bad('its `next` is neither a cursor nor null');
  }
  // A count is optional, so any other value is ignored.
  const isCount = typeof count === 'number' && Number.isSafeInteger(count) && count >= 0;
  return { list, path, next, totalCount: isCount ? count : null };
}

export function assertNoError(envelope: Members): void {
  const said = [envelope['error'], envelope['errors']].find((error) => !isEmpty(error));
  if (said === undefined) return;
  throw new SvcError('bad_response', 'The answer contains an error.', {
    facts: { answer: JSON.stringify(said) },
  });
}

function isEmpty(error: unknown): boolean {
  return error === undefined || error === null || (Array.isArray(error) && error.length === 0);
}

function describeList(value: unknown, name: string): string {
  if (value === undefined) return `it has no \`${name}\``;
  if (value === null) return `its \`${name}\` is null, without a total_count of 0`;
  return `its \`${name}\` is ${kindOf(value)}, not a list`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : 'a single value';
}

function badPage(what: string): SvcError {
  return new SvcError('bad_response', `The answer is not a page: ${what}.`);
}

export function badCompanyList(what: string): SvcError {
  return new SvcError('bad_response', `V4's list of companies cannot be read: ${what}.`, {
    hint: 'Name the company ids in `v4.companies`, or the field with the id in `v4.companyIdField`.',
  });
}

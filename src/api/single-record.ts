import { SvcError } from '../errors.js';
import {
  assertNoError,
  exactInteger,
  isMembers,
  type Members,
  openEnvelope,
  type PageFormat,
  parseJson,
  quotedNumber,
  quoteLongNumbers,
  shortest,
} from './pages.js';

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
  return new SvcError('bad_response', `The answer is not the requested record: ${what}.`);
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

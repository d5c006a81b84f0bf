import { isSafeNumber, parse } from 'lossless-json';
import { SvcError } from '../errors.js';
import { at } from '../text/at.js';
import { itemTexts, memberText } from './json-text.js';
import { assertNoError, isMembers, type Members, type PageFormat, parseJson, parsePage } from './pages.js';

/** The members of a record; integers beyond 2^53 are bigints. */
export type RecordMembers = Members;

/** @throws SvcError `bad_response` if it is another record than the one that was asked for */
export function parseRecord(
  text: string,
  format: PageFormat,
  companyId: bigint,
  svcId: bigint,
): RecordMembers {
  const body = recordText(text, `${format.fieldPrefix}id`);
  const page = parsePage(`{"data":[${body}],"next":null}`, { ...format, generation: 'v3' }, companyId);
  const [record] = page.records;
  if (record === undefined) throw badRecord(`it is not a usable record (${page.rejected[0]?.reason})`);
  if (BigInt(record.svcId) !== svcId) throw badRecord(`it is record ${record.svcId} instead of ${svcId}`);
  return parseMembers(body);
}

/**
 * The text of the only record in an answer, whose shape is not specified: the outermost object with an id, inside up to two
 * levels of `data`, alone or as the only item of a list.
 */
function recordText(text: string, idField: string): string {
  let part: string | null = text;
  for (let depth = 0; depth < 3 && part !== null; depth++) {
    let value = parseJson(part);
    if (Array.isArray(value)) {
      if (value.length !== 1) throw badRecord(`it is a list of ${value.length}`);
      part = at(itemTexts(part), 0);
      value = value[0];
    }
    if (!isMembers(value)) break;
    // An `error` member of an object with an id is a field like any other.
    if (value[idField] !== undefined) return part;
    assertNoError(value);
    part = memberText(part, ['data']);
  }
  throw badRecord('it holds no object with an id');
}

function badRecord(what: string): SvcError {
  return new SvcError('bad_response', `The answer is not the requested record: ${what}.`);
}

/** The members of the record with this id in the text of a stored page; null if the page has none. */
export function findRecordInPage(text: string, format: PageFormat, svcId: bigint): RecordMembers | null {
  const list = memberText(text, format.generation === 'v3' ? ['data'] : ['data', 'data']) ?? '';
  const digits = String(svcId);
  for (const item of itemTexts(list)) {
    if (!item.includes(digits)) continue;
    const members = parseMembers(item);
    const id = members[`${format.fieldPrefix}id`];
    if ((typeof id === 'number' || typeof id === 'bigint') && String(id) === digits) return members;
  }
  return null;
}

function parseMembers(text: string): RecordMembers {
  const value = parse(text, undefined, {
    parseNumber: exactNumber,
    onDuplicateKey: ({ newValue }) => newValue,
  });
  return isMembers(value) ? value : {};
}

function exactNumber(literal: string): number | bigint | string {
  if (isSafeNumber(literal)) return Number(literal);
  return /^-?\d+$/.test(literal) ? BigInt(literal) : literal;
}

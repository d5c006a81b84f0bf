import { isSafeNumber, parse } from 'lossless-json';
import type { PageRecord } from '../domain.js';
import { SvcError } from '../errors.js';
import { assertNoError, isMembers, type Members, parseJson } from './envelope.js';
import { type PageFormat, pageParser } from './pages.js';
import { itemTexts, valueStart, valueText } from './raw-text.js';

/** The members of a record; integers beyond 2^53 are bigints. */
export type RecordMembers = Members;

export interface FetchedRecord {
  readonly record: PageRecord;
  readonly members: RecordMembers;
}

/**
 * Makes the parser of a model's single-record answers.
 *
 * @throws SvcError `bad_response` if it is another record than the one that was asked for
 */
export function recordParser(format: PageFormat) {
  const parsePage = pageParser({ ...format, generation: 'v3' });
  const idField = `${format.fieldPrefix}id`;
  return (text: string, companyId: bigint, svcId: bigint): FetchedRecord => {
    const body = recordText(text, idField);
    const { records, rejected } = parsePage(`{"data":[${body}],"next":null}`, companyId);
    const [record] = records;
    if (record === undefined) throw badRecord(`it is not a usable record (${rejected[0]?.reason})`);
    if (BigInt(record.svcId) !== svcId) throw badRecord(`it is record ${record.svcId} instead of ${svcId}`);
    return { record, members: parseMembers(body) };
  };
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
      [part = ''] = itemTexts(part, 0);
      value = value[0];
    }
    if (!isMembers(value)) break;
    // An `error` member of an object with an id is a field like any other.
    if (value[idField] !== undefined) return part;
    assertNoError(value);
    part = valueText(part, 'data');
  }
  throw badRecord('it holds no object with an id');
}

function badRecord(what: string): SvcError {
  return new SvcError('bad_response', `The answer is not the requested record: ${what}.`);
}

/** The members of the record with this id in the text of a stored page; null if the page has none. */
export function findRecordInPage(text: string, format: PageFormat, svcId: bigint): RecordMembers | null {
  const list = valueStart(text, format.generation === 'v3' ? ['data'] : ['data', 'data']);
  if (list === null) return null;
  const [digits, idField] = [String(svcId), `${format.fieldPrefix}id`];
  for (const item of itemTexts(text, list)) {
    if (!item.includes(digits)) continue;
    const members = parseMembers(item);
    const id = members[idField];
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

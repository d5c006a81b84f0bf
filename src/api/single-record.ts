import type { ParsedRecord } from '../domain.js';
import { SvcError } from '../errors.js';
import { JsonScanner, OPEN_ARRAY, OPEN_OBJECT } from '../json/json-scanner.js';
import { KeyTable, Members } from '../json/members.js';
import { recordsOf } from '../json/record-columns.js';
import { assertNoError, guardJson } from './page.js';
import { RecordReader } from './record.js';
import { buildRecordLayout, type PageSpec } from './record-layout.js';

/** Children of one record that may be unusable, divided by ten. */
const MOST_CHILDREN = 5000;

/**
 * The record of a single-record answer, whose shape the specification does not state: the outermost object
 * that has an id, inside up to two levels of `data`, alone or as the only item of a list.
 *
 * @throws SvcError `bad_response`
 */
export function parseSingleRecord(body: Uint8Array, spec: PageSpec, svcId: bigint): ParsedRecord {
  return guardJson(body, () => {
    const scanner = new JsonScanner(body);
    const start = scanner.skipSpace(0);
    scanner.expectEnd(scanner.skipValue(start));
    const reader = new RecordReader(scanner, buildRecordLayout(spec), spec.companyId, MOST_CHILDREN);
    reader.readItem(findRecord(scanner, start, `${spec.fieldPrefix}id`), 0);
    const { columns, rejected } = reader.take();
    const [record] = recordsOf(columns);
    if (record === undefined) throw badRecord(`it is not a usable record (${rejected[0]?.reason})`);
    if (record.svcId !== svcId) throw badRecord(`it is record ${record.svcId} instead of ${svcId}`);
    return record;
  });
}

function findRecord(scanner: JsonScanner, start: number, idField: string): number {
  const { bytes } = scanner;
  const table = new KeyTable([idField, 'data', 'error', 'errors']);
  let at = start;
  for (let depth = 0; depth < 3; depth++) {
    if (bytes[at] === OPEN_ARRAY) at = onlyItem(scanner, at);
    if (bytes[at] !== OPEN_OBJECT) break;
    const members = new Members(table, scanner);
    members.read(at, table.names.length, null);
    // an object with an id is the record, and `error` is one of its fields
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

function badRecord(what: string): SvcError {
  return new SvcError('bad_response', `The answer is not the record asked for: ${what}.`);
}

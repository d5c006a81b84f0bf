import type { ListPage, ParsedRecord } from '../domain.js';
import { JsonScanner } from '../json/json-scanner.js';
import { recordsOf } from '../json/record-columns.js';
import { badRecord, findRecord, guardJson, readEnvelope } from './envelope.js';
import { buildRecordLayout, type ListSpec, type PageSpec, RecordReader } from './record.js';

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

import type { ParsedRecord, RecordColumns } from '../../src/domain.js';
import { ColumnWriter, FROM_PLATFORM, IS_DELETED } from '../../src/json/record-columns.js';

/** Records as columns, of a body of their own. */
export function columnsOf(records: readonly ParsedRecord[]): RecordColumns {
  const writer = new ColumnWriter(Buffer.concat(records.map(({ raw }) => raw)));
  let start = 0;
  for (const record of records) {
    writer.begin(record.svcId, record.companyId, start, start + record.raw.length);
    for (const text of [record.platformId, record.platformUniqueId, record.children]) {
      writer.texts.text(text ?? '');
      writer.endText();
    }
    const flags = (record.deleted ? IS_DELETED : 0) | (record.latestFrom === 'platform' ? FROM_PLATFORM : 0);
    const { updatedMs, latestMs, createdMs } = record;
    writer.end(flags, updatedMs ?? Number.NaN, latestMs ?? Number.NaN, createdMs ?? Number.NaN);
    start += record.raw.length;
  }
  return writer.take();
}

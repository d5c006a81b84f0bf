import { describe, expect, it } from 'vitest';
import { ColumnWriter, FROM_PLATFORM, IS_DELETED, recordsOf } from '../../src/json/record-columns.js';

describe('the columns of a page', () => {
  it('hold every record', () => {
    const writer = new ColumnWriter(Buffer.alloc(400, 'ab'));
    for (let at = 0; at < 150; at++) {
      writer.begin(BigInt(at), -BigInt(at), at, at + 2);
      for (const text of [`p${at}`, at % 2 === 0 ? '' : 'ü', `[${at}]`]) {
        writer.texts.text(text);
        writer.endText();
      }
      const flags = (at % 3 === 0 ? IS_DELETED : 0) | (at % 5 === 0 ? FROM_PLATFORM : 0);
      writer.end(flags, at, at + 1, at % 7 === 0 ? Number.NaN : -at);
    }
    const found = recordsOf(writer.take()).map((record) => ({
      ids: [record.svcId, record.companyId],
      texts: [record.platformId, record.platformUniqueId, record.children],
      instants: [record.updatedMs, record.latestMs, record.createdMs],
      flags: [record.deleted, record.latestFrom],
      raw: Buffer.from(record.raw).toString(),
    }));
    expect(found).toEqual(
      Array.from({ length: 150 }, (_, at) => ({
        ids: [BigInt(at), -BigInt(at)],
        texts: [`p${at}`, at % 2 === 0 ? null : 'ü', `[${at}]`],
        instants: [at, at + 1, at % 7 === 0 ? null : -at],
        flags: [at % 3 === 0, at % 5 === 0 ? 'platform' : 'service'],
        raw: at % 2 === 0 ? 'ab' : 'ba',
      })),
    );
  });
});

import { describe, expect, it } from 'vitest';
import { ColumnReader, ColumnWriter } from '../../src/records/columns.js';

describe('the columns of a page', () => {
  it.each([0, 1, 3, 200])('hold every record where %i were expected', (expected) => {
    const writer = new ColumnWriter(Buffer.from('{}'), expected);
    for (let at = 0; at < 150; at++) {
      writer.begin(BigInt(at), -BigInt(at), 0, 2);
      for (const text of ['', `é${at}`, '\u0000', '']) {
        writer.texts.text(text);
        writer.endText();
      }
      writer.end(0, at, Number.NaN, -at);
    }
    const reader = new ColumnReader(writer.take());
    const found = Array.from({ length: reader.columns.length }, (_, at) => [
      reader.svcId(at),
      reader.companyId(at),
      reader.facts(at),
      reader.updatedMs(at),
      reader.latestMs(at),
      reader.createdMs(at),
    ]);
    expect(found).toEqual(
      Array.from({ length: 150 }, (_, at) => [BigInt(at), -BigInt(at), '\u0000', at, null, -at]),
    );
  });
});

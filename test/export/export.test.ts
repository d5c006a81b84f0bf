import { describe, expect, it } from 'vitest';
import { createFakeService, type FakeRecord } from './fake-service.js';
import { bench, storedRecords } from './support.js';

const LIST = 'v3 eu accounting/invoices all';

function records(count: number, from = 1): FakeRecord[] {
  return Array.from({ length: count }, (_, at) => {
    return { svcId: BigInt(from + at), companyId: 7n, platformId: `p${from + at}`, updatedMs: 5 };
  });
}

describe('export v3', () => {
  it('reads a list to its end', async () => {
    const b = bench();
    const summary = await b.run(createFakeService({ [LIST]: records(10) }));
    expect(summary.complete).toBe(true);
    expect(summary.streams).toMatchObject([
      { state: 'complete', endReason: 'end_of_list', records: 10, uniqueRecords: 10, duplicates: 0 },
    ]);
    expect(b.look(storedRecords)).toHaveLength(10);
  });
});

import { describe, expect, it } from 'vitest';
import { buildRemap } from '../../src/match/build-remap.js';
import { readEntries } from '../../src/store/remap-entries.js';
import { configOf, INVOICES, openExported, things } from '../match/exported.js';

describe('rows that have an id', () => {
  it('begin with the V3 record, before its line items and V4 ids', () => {
    const config = configOf({ companies: { match: 'same_id', include: [], exclude: [] } });
    const { db, close } = openExported(config, {
      v3: things('1 a [5 x]; 5 lost; 9 b [6 y]'),
      v4: things('5 a [105 x]; 109 b [106 y]'),
    });
    buildRemap({ db, config, named: [], clock: { now: () => 0 }, onProgress: () => {} });
    const question = { model: INVOICES, path: null, region: null, companyId: null, id: 5n };
    const rows = readEntries(db, question, 10).map(({ path, v3_svc_id, v4_svc_id }) => [
      path,
      v3_svc_id,
      v4_svc_id,
    ]);
    close();
    expect(rows).toEqual([
      ['', 5n, null],
      ['line_items', 5n, 105n],
      ['', 1n, 5n],
    ]);
  });
});

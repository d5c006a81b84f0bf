import { describe, expect, it } from 'vitest';
import { findContradictions } from '../../../src/store/conservation.js';
import { configOf, INVOICES, openExported, type Thing } from '../../support/exported.js';
import { cpuMsOf, growthOf } from '../../support/growth.js';
import { remapOf } from '../../support/remap-rows.js';

/** CPU time of holding the remap of so many companies, one record each, against what was exported, ms. */
function measure(companies: number): number {
  const config = configOf({ companies: { match: 'same_id', include: [], exclude: [] } });
  const things = Array.from(
    { length: companies },
    (_, at): Thing => ({ id: at + 1, key: `k${at}`, company: at + 1 }),
  );
  const { db, close } = openExported(config, { v3: things, v4: things });
  try {
    remapOf(db, config);
    return cpuMsOf(() => expect(findContradictions(db, [INVOICES], 5)).toEqual([]));
  } finally {
    close();
  }
}

describe('the search for contradictions', () => {
  it('takes time in proportion to the number of companies', () => {
    const growth = growthOf(
      () => measure(1000),
      () => measure(4000),
      7,
    );
    expect(growth).toBeLessThan(7);
  });
});

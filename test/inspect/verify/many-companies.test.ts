import { describe, expect, it } from 'vitest';
import { findContradictions } from '../../../src/store/conservation.js';
import { configOf, INVOICES, openExported, type Thing } from '../../support/exported.js';
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
    const measured = [1, 2, 3].map(() => {
      const before = process.cpuUsage();
      expect(findContradictions(db, [INVOICES], 5)).toEqual([]);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    });
    return Math.min(...measured);
  } finally {
    close();
  }
}

describe('the search for contradictions', () => {
  it('takes time in proportion to the number of companies', () => {
    const few = measure(1000);
    const many = measure(4000);
    process.stderr.write(`1,000 companies: ${few.toFixed(0)} ms, 4,000: ${many.toFixed(0)} ms of CPU\n`);
    expect(many / few).toBeLessThan(7);
  });
});

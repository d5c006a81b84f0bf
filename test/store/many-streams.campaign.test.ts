import { describe, expect, it } from 'vitest';
import { ensureStreams } from '../../src/store/streams.js';
import { cpuMsOf, growthOf } from '../support/growth.js';
import { openTestDatabase } from './support.js';

describe('many streams', () => {
  /** CPU time of planning lists for so many companies twice, ms. */
  function measurePlanning(companies: number): number {
    const planned = Array.from({ length: companies }, (_, at) => ({
      key: { generation: 'v4', region: '', model: 'a/x', companyId: BigInt(at) } as const,
      route: 'x',
    }));
    const db = openTestDatabase();
    const plan = db.transaction(() => {
      ensureStreams(db, planned, 'now');
      ensureStreams(db, planned, 'later');
    });
    const took = cpuMsOf(plan);
    db.close();
    return took;
  }

  it('take time in proportion to their number', () => {
    const growth = growthOf(
      () => measurePlanning(4000),
      () => measurePlanning(16_000),
      7,
    );
    expect(growth).toBeLessThan(7);
  });
});

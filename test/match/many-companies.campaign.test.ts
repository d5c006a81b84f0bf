import { describe, expect, it } from 'vitest';
import { campaign } from '../support/campaign.js';
import { configOf, openExported, type Thing } from '../support/exported.js';
import { cpuMsOf, growthOf } from '../support/growth.js';
import { remapOf } from '../support/remap-rows.js';

const MANY = 600;
/** So many times as many companies take less than twice that time. */
const TIMES = campaign({ small: 4, soak: 8 });

/** CPU time, ms, of a remap of so many companies that use the same number as key, in a record each. */
function cpuOf(count: number): number {
  const same = Array.from({ length: count }, (_, at): Thing => {
    return { id: at + 1, company: at + 1, key: '1', facts: `nm${String(at).padStart(5, '0')}` };
  });
  const { db, close } = openExported(configOf(), { v3: same, v4: same });
  try {
    return cpuMsOf(() => expect(remapOf(db, configOf())).toHaveLength(count));
  } finally {
    close();
  }
}

describe('many companies', () => {
  it('take time in proportion to their number', () => {
    const growth = growthOf(
      () => cpuOf(MANY),
      () => cpuOf(TIMES * MANY),
      TIMES * 2,
    );
    expect(growth).toBeLessThan(TIMES * 2);
  });
});

import { describe, expect, it } from 'vitest';
import { campaignSize } from '../support/campaign.js';
import { configOf, openExported, remapOf, type Thing } from './exported.js';
import { cpuMsOf, growthOf } from './growth.js';

const SAME_ID = configOf({ companies: { match: 'same_id', include: [], exclude: [] } });
const AUTO = configOf();

interface Crowd {
  readonly config: typeof AUTO;
  readonly v3: readonly Thing[];
  readonly v4: readonly Thing[];
}

function many<T>(count: number, make: (at: number) => T): T[] {
  return Array.from({ length: count }, (_, at) => make(at));
}

/** Exports in which everything would be compared with everything, unless each is looked up. */
const CROWDS: readonly (readonly [name: string, few: number, make: (count: number) => Crowd])[] = [
  [
    'companies that use the same number as key',
    600,
    (count) => {
      const same = many(count, (at): Thing => {
        return { id: at + 1, company: at + 1, key: '1', facts: `nm${String(at).padStart(5, '0')}` };
      });
      return { config: AUTO, v3: same, v4: same };
    },
  ],
  [
    'records with one key',
    600,
    (count) => {
      const v3 = many(count, (at): Thing => ({ id: at + 1, key: 'a', uid: `u${at}` }));
      return { config: SAME_ID, v3, v4: v3.map(({ id, ...thing }) => ({ ...thing, id })) };
    },
  ],
  [
    'records with one folded key',
    600,
    (count) => ({
      config: SAME_ID,
      v3: many(count, (at): Thing => ({ id: at + 1, key: `${'0'.repeat(at % 300)}a ${at}` })),
      v4: many(count, (at): Thing => ({ id: at + 1, key: `${'0'.repeat(at % 300)}A ${at}` })),
    }),
  ],
  [
    'children of one record',
    2000,
    (count) => {
      const kids = many(count, (at) => ({ id: at + 1, key: `k${at}` }));
      return { config: SAME_ID, v3: [{ id: 1, key: 'a', kids }], v4: [{ id: 1, key: 'a', kids }] };
    },
  ],
  [
    'records with a child each that share a twin',
    600,
    (count) => {
      const kid = (at: number) => ({ id: at + 1, key: `c${at}` });
      const v3 = many(count, (at): Thing => ({ id: at + 1, key: 'a', deleted: true, kids: [kid(at)] }));
      return { config: SAME_ID, v3, v4: [{ id: 1, key: 'a', kids: many(count, kid) }] };
    },
  ],
];

const TIMES = campaignSize({ small: 3, full: 8 });

describe('crowds', () => {
  it.each(CROWDS)(`of %s take time in proportion (%i, ${TIMES} times)`, (_, few, make) => {
    const cpuOf = (count: number) => {
      const { config, ...exported } = make(count);
      const { db, close } = openExported(config, exported);
      const ms = cpuMsOf(() => expect(remapOf(db, config).length).toBeGreaterThan(0));
      close();
      return ms;
    };
    const growth = growthOf(
      () => cpuOf(few),
      () => cpuOf(few * TIMES),
      TIMES * 2,
    );
    expect(growth).toBeLessThan(TIMES * 2);
  });
});

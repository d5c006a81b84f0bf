import { describe, expect, it } from 'vitest';
import { configOf, openExported, type Thing } from '../support/exported.js';
import { cpuMsOf, growthOf } from '../support/growth.js';
import { remapOf } from '../support/remap-rows.js';

const CONFIG = configOf({ companies: { match: 'same_id', include: [], exclude: [] } });

/** CPU time, ms, of a remap in which `count` deleted V3 records, with a child each, share a twin with as many children. */
function cpuOf(count: number, isOneKey: boolean): number {
  const child = (at: number) => ({ id: at + 1, key: isOneKey ? 'c' : `c${at}` });
  const v3 = Array.from({ length: count }, (_, at): Thing => {
    return { id: at + 1, key: 'a', deleted: true, kids: [child(at)] };
  });
  const v4: Thing[] = [{ id: 1, key: 'a', kids: Array.from({ length: count }, (_, at) => child(at)) }];
  const { db, close } = openExported(CONFIG, { v3, v4 });
  try {
    let rows: ReturnType<typeof remapOf> = [];
    const took = cpuMsOf(() => {
      rows = remapOf(db, CONFIG);
    });
    const pairs = rows.filter(
      ({ path, v3_svc_id, v4_svc_id }) => path !== '' && v3_svc_id !== null && v4_svc_id !== null,
    );
    expect(pairs).toHaveLength(isOneKey ? 0 : count);
    return took;
  } finally {
    close();
  }
}

const COUNT = 600;
const TIMES = 4;

describe('the children of a twin that many records share', () => {
  it.each([
    ['keys of their own', false],
    ['one key', true],
  ])(`with %s take no more than twice ${TIMES} times as long for ${TIMES} times as many`, (_, isOneKey) => {
    const growth = growthOf(
      () => cpuOf(COUNT, isOneKey),
      () => cpuOf(TIMES * COUNT, isOneKey),
      TIMES * 2,
    );
    expect(growth).toBeLessThan(TIMES * 2);
  });
});

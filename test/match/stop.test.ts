import { describe, expect, it } from 'vitest';
import { SvcError } from '../../src/errors.js';
import { buildRemap } from '../../src/match/build-remap.js';
import { configOf, openExported, remapOf, type Thing } from './exported.js';

const KIDS = [1, 2, 3].map((id) => ({ id, key: `k${id}` }));

/** Four pairs of records with children, two of which share their twin, and one record without a twin. */
const v3: Thing[] = [
  { id: 1, key: 'a', kids: KIDS },
  { id: 2, key: 'b', kids: KIDS },
  { id: 3, key: 'c', deleted: true, kids: KIDS },
  { id: 4, key: 'c', deleted: true, kids: KIDS },
  { id: 5, key: 'd', kids: KIDS },
];
const v4: Thing[] = ['a', 'b', 'c'].map((key, at) => ({ id: at + 11, key, kids: KIDS }));

describe('building a remap that is stopped', () => {
  it('ends with the reason of the stop at any step, and keeps the previous remap', () => {
    const config = configOf({ companies: { match: 'same_id', include: [], exclude: [] } });
    const { db, close } = openExported(config, { v3, v4 });
    const before = remapOf(db, config);
    const stored = db.prepare('select * from remap_entry order by id').all();
    const build = (throwIfStopped: () => void) =>
      buildRemap({ db, config, named: [], clock: { now: () => 0 }, onProgress: () => {}, throwIfStopped });
    let asked = 0;
    build(() => {
      asked += 1;
    });
    // every step, the keys, the payloads, every list of children
    expect(asked).toBeGreaterThan(20);
    for (let last = 1; last <= asked; last++) {
      let left = last;
      const stopped = new SvcError('interrupted', 'Stopped.');
      const stop = () => {
        left -= 1;
        if (left === 0) throw stopped;
      };
      expect(() => build(stop)).toThrow(stopped);
      expect(db.inTransaction).toBe(false);
      expect(db.prepare('select * from remap_entry order by id').all()).toEqual(stored);
    }
    expect(remapOf(db, config)).toEqual(before);
    close();
  });
});

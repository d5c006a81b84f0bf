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

describe('building a remap that fails', () => {
  it('ends with the error of any step, and keeps the previous remap', () => {
    const config = configOf({ companies: { match: 'same_id', include: [], exclude: [] } });
    const { db, close } = openExported(config, { v3, v4 });
    const before = remapOf(db, config);
    const stored = db.prepare('select * from remap_entry order by id').all();
    const build = (onProgress: () => void) =>
      buildRemap({ db, config, named: [], clock: { now: () => 0 }, onProgress });
    let steps = 0;
    build(() => {
      steps += 1;
    });
    expect(steps).toBeGreaterThan(8);
    for (let last = 1; last <= steps; last++) {
      let left = last;
      const failed = new SvcError('disk', 'The disk is full.');
      const fail = () => {
        left -= 1;
        if (left === 0) throw failed;
      };
      expect(() => build(fail)).toThrow(failed);
      expect(db.inTransaction).toBe(false);
      expect(db.prepare('select * from remap_entry order by id').all()).toEqual(stored);
    }
    expect(remapOf(db, config)).toEqual(before);
    close();
  });
});

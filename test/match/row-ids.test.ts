import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RowIds } from '../../src/match/exported-parts.js';

test('row ids are read as they were added, however far apart, and in any portions', () => {
  const steps = fc.oneof(
    fc.constantFrom(1, 127, 128, 129, 16_383, 16_384, 2 ** 32, 2 ** 40),
    fc.integer({ min: 1, max: 2 ** 44 }),
  );
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 100 }), fc.integer({ min: 1, max: 60 }), (all, most) => {
      const ids = new RowIds();
      const added: number[] = [];
      for (const step of all) added.push((added.at(-1) ?? 0) + step);
      for (const id of added) ids.push(id);
      expect(ids.length).toBe(added.length);
      // each reader begins anew
      for (const read of [ids.reader(), ids.reader()]) {
        const found: number[] = [];
        for (let some = read(most); some.length > 0; some = read(most)) {
          expect(some.length).toBeLessThanOrEqual(most);
          found.push(...some);
        }
        expect(found).toEqual(added);
      }
    }),
  );
});

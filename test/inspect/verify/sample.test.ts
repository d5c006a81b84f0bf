import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom, planSample } from '../../../src/inspect/verify/verify-remap.js';

const strata = fc.array(fc.nat(60), { minLength: 1, maxLength: 12 });

describe('a sample', () => {
  it('draws about as many as wanted, each once, and leaves no stratum out', () => {
    fc.assert(
      fc.property(strata, fc.integer({ min: 1, max: 400 }), fc.nat(), (sizes, wanted, seed) => {
        const total = sizes.reduce((sum, size) => sum + size, 0);
        const drawn = planSample(sizes, wanted, createRandom(seed));
        const all = new Set(drawn);
        expect(all.size).toBe(drawn.length);
        expect(drawn.length).toBeGreaterThanOrEqual(Math.min(wanted, total));
        expect(drawn.length).toBeLessThanOrEqual(Math.min(wanted, total) + sizes.length);
        let first = 0;
        for (const size of sizes) {
          const own = [...all].filter((at) => at >= first && at < first + size);
          expect(own.length > 0).toBe(size > 0);
          first += size;
        }
        expect([...all].every((at) => at >= 0 && at < total)).toBe(true);
      }),
    );
  });

  it('draws every member equally often', () => {
    const sizes = [10, 30, 20, 40];
    const times = 20_000;
    const counts = new Array<number>(100).fill(0);
    const random = createRandom(3);
    for (let time = 0; time < times; time++) {
      for (const at of planSample(sizes, 10, random)) counts[at] = (counts[at] ?? 0) + 1;
    }
    // Each with a tenth: 2000 expected, standard deviation 42.
    expect(Math.min(...counts)).toBeGreaterThan(1790);
    expect(Math.max(...counts)).toBeLessThan(2210);
  });

  it('draws any member of a stratum that is too small for a share', () => {
    const random = createRandom(3);
    const drawn = Array.from({ length: 300 }, () => planSample([1000, 3], 5, random).at(-1));
    for (const at of [1000, 1001, 1002]) expect(drawn.filter((one) => one === at).length).toBeGreaterThan(70);
  });
});

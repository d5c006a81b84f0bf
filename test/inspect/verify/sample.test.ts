import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom, planSample, upperBound } from '../../../src/inspect/verify/verify-remap.js';

const strata = fc.array(fc.nat(60), { minLength: 1, maxLength: 12 });

describe('a sample', () => {
  it('draws as many as wanted, each once, and leaves no stratum out', () => {
    fc.assert(
      fc.property(strata, fc.integer({ min: 1, max: 400 }), fc.nat(), (sizes, wanted, seed) => {
        const total = sizes.reduce((sum, size) => sum + size, 0);
        const { drawn, extra } = planSample(sizes, wanted, createRandom(seed));
        const all = new Set([...drawn, ...extra]);
        expect(drawn.length).toBe(Math.min(wanted, total));
        expect(all.size).toBe(drawn.length + extra.length);
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

  it('gives each stratum its share, rounded down or up', () => {
    fc.assert(
      fc.property(strata, fc.integer({ min: 1, max: 400 }), fc.nat(), (sizes, wanted, seed) => {
        const total = sizes.reduce((sum, size) => sum + size, 0);
        fc.pre(wanted < total);
        const { drawn } = planSample(sizes, wanted, createRandom(seed));
        let first = 0;
        for (const size of sizes) {
          const own = drawn.filter((at) => at >= first && at < first + size).length;
          expect(Math.abs(own - (size * wanted) / total)).toBeLessThan(1);
          first += size;
        }
      }),
    );
  });

  it('draws every member equally often', () => {
    const sizes = [3, 40, 7, 50];
    const times = 20_000;
    const counts = new Array<number>(100).fill(0);
    const random = createRandom(3);
    for (let time = 0; time < times; time++) {
      for (const at of planSample(sizes, 10, random).drawn) counts[at] = (counts[at] ?? 0) + 1;
    }
    // Each with a tenth: 2000 expected, standard deviation 42.
    expect(Math.min(...counts)).toBeGreaterThan(1790);
    expect(Math.max(...counts)).toBeLessThan(2210);
  });

  it('is the same for the same seed and another for another', () => {
    const draw = (seed: number) => planSample([500, 500], 20, createRandom(seed)).drawn;
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
  });
});

describe('the bound of the share of wrong pairs', () => {
  // Quantiles of the beta distribution, computed with another library.
  it.each([
    [0, 1, 0.95],
    [0, 10, 0.2588655508930522],
    [0, 100, 0.029513049607039925],
    [0, 500, 0.005973551516349557],
    [1, 100, 0.046559811453538935],
    [5, 50, 0.19883300251641847],
    [2, 3, 0.9830475724915585],
    [49, 50, 0.9989746601327679],
    [10, 10, 1],
    [3, 100_000, 0.00007753472238564708],
  ])('for %i wrong of %i is that of Clopper and Pearson', (wrong, read, expected) => {
    expect(upperBound(wrong, read)).toBeCloseTo(expected, 9);
  });

  it('says nothing where nothing was read', () => {
    expect(upperBound(0, 0)).toBe(1);
  });

  it('covers the true share at least as often as it promises', () => {
    const random = createRandom(11);
    const [share, read, times] = [0.03, 120, 4000];
    let covered = 0;
    for (let time = 0; time < times; time++) {
      let wrong = 0;
      for (let at = 0; at < read; at++) if (random() < share) wrong += 1;
      if (upperBound(wrong, read) >= share) covered += 1;
    }
    expect(covered / times).toBeGreaterThan(0.94);
  });
});

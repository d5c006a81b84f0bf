import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareFieldDigests } from '../../src/api/field-digests.js';
import { type FactHolder, FactIndex } from '../../src/match/fact-index.js';

const RUNS = 3000;

/** Facts of fields with few values each, sorted by field as they are stored. */
const factsOf = (fields: number): fc.Arbitrary<string> =>
  fc
    .array(fc.option(fc.nat(2), { freq: 3 }), { minLength: fields, maxLength: fields })
    .map((values) =>
      values
        .map((value, field) => (value === null ? '' : `f${field}${String(value).padStart(5, '0')}`))
        .join(''),
    );

const holdersOf = (fields: number, minLength: number, maxLength: number): fc.Arbitrary<FactHolder[]> =>
  fc.array(fc.record({ company: fc.nat(999), facts: factsOf(fields) }), { minLength, maxLength });

function agreeingByComparison(holders: readonly FactHolder[], own: string): Set<number> {
  return new Set(
    holders.filter((one) => compareFieldDigests(own, one.facts) === 'agrees').map(({ company }) => company),
  );
}

describe('the index of facts', () => {
  it(`finds whom comparing with each finds (${RUNS} seeded cases)`, () => {
    let found = 0;
    fc.assert(
      fc.property(holdersOf(6, 0, 30), factsOf(6), (holders, own) => {
        const { companies, crowds } = new FactIndex(holders).findAgreeing(own);
        expect(crowds).toEqual([]);
        expect([...companies].sort()).toEqual([...agreeingByComparison(holders, own)].sort());
        found += companies.size;
      }),
      { numRuns: RUNS, seed: 20261122 },
    );
    expect(found).toBeGreaterThan(RUNS / 2);
  });

  it('hides nobody: who is not found beside many alike is in a crowd', () => {
    let hidden = 0;
    fc.assert(
      fc.property(holdersOf(2, 500, 700), factsOf(2), (many, own) => {
        const { companies, crowds } = new FactIndex(many).findAgreeing(own);
        const agreeing = agreeingByComparison(many, own);
        const hiding = new Set(crowds.flat().map(({ company }) => company));
        for (const company of agreeing) {
          if (!companies.has(company)) hidden += 1;
          expect(companies.has(company) || hiding.has(company)).toBe(true);
        }
        for (const company of companies) expect(agreeing).toContain(company);
      }),
      { numRuns: 60, seed: 20261122 },
    );
    expect(hidden).toBeGreaterThan(60);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareFieldDigests } from '../../src/api/field-digests.js';
import { type DigestedRecord, DigestIndex } from '../../src/match/digest-index.js';

const RUNS = 3000;

/** Digests of fields with few values each. */
const digestsOf = (fields: number): fc.Arbitrary<string> =>
  fc
    .array(fc.option(fc.nat(2), { freq: 3 }), { minLength: fields, maxLength: fields })
    .map((values) => values.map((value) => (value === null ? '\0\0' : `f${value}`)).join(''));

const recordsOf = (fields: number, minLength: number, maxLength: number): fc.Arbitrary<DigestedRecord[]> =>
  fc.array(fc.record({ company: fc.nat(999), fieldDigests: digestsOf(fields) }), { minLength, maxLength });

function agreeingByComparison(records: readonly DigestedRecord[], own: string): Set<number> {
  return new Set(
    records
      .filter((one) => compareFieldDigests(own, one.fieldDigests ?? '') === 'agrees')
      .map(({ company }) => company),
  );
}

describe('an index of field digests', () => {
  it(`finds the same records as comparing every pair (${RUNS} seeded cases)`, () => {
    let found = 0;
    fc.assert(
      fc.property(recordsOf(6, 0, 30), digestsOf(6), (records, own) => {
        const { companies, uncompared } = new DigestIndex(records).findAgreeing(own);
        expect(uncompared).toEqual([]);
        expect([...companies].sort()).toEqual([...agreeingByComparison(records, own)].sort());
        found += companies.size;
      }),
      { numRuns: RUNS, seed: 20261122 },
    );
    expect(found).toBeGreaterThan(RUNS / 2);
  });

  it('finds every agreeing record, or returns its bucket as uncompared', () => {
    let hidden = 0;
    fc.assert(
      fc.property(recordsOf(2, 500, 700), digestsOf(2), (many, own) => {
        const { companies, uncompared } = new DigestIndex(many).findAgreeing(own);
        const agreeing = agreeingByComparison(many, own);
        const hiding = new Set(uncompared.flat().map(({ company }) => company));
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

  it('returns records whose digests are unknown as uncompared', () => {
    const unknown = { company: 1, fieldDigests: null };
    const index = new DigestIndex([unknown, { company: 2, fieldDigests: 'f1' }]);
    expect(index.findAgreeing('f1')).toEqual({ companies: new Set([2]), uncompared: [[unknown]] });
    expect(index.findAgreeing(null).uncompared.flat()).toHaveLength(2);
  });
});

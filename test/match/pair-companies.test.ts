import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NamedCompanyPair } from '../../src/domain.js';
import { type CompanyEvidence, type PairingInput, pairCompanies } from '../../src/match/pair-companies.js';
import { campaignSize } from '../support/campaign.js';
import { type ListedInput, oraclePairing } from './pairing-oracle.js';

interface Given {
  readonly v3: readonly string[];
  readonly v4: readonly number[];
  /** [v3 row, v4 row, agreeing, comparable, smaller side's keys] */
  readonly evidence?: readonly (readonly [number, number, number, number, number?])[];
  readonly mode?: PairingInput['mode'];
  readonly named?: readonly NamedCompanyPair[];
  /** Keys that may agree with companies not in the evidence, by row. */
  readonly uncounted?: { readonly v3?: Record<number, number>; readonly v4?: Record<number, number> };
  /** The sides whose lists were not read in full. */
  readonly unread?: readonly ('v3' | 'v4')[];
}

function named(region: string, v3: number, v4: number | null): NamedCompanyPair {
  return { line: 2, region, v3CompanyId: BigInt(v3), v4CompanyId: v4 === null ? null : BigInt(v4) };
}

function inputOf({
  v3,
  v4,
  evidence = [],
  mode = 'auto',
  named = [],
  uncounted = {},
  unread = [],
}: Given): ListedInput {
  return {
    v3: v3.map((text, id) => {
      const [region = '', companyId = '0'] = text.split(':');
      return { id, region, companyId: BigInt(companyId), scopeFull: !unread.includes('v3') };
    }),
    v4: v4.map((companyId, id) => {
      return { id, region: '', companyId: BigInt(companyId), scopeFull: !unread.includes('v4') };
    }),
    evidence: evidence.map(
      ([a, b, agreeing, comparable, smallerKeys = 100]): CompanyEvidence => ({
        v3: a,
        v4: b,
        shared: comparable,
        sampled: comparable,
        comparable,
        agreeing,
        smallerKeys,
      }),
    ),
    uncounted: { v3: countsOf(uncounted.v3), v4: countsOf(uncounted.v4) },
    mode,
    named,
  };
}

function countsOf(counts: Record<number, number> = {}): Map<number, number> {
  return new Map(Object.entries(counts).map(([row, count]) => [Number(row), count]));
}

const ORACLE_RUNS = campaignSize({ small: 700, full: 2000, soak: 50_000 });

/** Few companies, ids that meet, and evidence around every threshold. */
const PAIRINGS: fc.Arbitrary<ListedInput> = fc
  .record({
    v3: fc.uniqueArray(fc.constantFrom('a:1', 'a:2', 'a:3', 'b:1', 'b:2'), { maxLength: 4 }),
    v4: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { maxLength: 4 }),
    evidence: fc.uniqueArray(
      fc.tuple(
        fc.nat(3),
        fc.nat(3),
        fc.constantFrom(0, 0, 1, 4, 5, 9, 10, 20),
        fc.constantFrom(0, 1, 5, 10, 11),
        fc.constantFrom(100, 450, 1000),
      ),
      { selector: ([a, b]) => `${a}-${b}`, maxLength: 6 },
    ),
    mode: fc.constantFrom('auto' as const, 'auto' as const, 'auto' as const, 'same_id' as const),
    named: fc.uniqueArray(fc.tuple(fc.nat(3), fc.nat(3)), {
      comparator: ([a, b], [c, d]) => a === c || b === d,
      maxLength: 2,
    }),
    uncounted: fc.record({
      v3: fc.dictionary(fc.constantFrom('0', '1'), fc.constantFrom(1, 4, 5), { maxKeys: 1 }),
      v4: fc.dictionary(fc.constantFrom('0', '1'), fc.constantFrom(1, 4, 5), { maxKeys: 1 }),
    }),
    isCounted: fc.integer({ min: 0, max: 3 }),
    unread: fc.subarray(['v3' as const, 'v4' as const]),
    isNamed: fc.boolean(),
    isAbsent: fc.integer({ min: 0, max: 3 }),
  })
  .map(({ v3, v4, evidence, mode, unread, uncounted, isCounted, isNamed, isAbsent, named: pairs }) =>
    inputOf({
      uncounted: isCounted > 0 ? {} : uncounted,
      v3,
      v4,
      mode,
      unread,
      evidence: evidence
        .filter(([a, b]) => a < v3.length && b < v4.length)
        .map(([a, b, agreeing, differing, keys]) => [a, b, agreeing, agreeing + differing, keys]),
      named: pairs.flatMap(([a, b]) => {
        const [region = '', id] = v3[a]?.split(':') ?? [];
        if (!isNamed || id === undefined || v4[b] === undefined) return [];
        return [named(region, Number(id), isAbsent === 0 ? null : v4[b])];
      }),
    }),
  );

describe('pairing companies', () => {
  it('pairs no company twice, the same way on both sides, with any evidence', () => {
    const row = fc.tuple(fc.nat(4), fc.nat(4), fc.nat(30), fc.nat(30));
    const arbitrary = fc.record({
      evidence: fc.uniqueArray(row, { selector: ([a, b]) => `${a}-${b}`, maxLength: 25 }),
      mode: fc.constantFrom('auto' as const, 'same_id' as const),
      unread: fc.subarray(['v3' as const, 'v4' as const]),
      ids: fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { minLength: 5, maxLength: 5 }),
    });
    fc.assert(
      fc.property(arbitrary, ({ evidence, mode, unread, ids }) => {
        const rows = evidence.map(([a, b, x, y]) => [a, b, Math.min(x, y), Math.max(x, y)] as const);
        const { v3, v4 } = pairCompanies(
          inputOf({ v3: ['a:1', 'a:2', 'a:3', 'b:1', 'b:2'], v4: ids, evidence: rows, mode, unread }),
        );
        for (const [id, { v4: twin }] of v3) if (twin !== null) expect(v4.get(twin)?.v3).toBe(id);
        for (const [id, { v3: twin }] of v4) if (twin !== null) expect(v3.get(twin)?.v4).toBe(id);
      }),
      { numRuns: 500 },
    );
  });

  it(`pairs as a literal reading of the contract does (${ORACLE_RUNS} seeded cases)`, () => {
    const found: Record<string, number> = {};
    fc.assert(
      fc.property(PAIRINGS, (input) => {
        const { v3, v4 } = pairCompanies(input);
        for (const { matchedBy } of [...v3.values(), ...v4.values()]) {
          found[matchedBy] = (found[matchedBy] ?? 0) + 1;
        }
        expect({ v3: Object.fromEntries(v3), v4: Object.fromEntries(v4) }).toEqual(oraclePairing(input));
      }),
      { numRuns: ORACLE_RUNS, seed: 20261101 },
    );
    process.stdout.write(`company pairing against oracle: ${JSON.stringify(found)}\n`);
    for (const by of ['file', 'overlap', 'same_id', 'ambiguous', 'none'])
      expect(found[by]).toBeGreaterThan(100);
  });
});

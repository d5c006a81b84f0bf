import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NamedCompanyPair } from '../../src/domain.js';
import { type CompanyEvidence, type PairingInput, pairCompanies } from '../../src/match/pair-companies.js';
import { campaign } from '../support/campaign.js';
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
  readonly unread?: boolean;
}

type Case = readonly [
  name: string,
  /** `region:id` of V3 companies, ids of V4 companies; row numbers count from 0. */
  v3: string,
  v4: string,
  /** `V3 row-V4 row agreeing/comparable`, and `of` the smaller side's keys. */
  evidence: string,
  /** For each V3 company `v4 id by`, or the word; then for each V4 company without a pair. */
  expected: string,
  more?: Pick<Given, 'mode' | 'named' | 'uncounted' | 'unread'>,
];

const CASES: readonly Case[] = [
  ['clear evidence pairs, whatever the ids', 'a:1', '7', '0-0 90/100', '7 overlap'],
  ['evidence comes before equal ids', 'a:1 a:2', '1 2', '0-1 90/100, 1-0 80/100', '2 overlap, 1 overlap'],
  ['less than half of the comparable keys agree', 'a:1', '7', '0-0 49/100', 'ambiguous, ambiguous'],
  ['exactly half is enough', 'a:1', '7', '0-0 50/100', '7 overlap'],
  [
    'a rival with half as many on the V3 side',
    'a:1',
    '7 8',
    '0-0 80/80, 0-1 40/40',
    'ambiguous, ambiguous, ambiguous',
  ],
  [
    'a rival with less than half leaves the pair',
    'a:1',
    '7 8',
    '0-0 80/80, 0-1 39/39',
    '7 overlap, ambiguous',
  ],
  ['a rival on the V4 side', 'a:1 a:2', '7', '0-0 80/80, 1-0 80/80', 'ambiguous, ambiguous, ambiguous'],
  ['agreement under one percent is chance', 'a:1', '7', '0-0 9/9 of 1000', 'none, none'],
  ['chance agreement still keeps equal ids from deciding', 'a:1', '1', '0-0 9/9 of 1000', 'none, none'],
  ['equal ids decide where one side is empty', 'a:1', '1', '', '1 same_id'],
  ['equal ids decide where shared keys are not comparable', 'a:1', '1', '0-0 0/0', '1 same_id'],
  ['equal ids whose keys disagree are a contradiction', 'a:1', '1', '0-0 0/10', 'ambiguous, ambiguous'],
  [
    'equal ids do not decide where one agrees with another company',
    'a:1 a:2',
    '1',
    '1-0 5/5 of 1000',
    'none, none, none',
  ],
  ['equal ids do not decide while streams are unread', 'a:1', '1', '', 'none, none', { unread: true }],
  ['two regions claim one id', 'a:1 b:1', '1', '', 'ambiguous, ambiguous, ambiguous'],
  ['evidence tells two regions apart', 'a:1 b:1', '1 2', '0-0 50/50, 1-1 50/50', '1 overlap, 2 overlap'],
  ['nothing in common', 'a:1', '7', '', 'none, none'],
  ['same_id pairs by id alone', 'a:1', '1', '', '1 same_id', { mode: 'same_id', unread: true }],
  [
    'same_id is contradicted by disagreeing keys',
    'a:1',
    '1',
    '0-0 2/10',
    'ambiguous, ambiguous',
    { mode: 'same_id' },
  ],
  ['overlap never pairs by id', 'a:1', '1', '', 'none, none', { mode: 'overlap' }],
  [
    'a named pair wins over evidence',
    'a:1',
    '7 8',
    '0-1 90/90',
    '7 file, ambiguous',
    { named: [named('a', 1, 7)] },
  ],
  [
    'a named pair leaves a tie between the others open',
    'a:1 a:2',
    '7 8',
    '0-0 9/9, 0-1 9/9, 1-0 9/9, 1-1 9/9',
    '7 file, ambiguous, ambiguous',
    { named: [named('a', 1, 7)] },
  ],
  [
    'equal ids do not decide where the V3 company agrees with a V4 company that is paired',
    'a:1 a:2',
    '1 11',
    '0-1 40/40, 1-1 100/100',
    'ambiguous, 11 overlap, none',
  ],
  [
    'equal ids do not decide where the V4 company agrees with a V3 company that is paired',
    'a:1 a:2',
    '1 11',
    '1-0 40/40, 1-1 100/100',
    'none, 11 overlap, ambiguous',
  ],
  [
    'equal ids do not decide where the V3 company agrees with a V4 company that the file names',
    'a:1 a:2',
    '1 11',
    '0-1 40/40',
    'ambiguous, 11 file, none',
    { named: [named('a', 2, 11)] },
  ],
  [
    'equal ids do not decide where the V4 company agrees with a V3 company that the file names',
    'a:1 a:2',
    '1 11',
    '1-0 40/40',
    'none, 11 file, ambiguous',
    { named: [named('a', 2, 11)] },
  ],
  [
    'chance agreement with a company that the file names keeps equal ids from deciding',
    'a:1 a:2',
    '1 11',
    '0-1 5/5 of 1000',
    'none, 11 file, none',
    { named: [named('a', 2, 11)] },
  ],
  [
    'a V3 company that the file names is still a rival',
    'a:1 a:2',
    '7 8',
    '0-0 80/80, 1-0 40/40',
    'ambiguous, 8 file, ambiguous',
    { named: [named('a', 2, 8)] },
  ],
  [
    'a V4 company that the file names is still a rival',
    'a:1 a:2',
    '7 8',
    '0-0 80/80, 0-1 40/40',
    'ambiguous, 8 file, ambiguous',
    { named: [named('a', 2, 8)] },
  ],
  [
    'evidence for companies that the file does not name pairs them beside it',
    'a:1 a:2',
    '7 8',
    '0-0 80/80, 1-0 39/39',
    '7 overlap, 8 file',
    { named: [named('a', 2, 8)] },
  ],
  [
    'a V4 company that the file names is not claimed by equal ids',
    'a:1 b:1 a:2',
    '1',
    '',
    'none, none, 1 file',
    { named: [named('a', 2, 1)] },
  ],
  [
    'the file settles keys that contradict equal ids',
    'a:1 a:2',
    '1',
    '0-0 0/10',
    'none, 1 file',
    { named: [named('a', 2, 1)] },
  ],
  [
    'a V3 company that the file names still shares its id with another region',
    'a:1 b:1',
    '1 9',
    '',
    '9 file, ambiguous, ambiguous',
    { named: [named('a', 1, 9)] },
  ],
  [
    'a V3 company that evidence pairs gives up its id to another region',
    'a:1 b:1',
    '1 9',
    '0-1 50/50',
    '9 overlap, 1 same_id',
  ],
  [
    'same_id pairs by id beside agreement with others, which the user has ruled out',
    'a:1 a:2',
    '1 2',
    '0-1 40/40',
    '1 same_id, 2 same_id',
    { mode: 'same_id' },
  ],
  [
    'keys that may agree with anybody keep equal ids from deciding',
    'a:1 a:2',
    '1 2',
    '',
    'ambiguous, none, none, ambiguous',
    { uncounted: { v3: { 0: 1 }, v4: { 1: 1 } } },
  ],
  [
    'keys that may agree with anybody are a rival',
    'a:1 a:2',
    '7 8',
    '0-0 80/80, 1-1 80/80',
    '7 overlap, ambiguous, ambiguous',
    { uncounted: { v3: { 0: 39, 1: 40 } } },
  ],
  [
    'overlap with a named pair: full evidence counts',
    'a:1 a:2',
    '7 8',
    '0-1 90/90',
    'ambiguous, 8 file, none',
    { mode: 'overlap', named: [named('a', 2, 8)] },
  ],
];

function named(region: string, v3: number, v4: number): NamedCompanyPair {
  return { region, v3CompanyId: BigInt(v3), v4CompanyId: BigInt(v4) };
}

function evidenceOf(text: string): NonNullable<Given['evidence']> {
  return [...text.matchAll(/(\d+)-(\d+) (\d+)\/(\d+)(?: of (\d+))?/g)].map((found) => {
    const [v3 = 0, v4 = 0, agreeing = 0, comparable = 0, keys = 100] = found
      .slice(1)
      .map((part) => (part === undefined ? undefined : Number(part)));
    return [v3, v4, agreeing, comparable, keys];
  });
}

function inputOf({
  v3,
  v4,
  evidence = [],
  mode = 'auto',
  named = [],
  uncounted = {},
  unread = false,
}: Given): ListedInput {
  return {
    v3: v3.map((text, id) => {
      const [region = '', companyId = '0'] = text.split(':');
      return { id, region, companyId: BigInt(companyId), scopeFull: !unread };
    }),
    v4: v4.map((companyId, id) => ({ id, region: '', companyId: BigInt(companyId), scopeFull: !unread })),
    evidence: evidence.map(
      ([a, b, agreeing, comparable, smallerKeys = 100]): CompanyEvidence => ({
        v3: a,
        v4: b,
        shared: comparable,
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

const ORACLE_RUNS = campaign({ small: 700, full: 2000, soak: 50_000 });

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
    mode: fc.constantFrom('auto' as const, 'auto' as const, 'overlap' as const, 'same_id' as const),
    named: fc.uniqueArray(fc.tuple(fc.nat(3), fc.nat(3)), {
      comparator: ([a, b], [c, d]) => a === c || b === d,
      maxLength: 2,
    }),
    uncounted: fc.record({
      v3: fc.dictionary(fc.constantFrom('0', '1'), fc.constantFrom(1, 4, 5), { maxKeys: 1 }),
      v4: fc.dictionary(fc.constantFrom('0', '1'), fc.constantFrom(1, 4, 5), { maxKeys: 1 }),
    }),
    isCounted: fc.integer({ min: 0, max: 3 }),
    unread: fc.boolean(),
    isNamed: fc.boolean(),
  })
  .map(({ v3, v4, evidence, mode, unread, uncounted, isCounted, isNamed, named: pairs }) =>
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
        return isNamed && id !== undefined && v4[b] !== undefined ? [named(region, Number(id), v4[b])] : [];
      }),
    }),
  );

describe('pairing companies', () => {
  it.each(CASES.map((one) => ({ name: one[0], one })))('$name', ({ one }) => {
    const [, v3Text, v4Text, evidence, expected, more = {}] = one;
    const ids = v4Text.split(' ').map(Number);
    const given = { v3: v3Text.split(' '), v4: ids, evidence: evidenceOf(evidence), ...more };
    const { v3, v4 } = pairCompanies(inputOf(given));
    const sides = [...v3.values()].map((row) =>
      row.v4 === null ? row.matchedBy : `${ids[row.v4]} ${row.matchedBy}`,
    );
    const open = [...v4.values()].filter((row) => row.v3 === null).map((row) => row.matchedBy);
    expect([...sides, ...open].join(', ')).toBe(expected);
  });

  it('pairs no company twice, the same way on both sides, with any evidence', () => {
    const row = fc.tuple(fc.nat(4), fc.nat(4), fc.nat(30), fc.nat(30));
    const arbitrary = fc.record({
      evidence: fc.uniqueArray(row, { selector: ([a, b]) => `${a}-${b}`, maxLength: 25 }),
      mode: fc.constantFrom('auto' as const, 'overlap' as const, 'same_id' as const),
      unread: fc.boolean(),
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

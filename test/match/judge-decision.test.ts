import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STALE_REASONS } from '../../src/domain.js';
import { type DecisionFacts, judgeDecision } from '../../src/match/judge-decision.js';

const OPEN = { deleted: false, paired: false };
const PAIR: DecisionFacts = {
  companyPaired: true,
  v3: OPEN,
  v4: OPEN,
  pairedTogether: false,
  parentsMatched: true,
  readInFull: true,
};

/** The whole rule. */
const TABLE: readonly (readonly [name: string, facts: Partial<DecisionFacts>, verdict: string])[] = [
  ['two open objects', {}, 'taken'],
  ['two open objects in lists not read in full', { readInFull: false }, 'taken'],
  ['a V3 id that became nothing', { v4: 'none' }, 'taken'],
  ['a V4 id without a V3 record', { v3: 'none' }, 'taken'],
  [
    'what evidence says too',
    { v3: { ...OPEN, paired: true }, v4: { ...OPEN, paired: true }, pairedTogether: true },
    'not_needed',
  ],
  [
    'what evidence says too, of deleted records',
    { v3: { deleted: true, paired: true }, v4: { deleted: true, paired: true }, pairedTogether: true },
    'not_needed',
  ],
  ['an unpaired company', { companyPaired: false }, 'company_not_paired'],
  ['an unpaired company, none', { companyPaired: false, v4: 'none' }, 'company_not_paired'],
  ['no such V3 record there', { v3: 'not_exported' }, 'v3_not_exported'],
  ['no such V4 record there', { v4: 'not_exported' }, 'v4_not_exported'],
  ['several V3 children with that id', { v3: 'several' }, 'v3_several'],
  ['several V4 children with that id', { v4: 'several' }, 'v4_several'],
  ['children of records that are no pair', { parentsMatched: false }, 'parents_not_matched'],
  ['a deleted V3 record', { v3: { ...OPEN, deleted: true } }, 'v3_deleted'],
  ['a deleted V3 record, none', { v3: { ...OPEN, deleted: true }, v4: 'none' }, 'v3_deleted'],
  ['a deleted V4 record', { v4: { ...OPEN, deleted: true } }, 'v4_deleted'],
  ['a deleted V4 record, none', { v3: 'none', v4: { ...OPEN, deleted: true } }, 'v4_deleted'],
  ['a V3 record that is in another pair', { v3: { ...OPEN, paired: true } }, 'v3_paired'],
  ['a V3 record that is in a pair, none', { v3: { ...OPEN, paired: true }, v4: 'none' }, 'v3_paired'],
  ['a V4 record that is in another pair', { v4: { ...OPEN, paired: true } }, 'v4_paired'],
  ['a V4 record that is in a pair, none', { v3: 'none', v4: { ...OPEN, paired: true } }, 'v4_paired'],
  ['none, where a list was not read in full', { v4: 'none', readInFull: false }, 'not_read_in_full'],
  ['no V3 record, where a list was not read in full', { v3: 'none', readInFull: false }, 'not_read_in_full'],
];

const brief = (facts: DecisionFacts): string => {
  const verdict = judgeDecision(facts);
  return verdict.kind === 'stale' ? verdict.why : verdict.kind;
};

describe('judgeDecision', () => {
  it.each(TABLE)('%s', (_, facts, verdict) => {
    expect(brief({ ...PAIR, ...facts })).toBe(verdict);
  });

  it('has a case for every reason', () => {
    const missing = STALE_REASONS.filter(
      (why) => why !== 'expired' && !TABLE.some(([, , verdict]) => verdict === why),
    );
    expect(missing).toEqual([]);
  });

  it('accepts nothing that is paired, deleted or not exported', () => {
    const object = fc.record({ deleted: fc.boolean(), paired: fc.boolean() });
    const side = fc.oneof(
      object,
      fc.constantFrom('none' as const, 'not_exported' as const, 'several' as const),
    );
    const facts = fc.record({
      companyPaired: fc.boolean(),
      v3: side,
      v4: side,
      pairedTogether: fc.boolean(),
      parentsMatched: fc.boolean(),
      readInFull: fc.boolean(),
    });
    const isOpen = (one: DecisionFacts['v3']) =>
      one === 'none' || (typeof one === 'object' && !one.paired && !one.deleted);
    fc.assert(
      fc.property(facts, (given) => {
        if (brief(given) === 'taken') expect([isOpen(given.v3), isOpen(given.v4)]).toEqual([true, true]);
      }),
      { numRuns: 2000, seed: 20261120 },
    );
  });
});

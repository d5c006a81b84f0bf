import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findDrift } from '../../src/match/compare-payloads.js';
import { DIFFERENT, RULES, SAME } from './drift-cases.js';

describe('comparing the fields of a pair', () => {
  for (const [name, a, b] of SAME) {
    it(`treats as equal: ${name}`, () =>
      expect([findDrift({ f: a }, { f: b }, RULES), findDrift({ f: b }, { f: a }, RULES)]).toEqual([[], []]));
  }
  for (const [name, a, b] of DIFFERENT) {
    it(`treats as different: ${name}`, () =>
      expect(findDrift({ f: a }, { f: b }, RULES)).toEqual([{ field: 'f', v3: a, v4: b }]));
  }

  it('compares only shared fields that are neither ignored nor the service’s', () => {
    const v3 = { svc_id: 1, updated_at: 'a', line_items: [1], only3: 1, name: 'a', code: null };
    const v4 = { svc_id: 2, updated_at: 'b', line_items: [2], only4: 1, name: 'b' };
    expect(findDrift(v3, v4, RULES).map(({ field }) => field)).toEqual(['name']);
  });

  it('treats values that are nested too deeply as different, without comparing them', () => {
    const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}1${']'.repeat(depth)}`);
    expect(findDrift({ f: nested(90) }, { f: nested(90) }, RULES)).toEqual([]);
    expect(findDrift({ f: nested(100_000) }, { f: 1 }, RULES)).toHaveLength(1);
    expect(findDrift({ f: nested(200) }, { f: nested(200) }, RULES)).toHaveLength(1);
  });

  it('does not compare the key that matched the pair, however it is written', () => {
    expect(
      findDrift({ platform_id: '90071992547409931' }, JSON.parse('{"platform_id":90071992547409931}'), RULES),
    ).toEqual([]);
  });

  it('finds no difference between a record and itself, and is symmetrical', () => {
    const record = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(record, record, (a, b) => {
        expect(findDrift(a, structuredClone(a), RULES)).toEqual([]);
        expect(findDrift(a, b, RULES).length).toBe(findDrift(b, a, RULES).length);
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findDrift, isCompared } from '../../../src/match/compare-fields.js';
import { haveSameMembers } from '../../../src/match/same-members.js';

const RULES = { fieldPrefix: 'svc_', ignored: new Set(['updated_at']), trustsHash: false };

const same = (a: string, b: string): boolean =>
  haveSameMembers(Buffer.from(a), Buffer.from(b), (name) => isCompared(name, RULES));

describe('two payloads are seen to be the same', () => {
  it.each([
    ['{}', '{}'],
    ['{"svc_id":1,"a":[1,{"b":"é"}]}', ' {"svc_id":22, "a":[1,{"b":"é"}] } '],
    ['{"a":1,"updated_at":"x","raw_data":{}}', '{"a":1,"updated_at":"yy","raw_data":[1,2]}'],
  ])('%s and %s', (a, b) => expect(same(a, b)).toBe(true));

  it.each([
    ['another value', '{"a":1}', '{"a":2}'],
    ['another value of an escaped service field', '{"svc\\u005fid":1}', '{"svc\\u005fid":2}'],
    ['another order', '{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['a field more', '{"a":1}', '{"a":1,"b":2}'],
    ['a key that comes again', '{"a":1}', '{"a":1,"a":2}'],
    ['no objects', '[1]', '[1]'],
  ])('not with %s', (_, a, b) => expect([same(a, b), same(b, a)]).toEqual([false, false]));

  it('only where comparing their values finds no difference', () => {
    const name = fc.constantFrom('a', 'b', 'svc_id', 'updated_at', 'é');
    const value = fc.oneof(
      fc.constantFrom(null, 1, '1.0', 'x'),
      fc.array(fc.constantFrom(1, 'x'), { maxLength: 2 }),
    );
    const payload = fc.array(fc.tuple(name, value), { maxLength: 4 }).map((members) => {
      return `{${members.map(([key, one]) => `${JSON.stringify(key)}:${JSON.stringify(one)}`).join(',')}}`;
    });
    let seen = 0;
    fc.assert(
      fc.property(payload, payload, (a, b) => {
        if (!same(a, b)) return;
        seen += 1;
        expect(findDrift(JSON.parse(a), JSON.parse(b), RULES)).toEqual([]);
      }),
      { numRuns: 20_000, seed: 7 },
    );
    process.stdout.write(`20000 pairs of payloads, ${seen} seen to be the same\n`);
    expect(seen).toBeGreaterThan(100);
  });
});

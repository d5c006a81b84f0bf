import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findDrift, prepareCompare } from '../../src/match/compare-payloads.js';
import { campaign } from '../support/campaign.js';

const RUNS = campaign({ small: 4000, full: 20_000 });

const RULES = { fieldPrefix: 'svc_', ignored: new Set(['updated_at']), trustsHash: false };
const compare = prepareCompare(RULES);

const namesOf = (a: string, b: string): string[] => compare(a, b).map(({ field }) => field);

describe('comparing payloads as texts first', () => {
  it.each([
    ['{}', '{}'],
    ['{"svc_id":1,"a":[1,{"b":"é"}]}', ' {"svc_id":22, "a":[1,{"b":"é"}] } '],
    ['{"a":1,"updated_at":"x","raw_data":{}}', '{"a":1,"updated_at":"yy","raw_data":[1,2]}'],
    ['{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['{"svc_id":1,"a":{"svc_at":null}}', '{"svc_id":true,"a":{"svc_at":"x"}}'],
    ['{"svc_a":"}","a":1}', '{"svc_a":",","a":1}'],
    ['{"svc\\u005fid":1}', '{"svc\\u005fid":2}'],
    ['[1]', '[1]'],
  ])('finds no difference between %s and %s', (a, b) => expect(namesOf(a, b)).toEqual([]));

  it.each([
    ['a value', '{"a":1}', '{"a":2}', ['a']],
    ['a value behind a service field', '{"svc_a":1,"a":1}', '{"svc_a":2,"a":2}', ['a']],
    ['a text that looks like a service field', '{"a":"svc_a"}', '{"a":"svc_b"}', ['a']],
    ['an escaped text that looks like one', '{"a":"\\"svc_a\\":1"}', '{"a":"\\"svc_a\\":2"}', ['a']],
    ['a key that comes again', '{"a":1}', '{"a":1,"a":2}', ['a']],
    ['a value in a service field of another name', '{"a":1,"vc_a":1}', '{"a":1,"vc_a":2}', ['vc_a']],
  ])('still finds %s', (_, a, b, names) => expect([namesOf(a, b), namesOf(b, a)]).toEqual([names, names]));

  it('takes the prefix literally', () => {
    const dotted = prepareCompare({ ...RULES, fieldPrefix: 's.' });
    expect(dotted('{"s.a":1,"sxa":1}', '{"s.a":2,"sxa":2}')).toEqual([{ field: 'sxa', v3: 1, v4: 2 }]);
  });

  it('finds the same differences as comparing their values', () => {
    const name = fc.constantFrom('a', 'b', 'svc_id', 'svc_"x', 'updated_at', 'é', 'platform_id');
    const scalar = fc.constantFrom(null, 1, 2, '1.0', 'x', '"svc_id":1', 'svc_id', ':', ',', '\\');
    const member = fc.tuple(name, fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })));
    const textOf = (members: readonly (readonly [string, unknown])[]) =>
      `{${members.map(([key, one]) => `${JSON.stringify(key)}:${JSON.stringify(one)}`).join(',')}}`;
    const nested = fc.tuple(
      name,
      fc.array(member, { maxLength: 2 }).map((own) => Object.fromEntries(own)),
    );
    const payload = fc.array(fc.oneof(member, nested), { maxLength: 3 }).map(textOf);
    let same = 0;
    fc.assert(
      fc.property(payload, payload, (a, b) => {
        const found = compare(a, b);
        if (found.length === 0) same += 1;
        expect(found).toEqual(findDrift(JSON.parse(a), JSON.parse(b), RULES));
      }),
      { numRuns: RUNS, seed: 7 },
    );
    process.stdout.write(`${RUNS} pairs of payloads, ${same} without a difference\n`);
    expect(same).toBeGreaterThan(100);
  });
});

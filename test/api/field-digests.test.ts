import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareFieldDigests,
  fieldDigestsOf,
  hashFields,
  listFields,
  placesOf,
  splitFieldDigests,
} from '../../src/api/field-digests.js';
import type { PageSpec } from '../../src/api/record.js';
import { campaign } from '../support/campaign.js';
import { parse, recordOf, V3 } from './support/pages.js';

type Fields = Readonly<Record<string, unknown>>;

function digestsOf(fields: Fields | string, spec: Partial<PageSpec> = {}): string {
  const { members } = recordOf(typeof fields === 'string' ? fields : JSON.stringify(fields).slice(1, -1), {
    ...V3,
    ...spec,
  });
  if (members === null) throw new Error('no digests');
  const { buffer, byteOffset, byteLength } = members.words;
  const places = placesOf(listFields(spec.dateFields ?? []), JSON.parse(members.names));
  return fieldDigestsOf(Buffer.from(buffer, byteOffset, byteLength), places);
}

function compare(a: Fields | string, b: Fields | string): ReturnType<typeof compareFieldDigests> {
  return compareFieldDigests(digestsOf(a), digestsOf(b));
}

const EQUAL: readonly (readonly [string, string, string])[] = [
  ['an amount as text and as number', '"total_amount":"10.50"', '"total_amount":10.5'],
  ['an amount with a fraction of zeros', '"amount":"1000.00"', '"amount":1000'],
  ['a small amount', '"unit_price":"0.00000010"', '"unit_price":0.0000001'],
  ['zeros of any sign and scale', '"tax_amount":"-0.00"', '"tax_amount":0'],
  ['a day and its midnight', '"posted_date":"2023-01-05"', '"posted_date":"2023-01-05T00:00:00.000Z"'],
  ['instants of one second', '"created_at":"2023-01-05T00:00:00.001Z"', '"created_at":"2023-01-05"'],
  [
    'an instant in two offsets',
    '"created_at":"2023-01-05T01:00:00+01:00"',
    '"created_at":"2023-01-05T00:00:00Z"',
  ],
  ['a text with needless escapes', '"reference":"A\\u002d1"', '"reference":"A-1"'],
  ['a text and the number it is written as', '"code":"42"', '"code":42'],
  ['a date that is none, as text', '"posted_date":"soon"', '"posted_date":"soon"'],
  ['an amount that is none, as text', '"amount":"1,000.00"', '"amount":"1,000.00"'],
  ['an integer platform_unique_id and its digits', '"platform_unique_id":7', '"platform_unique_id":"7"'],
  ['the last of a repeated key', '"code":"x","code":"y"', '"code":"y"'],
];

const DIFFERENT: readonly (readonly [string, string, string])[] = [
  ['amounts that a double would merge', '"amount":9007199254740993', '"amount":9007199254740992'],
  ['amounts of different scale', '"amount":10', '"amount":1.0'],
  ['amounts of different sign', '"amount":-10', '"amount":10'],
  ['texts of different case', '"name":"Acme"', '"name":"ACME"'],
  ['texts of different normal form', '"name":"\u00e9"', '"name":"e\u0301"'],
  ['padded text', '"code":"042"', '"code":"42"'],
];

const NOT_CARRIED = [
  '"name":null',
  '"name":""',
  '"description":"x"',
  '"platform_unique_id":""',
  '"platform_unique_id":"\\ud800"',
];

describe('the digests of fields', () => {
  it.each(EQUAL)('are equal for %s', (_name, a, b) => {
    expect(compare(a, b)).toBe('agrees');
  });

  it.each(DIFFERENT)('differ for %s', (_name, a, b) => {
    expect(compare(a, b)).toBe('differs');
  });

  it.each(NOT_CARRIED)('leave out %s', (fields) => {
    expect(splitFieldDigests(digestsOf(fields))).toEqual([]);
  });

  it('do not depend on the order of the members', () => {
    const a = digestsOf({ code: 'x', amount: 1, created_at: '2023-01-01' });
    expect(digestsOf({ created_at: '2023-01-01', amount: 1, code: 'x' })).toBe(a);
    expect(splitFieldDigests(a)).toHaveLength(3);
  });

  it('include configured date fields', () => {
    const fields = { code: 'x', due_date: '2023-01-01' };
    expect(splitFieldDigests(digestsOf(fields))).toHaveLength(1);
    expect(splitFieldDigests(digestsOf(fields, { dateFields: ['due_date', 'code'] }))).toHaveLength(2);
  });

  it('are all that is kept without payloads', () => {
    const record = recordOf('"code":"x","memo":"m","amount":1', { ...V3, payload: 'ids' });
    expect(record.members?.names).toBe('["code","amount"]');
  });

  it('begin with the number of the list of names, of which each half depends on their order', () => {
    const [[a, b], [c, d]] = ['"code":1,"amount":1', '"amount":1,"code":1'].map((text) => [
      ...(recordOf(text, V3).members?.words ?? []),
    ]) as [number[], number[]];
    expect([a === c, b === d]).toEqual([false, false]);
  });

  it.each([1, 2, 3, 4, 5, 6, 7, 8, 9])('are kept for every record of a page, of %d members', (width) => {
    const value = (at: number) => (at % 3 === 0 ? at : `"2026-01-02T03:04:05.${at}Z"`);
    const fields = Array.from({ length: width }, (_, at) => `"field_${at}":${value(at)}`).join(',');
    const records = Array.from({ length: 1100 }, (_, id) => `{"svc_id":${id},"svc_company_id":2,${fields}}`);
    const page = parse(`{"data":[${records.join(',')}],"prev":null,"next":null,"total_count":null}`);
    const digests = page.records.map(({ members }) => members?.words.join(' '));
    expect(digests).toHaveLength(1100);
    expect(new Set(digests).size).toBe(1);
  });

  it('have equal hashes if they are equal, and 0 without a value', () => {
    const hash = (bytes: Buffer) => hashFields(bytes, 0, [1, 0]);
    const words = (...own: number[]) => Buffer.from(Int32Array.of(0, 1, ...own).buffer);
    expect(hash(words(4, 8))).toBe(hash(words(5, 10)));
    expect(hash(words(4, 8))).not.toBe(hash(words(8, 4)));
    expect(hash(words(4, 0))).not.toBe(hash(words(0, 4)));
    const [one, other] = [4, 4 * 0x4001].map((word) => fieldDigestsOf(words(word), [0]));
    expect(one).not.toBe(other);
    expect(hash(words(0, 0))).toBe(0);
  });
});

describe('comparing digests of fields', () => {
  it.each([
    [
      'two of three equal',
      { code: 'x', name: 'n', amount: 1 },
      { code: 'x', name: 'n', amount: 2 },
      'agrees',
    ],
    ['one of two equal', { code: 'x', name: 'n' }, { code: 'x', name: 'm' }, 'differs'],
    ['the only common field equal', { code: 'x', name: 'n' }, { code: 'x', amount: 1 }, 'agrees'],
    ['no common field', { code: 'x' }, { name: 'x' }, 'incomparable'],
    ['nothing on one side', {}, { name: 'x' }, 'incomparable'],
    ['nothing at all', {}, {}, 'incomparable'],
  ])('%s', (_name, a, b, outcome) => {
    expect(compare(a, b)).toBe(outcome);
    expect(compare(b, a)).toBe(outcome);
  });

  it('finds that anything with a value agrees with itself, and counts common fields as sets do', () => {
    const field = fc.constantFrom('code', 'name', 'amount', 'created_at', 'reference', 'currency_id');
    const record = fc.dictionary(field, fc.constantFrom('1', '2', '2023-01-01'));
    fc.assert(
      fc.property(record, record, (a, b) => {
        expect(compare(a, a)).toBe(Object.keys(a).length > 0 ? 'agrees' : 'incomparable');
        const common = Object.keys(a).filter((name) => name in b);
        const equal = common.filter((name) => a[name] === b[name]);
        const expected = equal.length * 2 > common.length ? 'agrees' : 'differs';
        expect(compare(a, b)).toBe(common.length === 0 ? 'incomparable' : expected);
      }),
      { numRuns: campaign({ small: 200, full: 1000 }) },
    );
  });
});

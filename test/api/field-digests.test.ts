import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareFieldDigests, digestAmount, digestFields, digestText } from '../../src/api/field-digests.js';
import { campaign } from '../support/campaign.js';
import { parsePage } from './support/pages.js';

type Fields = Readonly<Record<string, unknown>>;

function factsOf(fields: Fields | string, dateFields: readonly string[] = []): string {
  const inside = typeof fields === 'string' ? fields : JSON.stringify(fields).slice(1, -1);
  const body = `{"data":[{"svc_id":1,"svc_company_id":1${inside === '' ? '' : `,${inside}`}}],"next":null}`;
  const spec = { generation: 'v3', fieldPrefix: 'svc_', children: [], dateFields, companyId: null } as const;
  const [record] = parsePage(Buffer.from(body), spec).records;
  if (record === undefined) throw new Error('no record');
  return record.fieldDigests;
}

function compare(a: Fields | string, b: Fields | string): ReturnType<typeof compareFieldDigests> {
  return compareFieldDigests(factsOf(a), factsOf(b));
}

const EQUAL: readonly (readonly [string, string, string])[] = [
  ['an amount as text and as number', '"total_amount":"10.50"', '"total_amount":10.5'],
  ['an amount with an exponent', '"amount":1e3', '"amount":1000'],
  ['an amount with a fraction of zeros', '"amount":"1000.00"', '"amount":1.0E+3'],
  ['a small amount', '"unit_price":"0.0000001"', '"unit_price":1e-7'],
  ['zeros of any sign and scale', '"tax_amount":"-0.00"', '"tax_amount":0'],
  ['an amount with a plus sign and leading zeros', '"amount":"+007"', '"amount":7'],
  ['an amount without a leading zero', '"amount":".5"', '"amount":0.50'],
  ['amounts beyond a double', '"amount":"90071992547409931.10"', '"amount":90071992547409931.1'],
  ['a day and its midnight', '"posted_date":"2023-01-05"', '"posted_date":"2023-01-05T00:00:00.000Z"'],
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
  ['instants a millisecond apart', '"created_at":"2023-01-05T00:00:00.001Z"', '"created_at":"2023-01-05"'],
  ['texts of different case', '"name":"Acme"', '"name":"ACME"'],
  ['texts of different normal form', '"name":"\u00e9"', '"name":"e\u0301"'],
  ['padded text', '"code":"042"', '"code":"42"'],
  ['text that only looks like an amount', '"reference":"10.50"', '"reference":"10.5"'],
];

const NOT_CARRIED = [
  '"name":null',
  '"name":""',
  '"name":[]',
  '"name":{}',
  '"description":"x"',
  '"platform_unique_id":1.5',
  '"platform_unique_id":""',
  '"platform_unique_id":"\\ud800"',
];

describe('facts of a record', () => {
  it.each(EQUAL)('are equal for %s', (_name, a, b) => {
    expect(compare(a, b)).toBe('agrees');
  });

  it.each(DIFFERENT)('differ for %s', (_name, a, b) => {
    expect(compare(a, b)).toBe('differs');
  });

  it.each(NOT_CARRIED.map((fields) => [fields]))('leave out %s', (fields) => {
    expect(factsOf(fields)).toBe('');
  });

  it('do not depend on the order of the members', () => {
    const a = factsOf({ code: 'x', amount: 1, created_at: '2023-01-01' });
    expect(factsOf({ created_at: '2023-01-01', amount: 1, code: 'x' })).toBe(a);
    expect(a).toHaveLength(3 * 7);
  });

  it('include configured date fields, and keep the code of every other field', () => {
    const plain = factsOf({ code: 'x', due_date: '2023-01-01' });
    const configured = factsOf({ code: 'x', due_date: '2023-01-01' }, ['due_date', 'code']);
    expect(plain).toHaveLength(7);
    expect(configured).toHaveLength(14);
    expect(compareFieldDigests(plain, configured)).toBe('agrees');
  });

  it('give every standard field its own code', () => {
    const fields = digestFields([]);
    expect(fields).toHaveLength(24);
    expect(new Set(fields.map((field) => field.code)).size).toBe(24);
    expect(fields.map((field) => field.code)).toEqual(fields.map((field) => field.code).sort());
  });
});

describe('comparing facts', () => {
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

  it('finds that anything with facts agrees with itself, and counts common fields as sets do', () => {
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

describe('digests of amounts', () => {
  const digest = (text: string): number => digestAmount(Buffer.from(text), 0, text.length);

  it('are equal exactly when the numbers are', () => {
    const decimal = fc.tuple(
      fc.integer({ min: -9999, max: 9999 }),
      fc.integer({ min: -4, max: 4 }),
      fc.nat(3),
    );
    fc.assert(
      fc.property(decimal, decimal, ([a, scaleA, zeros], [b, scaleB]) => {
        const spelled = digest(`${a}${'0'.repeat(zeros)}e${scaleA - zeros}`);
        expect(spelled).toBe(digest(`${a}.000e${scaleA}`));
        // scaled to integers, so that no double gets between
        const isSame = BigInt(a) * 10n ** BigInt(scaleA + 4) === BigInt(b) * 10n ** BigInt(scaleB + 4);
        expect(spelled === digest(`${b}e${scaleB}`)).toBe(isSame);
      }),
      { numRuns: campaign({ small: 1000, full: 5000 }) },
    );
  });

  it.each(['', '-', '.', '1e', '1e+', '--1', '1.2.3', '1 ', '1e9999999999', 'NaN'])(
    'take "%s" for text',
    (text) => {
      expect(digest(text)).toBe(digestText(Buffer.from(text), 0, text.length));
    },
  );
});

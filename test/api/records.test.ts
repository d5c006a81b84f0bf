import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseOne, recordOf, text, V3 } from './support/pages.js';

describe('ids', () => {
  it.each([
    '0',
    '-0',
    '7',
    '-7',
    '999999999999999',
    '9007199254740993',
    '9223372036854775807',
    '-9223372036854775808',
  ])('%s is exact', (id) => {
    const [record] = parseOne(`{"svc_id":${id},"svc_company_id":${id}}`).records;
    expect(record).toMatchObject({ svcId: BigInt(id), companyId: BigInt(id) });
  });

  it('are exact over all 64 bits', () => {
    const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(fc.array(id, { maxLength: 20 }), (ids) => {
        const objects = ids.map((one) => `{"svc_id":${one},"svc_company_id":2}`);
        expect(parseOne(objects.join(',')).records.map((record) => record.svcId)).toEqual(ids);
      }),
    );
  });

  it('stay with the record whose bytes hold them, in lists of changing members', () => {
    const members = fc.dictionary(
      fc.constantFrom('platform_id', 'platform_unique_id', 'memo', 'name', 'x', 'svc_deleted_at'),
      fc.constantFrom('a', 'b\n', null, 7, ''),
    );
    const record = fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 18n }), members, fc.boolean());
    fc.assert(
      fc.property(fc.array(record, { maxLength: 12 }), (records) => {
        const objects = records.map(([id, rest, first]) => {
          const inside = JSON.stringify(rest).slice(1, -1);
          const ids = `"svc_id":${id},"svc_company_id":2`;
          return `{${(first ? [ids, inside] : [inside, ids]).filter((part) => part !== '').join(',')}}`;
        });
        const page = parseOne(objects.join(','));
        expect(page.records.map((one) => text(one.raw))).toEqual(objects);
        expect(page.records.map((one) => one.svcId)).toEqual(records.map(([id]) => id));
        expect(page.records.map((one) => one.platformId)).toEqual(
          records.map(([, rest]) => keyOf(rest['platform_id'])),
        );
        expect(page.records.map((one) => one.deleted)).toEqual(
          records.map(([, rest]) => (rest['svc_deleted_at'] ?? null) !== null),
        );
      }),
    );
  });
});

function keyOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : null;
}

describe('platform ids', () => {
  it.each([
    ['"a"', 'a'],
    ['" a "', ' a '],
    ['"007"', '007'],
    ['"\\u0061\\n"', 'a\n'],
    ['"\\u0000"', '\0'],
    ['"é😀"', 'é😀'],
    ['"\\ud83d\\ude00"', '😀'],
    ['"e\\u0301"', 'e\u0301'],
    ['"__proto__"', '__proto__'],
    ['"=1+1"', '=1+1'],
    ['42', '42'],
    ['-0', '-0'],
    ['-42', '-42'],
    ['123456789012345678901234567890', '123456789012345678901234567890'],
    ['""', null],
    ['null', null],
    ['1.0', null],
    ['1e3', null],
    ['true', null],
    ['{"id":"a"}', null],
    ['["a"]', null],
    ['"\\ud800"', null],
    ['"a\\udc00b"', null],
    ['"x","platform_id":null', null],
    ['null,"platform_id":"y"', 'y'],
  ])('%s is the key %s', (value, key) => {
    expect(recordOf(`"platform_id":${value}`).platformId).toBe(key);
    expect(
      recordOf(`"platform_unique_id":${value.replace('platform_id', 'platform_unique_id')}`).platformUniqueId,
    ).toBe(key);
  });

  it('may be long', () => {
    const long = 'k'.repeat(10_000);
    expect(recordOf(`"platform_id":"${long}"`).platformId).toBe(long);
  });

  it('are null where absent', () => {
    expect(recordOf('')).toMatchObject({ platformId: null, platformUniqueId: null });
  });
});

describe('deletion and dates', () => {
  it.each([
    ['', false],
    ['"svc_deleted_at":null', false],
    ['"svc_deleted_at":"2023-01-01"', true],
    ['"svc_deleted_at":"soon"', true],
    ['"svc_deleted_at":"x","svc_deleted_at":null', false],
    ['"deleted_at":"2023-01-01"', false],
  ])('{%s} is deleted: %s', (members, deleted) => {
    expect(recordOf(members).deleted).toBe(deleted);
  });

  it('takes the latest readable platform date', () => {
    const record = recordOf(
      '"posted_date":"2023-05-01","created_at":"2023-06-01","updated_at":"x","svc_updated_at":"2024-01-01T00:00:00Z"',
    );
    expect(record).toMatchObject({
      latestMs: Date.parse('2023-06-01'),
      latestFrom: 'platform',
      createdMs: Date.parse('2023-06-01'),
      updatedMs: Date.parse('2024-01-01'),
    });
  });

  it('falls back to the service dates, and to none', () => {
    const service = '"svc_created_at":"2023-02-01T00:00:00Z","svc_updated_at":"2023-01-01T00:00:00Z"';
    expect(recordOf(`"posted_date":"2023-02-30",${service}`)).toMatchObject({
      latestMs: Date.parse('2023-02-01'),
      latestFrom: 'service',
      createdMs: null,
    });
    expect(recordOf('"posted_date":1672531200')).toMatchObject({
      latestMs: null,
      latestFrom: null,
      updatedMs: null,
    });
  });

  it('reads only the configured fields, and the creation date always', () => {
    const spec = { ...V3, dateFields: ['due_date'] };
    const record = recordOf('"due_date":"2023-01-01","created_at":"2024-01-01"', spec);
    expect(record).toMatchObject({ latestMs: Date.parse('2023-01-01'), createdMs: Date.parse('2024-01-01') });
    expect(recordOf('"org_created_at":"2022-01-01"', spec).createdMs).toBe(Date.parse('2022-01-01'));
  });

  it('reads escaped dates', () => {
    expect(recordOf('"posted_date":"2023\\u002d01-01"').latestMs).toBe(Date.parse('2023-01-01'));
  });

  it('follows another field prefix', () => {
    const spec = { ...V3, fieldPrefix: 'acme_' };
    const page = parseOne('{"acme_id":1,"acme_company_id":2,"acme_deleted_at":"x","svc_id":9}', spec);
    expect(page.records).toMatchObject([{ svcId: 1n, companyId: 2n, deleted: true }]);
  });
});

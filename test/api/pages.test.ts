import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assertParsable, decodeText } from '../../src/api/body.js';
import { findRecordInPage, parsePage } from '../../src/api/pages.js';
import type { Generation, RejectedObject } from '../../src/domain.js';
import { codeOf } from '../support/code-of.js';

const FORMAT = {
  fieldPrefix: 'svc_',
  children: ['line_items'],
  dateFields: ['posted_date', 'created_at', 'updated_at'],
  keepsFacts: false,
};
const V3 = { ...FORMAT, generation: 'v3' } as const;
const parseV3 = (text: string, company: bigint | null) => parsePage(text, V3, company);
const parseV4 = (text: string, company: bigint | null) =>
  parsePage(text, { ...FORMAT, generation: 'v4' }, company);

/** A page of V3 with these objects, as texts. */
function page(...items: readonly string[]): string {
  return `{"data":[${items.join(',')}],"prev":null,"next":null,"total_count":${items.length}}`;
}

const MAX = '9223372036854775807';

describe('an object of a page', () => {
  it('becomes a record with what matching needs', () => {
    const text = `{"svc_id":7,"svc_company_id":2,"platform_id":"k","platform_unique_id":"u","svc_deleted_at":null,
      "svc_created_at":"2026-01-01T00:00:00Z","svc_updated_at":"2026-01-02T00:00:00.000Z","posted_date":"2025-01-01",
      "created_at":"2025-02-01T00:00:00.000Z","line_items":[{"svc_id":8,"platform_id":"c"},{"description":"no id"},5]}`;
    expect(parseV3(page(text), 2n).records).toEqual([
      {
        svcId: 7,
        companyId: 2,
        platformId: 'k',
        platformUniqueId: 'u',
        deleted: false,
        updatedMs: Date.parse('2026-01-02T00:00:00Z'),
        latestMs: Date.parse('2025-02-01T00:00:00Z'),
        latestFrom: 'platform',
        createdMs: Date.parse('2025-02-01T00:00:00Z'),
        children: [{ path: 'line_items', svcId: 8, platformId: 'c', platformUniqueId: null, deleted: false }],
        facts: null,
      },
    ]);
  });

  it.each<[string, RejectedObject['reason']]>([
    ['5', 'not_an_object'],
    ['null', 'not_an_object'],
    ['[]', 'not_an_object'],
    ['{}', 'no_svc_id'],
    ['{"svc_id":null,"svc_company_id":2}', 'no_svc_id'],
    ['{"svc_id":"5","svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":5.5,"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":1e30,"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":5.0,"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id" : 1e3,"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":4503599627370497.4,"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":1,"svc_company_id":2.0}', 'bad_company_id'],
    ['{"svc_id":9223372036854775808,"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":true,"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":1}', 'no_company_id'],
    ['{"svc_id":1,"svc_company_id":"2"}', 'bad_company_id'],
    ['{"svc_id":1,"svc_company_id":3}', 'other_company'],
    ['{"svc_id":1,"svc_company_id":2,"svc_deleted_at":""}', 'bad_deleted_at'],
    ['{"svc_id":1,"svc_company_id":2,"svc_deleted_at":false}', 'bad_deleted_at'],
    ['{"svc_id":1,"svc_company_id":2,"svc_deleted_at":0}', 'bad_deleted_at'],
    ['{"svc_id":1,"svc_company_id":2,"svc_deleted_at":1767225600}', 'bad_deleted_at'],
    ['{"svc_id":1,"svc_company_id":2,"svc_deleted_at":"0000-00-00 00:00:00"}', 'bad_deleted_at'],
    ['{"svc_id":1,"svc_company_id":2,"svc_deleted_at":"0001-01-01T00:00:00Z"}', 'bad_deleted_at'],
    ['{"svc_id":1,"svc_company_id":2,"svc_deleted_at":"1970-01-01T00:00:00Z"}', 'bad_deleted_at'],
    ['{"svc_id":1,"svc_company_id":2,"svc_deleted_at":{}}', 'bad_deleted_at'],
  ])('%s is rejected as %s, with its text', (raw, reason) => {
    const good = '{"svc_id":4,"svc_company_id":2}';
    const { records, rejected } = parseV3(page(good, ` ${raw} `, good), 2n);
    expect(records).toHaveLength(2);
    expect(rejected).toEqual([{ position: 1, path: '', parentSvcId: null, reason, raw }]);
  });

  it.each([
    ['"2026-01-01T00:00:00Z"', true],
    ['"2026-01-01"', true],
    ['"2026-01-01 12:00:00"', true],
    ['"1970-01-01T00:00:00.001Z"', true],
    ['null', false],
  ])('with the deletion time %s is deleted: %s', (value, deleted) => {
    const { records } = parseV3(page(`{"svc_id":1,"svc_company_id":2,"svc_deleted_at":${value}}`), null);
    expect(records).toMatchObject([{ deleted }]);
  });

  it('keeps its children but those that cannot be taken', () => {
    const bad = [
      '{"svc_id":"x"}',
      '{ "svc_id" : null }',
      '{"svc_id":3,"svc_deleted_at":""}',
      '{"svc_id":9223372036854775808}',
    ];
    const text = `{"svc_id":1,"svc_company_id":2,"line_items":[{"svc_id":2},${bad.join(',')},{"svc_id":${MAX}}]}`;
    const { records, rejected } = parseV3(page(text), null);
    expect(records[0]?.children.map(({ svcId }) => svcId)).toEqual([2, BigInt(MAX)]);
    const reasons = ['bad_svc_id', 'no_svc_id', 'bad_deleted_at', 'bad_svc_id'];
    expect(rejected).toEqual(
      bad.map((raw, at) => ({ position: 0, path: 'line_items', parentSvcId: 1, reason: reasons[at], raw })),
    );
  });
});

describe('ids and keys', () => {
  it.each([
    ['1', 1],
    ['-0', 0],
    ['9007199254740991', 9_007_199_254_740_991],
    ['9007199254740993', 9_007_199_254_740_993n],
    [MAX, BigInt(MAX)],
    ['-9223372036854775808', -(2n ** 63n)],
  ])('%s is exact', (digits, id) => {
    const { records, rejected } = parseV3(
      page(`{"svc_id" : ${digits} ,"svc_company_id":${digits},"platform_id":"a"}`),
      BigInt(digits),
    );
    expect(rejected).toEqual([]);
    expect(records).toMatchObject([{ svcId: id, companyId: id, platformId: 'a' }]);
  });

  it.each([
    ['"a"', 'a'],
    ['""', null],
    ['null', null],
    ['" "', ' '],
    ['5', '5'],
    ['-5', '-5'],
    ['12345678901234567890123', '12345678901234567890123'],
    ['5.0', null],
    ['1e3', null],
    ['true', null],
    ['[]', null],
    ['"\\u0000x"', '\u0000x'],
    ['"\\ud83d\\ude00"', '😀'],
    ['"\\ud800"', null],
    ['"\\"svc_id\\":9007199254740993"', '"svc_id":9007199254740993'],
  ])('the platform_id %s is the key %j', (value, key) => {
    const text = `{"svc_id":1,"svc_company_id":2,"platform_id":${value},"platform_unique_id":${value}}`;
    const other = '{"svc_id":9007199254740993,"svc_company_id":2,"platform_id":"x"}';
    for (const { records } of [parseV3(page(text), 2n), parseV3(page(text, other), 2n)]) {
      expect(records[0]).toMatchObject({ svcId: 1, platformId: key, platformUniqueId: key });
    }
  });

  it('of any size come out as they went in', () => {
    const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    const record = fc.record({ id, company: id, key: fc.string({ unit: 'grapheme', minLength: 1 }) });
    fc.assert(
      fc.property(fc.array(record, { maxLength: 5 }), (all) => {
        const items = all.map(
          (item) =>
            `{"svc_id":${item.id},"svc_company_id":${item.company},"platform_id":${JSON.stringify(item.key)}}`,
        );
        const { records } = parseV3(page(...items), null);
        expect(
          records.map((found) => [BigInt(found.svcId), BigInt(found.companyId), found.platformId]),
        ).toEqual(all.map((item) => [item.id, item.company, item.key]));
      }),
    );
  });
});

describe('an envelope', () => {
  const list = '[{"svc_id":1,"svc_company_id":2}]';
  it.each<[Generation, string, number]>([
    ['v3', `{"data":${list},"next":null}`, 1],
    ['v3', `{"data":${list},"next":"c","total_count":null,"errors":[],"error":null}`, 1],
    ['v4', `{"data":{"data":${list},"next":null,"total_count":1},"request_id":"r"}`, 1],
    // A list that is null counts as empty where the service says that there are 0 records and no next page.
    ['v3', '{"data":null,"next":null,"total_count":0}', 0],
    ['v4', '{"data":{"data":null,"next":null,"total_count":0},"request_id":"r"}', 0],
  ])('of %s: %s holds a page', (generation, text, count) => {
    const parse = generation === 'v3' ? parseV3 : parseV4;
    expect(parse(text, 2n).records).toHaveLength(count);
  });

  it.each<[Generation, string]>([
    ['v3', ''],
    ['v3', '<html><body>Bad gateway'],
    ['v3', 'null'],
    ['v3', '[]'],
    ['v3', '{}'],
    ['v3', '{"error":"no"}'],
    ['v3', `{"data":${list},"next":null,"error":"quota"}`],
    ['v3', `{"data":${list},"next":null,"errors":["quota"]}`],
    ['v3', `{"data":${list}}`],
    ['v3', `{"data":${list},"next":""}`],
    ['v3', `{"data":${list},"next":5}`],
    ['v3', `{"data":{"data":${list},"next":null}}`],
    ['v3', `{"data":${list},"next":null`],
    ['v3', '{"data":null,"next":null}'],
    ['v3', '{"data":null,"next":null,"total_count":null}'],
    ['v3', '{"data":null,"next":"c","total_count":0}'],
    ['v3', '{"data":null,"next":null,"total_count":3}'],
    ['v4', `{"data":${list},"next":null}`],
    ['v4', '{"data":null,"request_id":"r"}'],
    ['v4', '{"data":{"data":null,"next":null},"request_id":"r"}'],
    ['v4', `{"data":{"data":${list},"next":null,"error":{"code":1}}}`],
  ])('of %s: %s is no page', (generation, text) => {
    const parse = generation === 'v3' ? parseV3 : parseV4;
    expect(codeOf(() => parse(text, null))).toBe('bad_response');
  });

  it('is UTF-8', () => {
    expect(decodeText(Buffer.from('é'))).toBe('é');
    expect(codeOf(() => decodeText(Buffer.from([0x22, 0xff, 0x22])))).toBe('bad_response');
  });
});

describe('a body of a few bytes for each object', () => {
  const BYTES = 4 * 2 ** 20;
  const named = (item: (at: number) => string, count: number) =>
    Buffer.from(`[${Array.from({ length: count }, (_, at) => item(at)).join(',')}]`);
  it.each([
    ['empty objects', Buffer.alloc(BYTES, '{},')],
    ['empty lists', Buffer.alloc(BYTES, '[],')],
    ['new names in every record', named((at) => `{"svc_id":1,"n${at}":1,"m${at}":2}`, 140_000)],
  ])('is refused before it is parsed: %s', (_name, body) => {
    expect(body.length).toBeGreaterThanOrEqual(BYTES);
    expect(codeOf(() => assertParsable(body, BYTES))).toBe('body_too_large');
  });

  it.each([
    [
      'records of the usual size',
      named((at) => `{"svc_id":${at},"memo":"${'x'.repeat(400)}","line_items":[{"svc_id":2}]}`, 9500),
    ],
    ['small records', Buffer.alloc(BYTES, '{"svc_id":123456789,"svc_company_id":2},')],
    ['one long text', Buffer.from(JSON.stringify('{:,["'.repeat(700_000)))],
  ])('is taken: %s', (_name, body) => {
    expect(body.length).toBeGreaterThanOrEqual(BYTES);
    expect(() => assertParsable(body, BYTES)).not.toThrow();
  });
});

it('keeps the text of many rejected children without reading their list for each', () => {
  const items = Array.from({ length: 20_000 }, (_, index) => `{"svc_id":"${index}"}`);
  const text = page(`{"svc_id":1,"svc_company_id":2,"line_items":[${items.join(',')}]}`);
  const { rejected } = parsePage(text, { ...V3, children: ['line_items'] }, null);
  expect(rejected.map(({ raw }) => raw)).toEqual(items);
});

describe('a stored page', () => {
  it('shows the members of a record, with exact integers', () => {
    const text = page(
      '{"svc_id":1}',
      '{"svc_id":9007199254740993,"n":12345678901234567890,"d":1.5,"list":[1]}',
    );
    expect(findRecordInPage(text, V3, 9_007_199_254_740_993n)).toEqual({
      svc_id: '9007199254740993',
      n: '12345678901234567890',
      d: 1.5,
      list: [1],
    });
    expect(findRecordInPage(text, V3, 2n)).toBeNull();
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parsePage } from '../../src/api/page.js';
import type { PageSpec } from '../../src/api/record-layout.js';
import type { ParsedPage, ParsedRecord } from '../../src/domain.js';
import { SvcError } from '../../src/errors.js';

const V3: PageSpec = {
  generation: 'v3',
  fieldPrefix: 'svc_',
  children: ['line_items', 'payments'],
  dateFields: ['posted_date', 'created_at', 'updated_at', 'org_created_at'],
  companyId: null,
};
const V4: PageSpec = { ...V3, generation: 'v4' };

function parse(body: string, spec: PageSpec = V3): ParsedPage {
  return parsePage(Buffer.from(body), spec);
}

/** The outcome of a page that holds one object, given as JSON text. */
function parseOne(object: string, spec: PageSpec = V3): ParsedPage {
  return parse(`{"data":[${object}],"prev":null,"next":null,"total_count":null}`, spec);
}

function recordOf(members: string, spec: PageSpec = V3): ParsedRecord {
  const page = parseOne(`{"svc_id":1,"svc_company_id":2${members === '' ? '' : `,${members}`}}`, spec);
  const [record] = page.records;
  if (record === undefined) throw new Error(`rejected: ${page.rejected[0]?.reason}`);
  return record;
}

function errorOf(body: string | Uint8Array, spec: PageSpec = V3): SvcError {
  try {
    parsePage(Buffer.from(body), spec);
  } catch (error) {
    if (error instanceof SvcError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('utf8');

describe('the envelope', () => {
  it('of V3 gives records, cursor and count', () => {
    const page = parse('{"data":[{"svc_id":1,"svc_company_id":2}],"prev":"p","next":"c/?&","total_count":7}');
    expect(page).toMatchObject({ next: 'c/?&', totalCount: 7, requestId: null, rejected: [] });
    expect(page.records.map((record) => record.svcId)).toEqual([1n]);
  });

  it('of V4 gives the inner cursor, whatever the outer object holds', () => {
    const page = parse(
      '{"next":"outer","total_count":9,"data":{"next":"inner","total_count":1,"data":[{"svc_id":1,"svc_company_id":2}]},"request_id":"r-1"}',
      V4,
    );
    expect(page).toMatchObject({ next: 'inner', totalCount: 1, requestId: 'r-1' });
    expect(page.records).toHaveLength(1);
  });

  it('is the same in any order, with any spacing and with escaped keys', () => {
    const page = parse(
      ' { "next" : null ,\n "d\\u0061ta" : [ { "svc\\u005fid" : 5 , "svc_company_id":2 } ] } ',
    );
    expect(page.records.map((record) => record.svcId)).toEqual([5n]);
    expect(text(page.records[0]?.raw)).toBe('{ "svc\\u005fid" : 5 , "svc_company_id":2 }');
  });

  it('holds the last of repeated keys, as JSON.parse has it', () => {
    const one = '{"svc_id":1,"svc_company_id":2}';
    const two = '{"svc_id":2,"svc_company_id":2}';
    expect(parse(`{"data":[${one},7],"next":"a","data":[${two}],"next":null}`)).toMatchObject({
      next: null,
      rejected: [],
      records: [{ svcId: 2n }],
    });
    const v4 = `{"data":{"data":[${one}],"next":"a"},"data":{"data":[${two}],"next":null}}`;
    expect(parse(v4, V4)).toMatchObject({ next: null, records: [{ svcId: 2n }] });
    expect(errorOf(`{"data":{"data":[${one}],"next":"a"},"data":{"next":null}}`, V4).code).toBe(
      'bad_response',
    );
    expect(errorOf(`{"data":[${one}],"next":null,"data":null}`).code).toBe('bad_response');
  });

  it.each([
    ['0', 0],
    ['12', 12],
    ['null', null],
    ['-1', null],
    ['1.5', null],
    ['"12"', null],
    ['[]', null],
    ['9007199254740992', null],
  ])('counts %s as %s', (count, expected) => {
    expect(parse(`{"data":[],"next":null,"total_count":${count}}`).totalCount).toBe(expected);
  });

  it('may leave the count out', () => {
    expect(parse('{"data":[],"next":null}').totalCount).toBeNull();
  });

  it.each([
    ['nothing', ''],
    ['blanks', '  \n'],
    ['HTML', '<!doctype html><html></html>'],
    ['text', 'upstream timed out'],
    ['null', 'null'],
    ['a list', '[]'],
    ['a number', '7'],
    ['an error', '{"error":"nope"}'],
    ['an error beside null', '{"data":null,"next":null,"error":"nope"}'],
    ['data that is text', '{"data":"x","next":null}'],
    ['no next', '{"data":[]}'],
    ['a next that is a number', '{"data":[],"next":5}'],
    ['an empty next', '{"data":[],"next":""}'],
    ['a next that is an object', '{"data":[],"next":{}}'],
    ['a cut body', '{"data":[{"svc_id":1,"svc_company_id":2}],"next":nul'],
    ['a body cut behind the list', '{"data":[]'],
    ['two bodies', '{"data":[],"next":null}{"data":[],"next":null}'],
    ['a byte order mark', '\ufeff{"data":[],"next":null}'],
  ])('is not %s', (_name, body) => {
    expect(errorOf(body).code).toBe('bad_response');
    expect(errorOf(body, V4).code).toBe('bad_response');
  });

  it('is not JSON in another encoding', () => {
    expect(errorOf(Buffer.from('{"data":[],"next":null,"x":"\xe9"}', 'latin1')).code).toBe('bad_response');
    expect(errorOf(Buffer.from('{"data":[],"next":null}', 'utf16le')).code).toBe('bad_response');
  });

  it('names the other generation', () => {
    expect(errorOf('{"data":{"data":[],"next":null},"request_id":"r"}').message).toContain('V4');
    expect(errorOf('{"data":[],"next":null,"total_count":0}', V4).message).toContain('V3');
  });

  it('is refused whatever byte is missing at its end', () => {
    const body = Buffer.from('{"data":[{"svc_id":1,"svc_company_id":2}],"next":null,"total_count":1}');
    for (let length = 0; length < body.length; length++) {
      expect(errorOf(body.subarray(0, length)).code).toBe('bad_response');
    }
  });
});

describe('objects that are no records', () => {
  it.each([
    ['7', 'not_an_object'],
    ['null', 'not_an_object'],
    ['"{}"', 'not_an_object'],
    ['[{"svc_id":1}]', 'not_an_object'],
    ['{"svc_company_id":2}', 'no_svc_id'],
    ['{"svc_id":null,"svc_company_id":2}', 'no_svc_id'],
    ['{"nested":{"svc_id":1},"svc_company_id":2}', 'no_svc_id'],
    ['{"svc_id":"5","svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":1.0,"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":1e3,"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":true,"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":{},"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":9223372036854775808,"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":-9223372036854775809,"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":100000000000000000000000000000,"svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":1,"svc_id":"x","svc_company_id":2}', 'bad_svc_id'],
    ['{"svc_id":1}', 'no_company_id'],
    ['{"svc_id":1,"svc_company_id":null}', 'no_company_id'],
    ['{"svc_id":1,"svc_company_id":"2"}', 'bad_company_id'],
    ['{"svc_id":1,"svc_company_id":2.5}', 'bad_company_id'],
    ['{"svc_id":1,"svc_company_id":3}', 'other_company'],
  ])('%s is rejected as %s, raw', (object, reason) => {
    const page = parseOne(object, { ...V3, companyId: 2n });
    expect(page.records).toEqual([]);
    expect(page.rejected.map((one) => ({ ...one, raw: text(one.raw) }))).toEqual([
      { position: 0, path: '', reason, raw: object },
    ]);
  });

  it('keep their place among the records', () => {
    const good = '{"svc_id":1,"svc_company_id":2}';
    const page = parseOne(`${good},7,${good.replace('1', '3')}, [ ] `);
    expect(page.records.map((record) => record.svcId)).toEqual([1n, 3n]);
    expect(page.rejected.map(({ position, raw }) => [position, text(raw)])).toEqual([
      [1, '7'],
      [3, '[ ]'],
    ]);
  });
});

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

describe('children', () => {
  it('are the objects with an id in the configured lists', () => {
    const record = recordOf(
      '"line_items":[{"svc_id":5,"platform_id":"a","platform_unique_id":"u","svc_deleted_at":"x"},{"name":"no id"},7,null,[{"svc_id":6}],{"svc_id":6,"platform_id":7}],"payments":[{"svc_id":5}],"others":[{"svc_id":8}]',
    );
    expect(record.children).toEqual([
      { path: 'line_items', svcId: 5n, platformId: 'a', platformUniqueId: 'u', deleted: true },
      { path: 'line_items', svcId: 6n, platformId: '7', platformUniqueId: null, deleted: false },
      { path: 'payments', svcId: 5n, platformId: null, platformUniqueId: null, deleted: false },
    ]);
  });

  it.each(['null', '{}', '{"svc_id":1}', '"x"', '[]', '7'])('are none in %s', (value) => {
    expect(recordOf(`"line_items":${value}`).children).toEqual([]);
  });

  it('belong to the last of a repeated field', () => {
    expect(recordOf('"line_items":[{"svc_id":5}],"line_items":[{"svc_id":6}]').children).toMatchObject([
      { svcId: 6n },
    ]);
    expect(recordOf('"line_items":[{"svc_id":5}],"line_items":null').children).toEqual([]);
  });

  it('belong to their own record', () => {
    const page = parseOne(
      '{"svc_id":1,"svc_company_id":2,"line_items":[{"svc_id":5}]},{"svc_id":2,"svc_company_id":2},{"svc_id":"x","line_items":[{"svc_id":7}]},{"svc_id":3,"svc_company_id":2,"payments":[{"svc_id":6}]}',
    );
    expect(page.records.map(({ children }) => children.map((child) => child.svcId))).toEqual([
      [5n],
      [],
      [6n],
    ]);
  });

  it('are not left over from the record before', () => {
    const values = ['null', '{}', '"x"', '7', '[]'];
    for (const value of values) {
      const page = parseOne(
        `{"svc_id":1,"svc_company_id":2,"line_items":[{"svc_id":5}]},{"svc_id":2,"svc_company_id":2,"line_items":${value}}`,
      );
      expect(page.records[1]?.children).toEqual([]);
    }
  });

  it('with the same id are one, the last', () => {
    const record = recordOf(
      '"line_items":[{"svc_id":5,"platform_id":"a"},{"svc_id":4},{"svc_id":5,"platform_id":"b"}]',
    );
    expect(record.children).toMatchObject([
      { svcId: 5n, platformId: 'b' },
      { svcId: 4n, platformId: null },
    ]);
    expect(recordOf('"line_items":[{"svc_id":5,"platform_id":"a"},{"svc_id":5}]').children).toHaveLength(1);
  });

  it('whose id is none are rejected under their field, at their record', () => {
    const page = parseOne(
      '7,{"svc_id":1,"svc_company_id":2,"line_items":[{"svc_id":"5"},{"svc_id":1.0},{"svc_id":null},{"svc_id":9223372036854775808}]}',
    );
    expect(page.records).toHaveLength(1);
    expect(
      page.rejected.map(({ position, path, reason, raw }) => [position, path, reason, text(raw)]),
    ).toEqual([
      [0, '', 'not_an_object', '7'],
      [1, 'line_items', 'bad_svc_id', '{"svc_id":"5"}'],
      [1, 'line_items', 'bad_svc_id', '{"svc_id":1.0}'],
      [1, 'line_items', 'no_svc_id', '{"svc_id":null}'],
      [1, 'line_items', 'bad_svc_id', '{"svc_id":9223372036854775808}'],
    ]);
  });
});

describe('the whole page', () => {
  it('agrees with JSON.parse, for records of any content', () => {
    const value = fc.jsonValue();
    const object = fc.record({
      svc_id: fc.nat(),
      svc_company_id: fc.nat(5),
      platform_id: value,
      line_items: value,
      rest: value,
    });
    fc.assert(
      fc.property(fc.array(fc.oneof(object, value), { maxLength: 6 }), (objects) => {
        const page = parse(JSON.stringify({ data: objects, next: null }));
        const seen = [
          ...page.records.map((record) => JSON.parse(text(record.raw))),
          ...page.rejected.filter(({ path }) => path === '').map(({ raw }) => JSON.parse(text(raw))),
        ];
        expect(seen).toHaveLength(objects.length);
        const asJson = (one: unknown): string => JSON.stringify(one);
        expect(seen.map(asJson).sort()).toEqual(objects.map(asJson).sort());
      }),
    );
  });

  it('may hold records of 300 members and a list of 5000 children', () => {
    const members = Array.from({ length: 300 }, (_, index) => `"field_${index}":${index}`).join(',');
    const items = Array.from({ length: 5000 }, (_, index) => `{"svc_id":${5000 - index}}`).join(',');
    const record = recordOf(`${members},"line_items":[${items}],"platform_id":"z"`);
    expect(record.platformId).toBe('z');
    expect(record.children).toHaveLength(5000);
  });
});

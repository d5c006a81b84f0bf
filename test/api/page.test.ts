import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { errorOf, parse, parseOne, recordOf, text, V3, V4 } from './support/pages.js';

describe('the envelope', () => {
  it('of V3 gives records, cursor and count', () => {
    const page = parse('{"data":[{"svc_id":1,"svc_company_id":2}],"prev":"p","next":"c/?&","total_count":7}');
    expect(page).toMatchObject({ next: 'c/?&', totalCount: 7, rejected: [] });
    expect(page.records.map((record) => record.svcId)).toEqual([1n]);
  });

  it('of V4 gives the inner cursor, whatever the outer object holds', () => {
    const page = parse(
      '{"next":"outer","total_count":9,"data":{"next":"inner","total_count":1,"data":[{"svc_id":1,"svc_company_id":2}]},"request_id":"r-1"}',
      V4,
    );
    expect(page).toMatchObject({ next: 'inner', totalCount: 1 });
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
    const one = '{"svc_id":1,"svc_company_id":2,"a":1}';
    const two = '{"svc_id":2,"svc_company_id":2,"a":2}';
    const last = `"data":[${two}],"next":null}`;
    expect(parse(`{"data":[${one},7],"next":"a",${last}`)).toEqual(parse(`{${last}`));
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

  it.each([
    ['an error', '"error":{"code":"busy"},'],
    ['errors', '"errors":["busy"],'],
    ['an empty list of errors', '"errors":[],'],
    ['a false error', '"error":false,'],
    ['an escaped error', '"err\\u006fr":"busy",'],
  ])('with %s beside the data is an error, with and without a cursor', (_name, member) => {
    for (const next of ['null', '"c"']) {
      const list = `${member}"data":[],"next":${next},"total_count":null`;
      expect(errorOf(`{${list}}`).code).toBe('bad_response');
      expect(errorOf(`{"data":{${list}},"request_id":"r"}`, V4).code).toBe('bad_response');
      const inner = `{"data":[],"next":${next},"total_count":null}`;
      expect(errorOf(`{${member}"data":${inner}}`, V4).code).toBe('bad_response');
    }
  });

  it('with a null error is a page', () => {
    expect(parse('{"error":null,"errors":null,"data":[],"next":null}').records).toEqual([]);
    const inner = '{"error":null,"errors":null,"data":[],"next":null}';
    expect(parse(`{"error":null,"data":${inner}}`, V4).records).toEqual([]);
  });

  it('may hold records with a field called error', () => {
    expect(recordOf('"error":"overdue","errors":[1]').svcId).toBe(1n);
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
    // two records: the keys of the second are held against those of the first
    const body = Buffer.from(
      '{"data":[{"svc_id":1,"svc_company_id":2},{"svc_id":3,"svc_company_id":2}],"next":null,"total_count":2}',
    );
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

import { describe, expect, it } from 'vitest';
import { parseOne, recordOf, text } from './support/pages.js';

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
      { svcId: 4n, platformId: null },
      { svcId: 5n, platformId: 'b' },
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

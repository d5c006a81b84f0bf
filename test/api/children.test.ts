import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pageParser } from '../../src/api/envelope.js';
import { recordsOf } from '../../src/json/record-columns.js';
import { campaign } from '../support/campaign.js';
import { type Child, renderChildren } from '../support/stored-children.js';
import { parseOne, recordOf, text, V3 } from './support/pages.js';

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
    for (const value of ['null', '{}', '"x"', '7', '[]']) {
      const again = `{"svc_id":1,"svc_company_id":2,"line_items":[{"svc_id":5},{"svc_id":"x"}],"line_items":${value}}`;
      expect(parseOne(again)).toMatchObject({ records: [{ children: [] }], rejected: [] });
    }
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

/** A child as it is sent, keys of any JSON, and what is to be stored of it. */
interface Sent {
  readonly svcId: bigint;
  readonly platformId: unknown;
  readonly uniqueId: unknown;
  readonly deletedAt: string | null;
}

const key = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom<unknown>('apple', null, '', 7, -0.5, true, 'é"\\', '\u2028', {}, []),
);
const ids = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .uniqueArray(fc.bigInt(0n, 2n ** 50n), { maxLength: 6 })
      .map((all) => all.sort((a, b) => (a < b ? -1 : 1))),
  },
  { weight: 1, arbitrary: fc.array(fc.bigInt(-5n, 2n ** 63n - 1n), { maxLength: 6 }) },
  { weight: 1, arbitrary: fc.array(fc.bigInt(0n, 3n), { maxLength: 6 }) },
);
const list = ids.chain((all) =>
  fc.tuple(
    ...all.map(
      (svcId): fc.Arbitrary<Sent> =>
        fc.record({
          svcId: fc.constant(svcId),
          platformId: key,
          uniqueId: key,
          deletedAt: fc.constantFrom(null, '2026-01-01'),
        }),
    ),
  ),
);

function jsonOf({ svcId, platformId, uniqueId, deletedAt }: Sent): string {
  const keys = `"platform_id":${keyJsonOf(platformId)},"platform_unique_id":${keyJsonOf(uniqueId)}`;
  return `{"svc_id":${svcId},${keys},"svc_deleted_at":${JSON.stringify(deletedAt)}}`;
}

/** With an escape that `JSON.stringify` would not write. */
function keyJsonOf(key: unknown): string {
  return typeof key === 'string' ? JSON.stringify(key).replaceAll('p', '\\u0070') : JSON.stringify(key);
}

function storedOf(path: string, { svcId, platformId, uniqueId, deletedAt }: Sent): Child {
  return {
    path,
    svcId,
    platformId: keyOf(platformId),
    platformUniqueId: keyOf(uniqueId),
    deleted: deletedAt !== null,
  };
}

function keyOf(value: unknown): string | null {
  if (Number.isInteger(value)) return String(value);
  return typeof value === 'string' && value !== '' ? value : null;
}

describe('children as they are stored', () => {
  it('are the same text, whatever their order and keys', () => {
    const seen = { plain: 0, odd: 0 };
    fc.assert(
      fc.property(list, list, (items, payments) => {
        const lists = `"payments":[${payments.map(jsonOf)}],"line_items":[${items.map(jsonOf)}]`;
        const body = `{"data":[{"svc_id":1,"svc_company_id":2,${lists}}],"next":null}`;
        const { columns } = pageParser(V3)(Buffer.from(body), null, 500);
        const expected = renderChildren([
          ...payments.map((one) => storedOf('payments', one)),
          ...items.map((one) => storedOf('line_items', one)),
        ]);
        expect(recordsOf(columns)[0]?.children).toBe(expected);
        const isRising = [items, payments].every((all) =>
          all.every(({ svcId }, at) => at === 0 || svcId > (all[at - 1]?.svcId ?? 0n)),
        );
        seen[isRising && !body.includes('\\') ? 'plain' : 'odd'] += 1;
      }),
      { numRuns: campaign({ small: 300, full: 2000 }) },
    );
    process.stdout.write(`${seen.plain} plain records, ${seen.odd} odd ones\n`);
    expect(Math.min(seen.plain, seen.odd)).toBeGreaterThan(campaign({ small: 20, full: 200 }));
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ColumnWork, openColumn } from '../../../src/apply/column-work.js';
import { buildNdjsonScanner } from '../../../src/apply/text/record-scanner.js';
import { buildJsonRewriter, rewriteJson } from '../../../src/apply/text/rewrite-json.js';
import type { IdColumn } from '../../../src/config/apply-targets.js';
import { findValues, parseJsonPath } from '../../../src/json/json-path.js';
import { JsonSyntaxError } from '../../../src/json/json-scanner.js';
import { campaign } from '../../support/campaign.js';
import { makeFolder } from '../support/folder.js';
import { IN_PLACE, INVOICES, openIds } from '../support/remap.js';

const _folder = makeFolder();
const remap = openIds([
  { v3: 1, v4: 2 },
  { v3: 2, v4: 1 },
  { v3: 3, v4: 9007199254740993n },
  { v3: 9007199254740993n, v4: 9007199254740992n },
  { v3: 4 },
  { v3: 5, v4: 50, company: 7, model: 'crm/companies' },
]);

function rewrite(text: string, ids: readonly Partial<IdColumn>[], missing: 'keep' | 'null' = 'keep') {
  const works: ColumnWork[] = ids.map((one) =>
    openColumn(
      remap,
      { column: '$', ...(one.modelColumn === undefined ? { model: INVOICES } : {}), ...one },
      { ...IN_PLACE, missing },
    ),
  );
  const rewriter = buildJsonRewriter(works, (work) => work.column.column, true);
  const bytes = rewriteJson(rewriter, Buffer.from(text), { scopes: [], rows: 1 }, false) ?? text;
  const counts = works.flatMap((work) => work.tally.result().counts);
  return { text: bytes.toString(), counts: counts.map(({ name, rows }) => `${name} ${rows}`) };
}

describe('JSON paths', () => {
  it.each([
    ['$.a.b', '{"a":{"b":1},"b":1}', '{"a":{"b":2},"b":1}'],
    ['a.b', '{"a":{"b":1},"b":1}', '{"a":{"b":2},"b":1}'],
    ['$', '1', '2'],
    ['$[*]', '[1, 2 ,"1"]', '[2, 1 ,"2"]'],
    ['$[1]', '[1,1,1]', '[1,2,1]'],
    ['$.lines[*].id', '{"lines":[{"id":1},{"x":1},{"id":"2"}]}', '{"lines":[{"id":2},{"x":1},{"id":"1"}]}'],
    ['$.*.id', '{"a":{"id":1},"b":{"id":2},"id":1}', '{"a":{"id":2},"b":{"id":1},"id":1}'],
    ["$['odd key'].id", '{"odd key":{"id":1}}', '{"odd key":{"id":2}}'],
    ['$.svc_id', '{"svc\\u005fid":1}', '{"svc\\u005fid":2}'],
    ['$.id', '{"id":1,"id":2}', '{"id":2,"id":1}'],
    ['$.id', ' {\t"id" :\r 9007199254740993 } ', ' {\t"id" :\r 9007199254740992 } '],
    ['$.id', '{"id":3}', '{"id":9007199254740993}'],
    ['$.id', '{"Id":1,"id ":1,"ids":1,"i":{"d":1}}', '{"Id":1,"id ":1,"ids":1,"i":{"d":1}}'],
    ['$.é', '{"é":1}', '{"é":2}'],
  ])('%s rewrites %s', (path, before, after) => {
    expect(rewrite(before, [{ column: path }]).text).toBe(after);
  });

  it('copies a value into a new column only if it holds no V3 id there', () => {
    const ids = [{ column: '$.id', model: INVOICES }];
    const copy = (text: string) => {
      const works = ids.map((one) => openColumn(remap, one, { ...IN_PLACE, mode: 'new', missing: 'keep' }));
      const rewriter = buildJsonRewriter(works, ({ column }) => column.column, true);
      return rewriteJson(rewriter, Buffer.from(text), { scopes: [], rows: 1 }, true)?.toString();
    };
    expect(['{"id":1,"id":4}', '{"id":1}', '{"x":4}'].map(copy)).toEqual([undefined, '{"id":2}', '{"x":4}']);
  });

  it.each(['$.', '$..', '$..id', '$[', '$[x]', '$.a b', "$['a", '$.a[-1]'])('%s is refused', (path) => {
    expect(parseJsonPath(path)).toBeNull();
  });

  it('counts what it does not rewrite: odd numbers, other values, nothing', () => {
    const text = '[1.0,1e0,"01"," 1","\\u0031",true,{"a":1},[1],null,"",4,7]';
    const { text: after, counts } = rewrite(text, [{ column: '$[*]' }]);
    expect(after).toBe(text);
    expect(counts).toEqual([
      'empty 2',
      'unknown/decimal 1',
      'unknown/escaped 1',
      'unknown/exponent 1',
      'unknown/leading_zeros 1',
      'unknown/not_a_value 3',
      'unknown/not_in_remap 1',
      'unknown/spaces_around 1',
      'unmatched/unexplained 1',
    ]);
  });

  it('writes null for ids without a twin when told to', () => {
    expect(rewrite('[4,"4",1]', [{ column: '$[*]' }], 'null').text).toBe('[null,null,2]');
  });

  it('takes model and company from elsewhere in the record', () => {
    const ids = [
      {
        column: '$.ref.id',
        modelColumn: '$.kind',
        models: { inv: INVOICES, co: 'crm/companies', '': 'crm/companies' },
        companyColumn: '$.co',
      },
    ];
    expect(rewrite('{"ref":{"id":5},"kind":"co","co":7}', ids).text).toContain('"id":50');
    expect(rewrite('{"co":"7","ref":{"id":5},"kind":"co"}', ids).text).toContain('"id":50');
    expect(rewrite('{"ref":{"id":5},"kind":"co","co":8}', ids).counts).toEqual(['unknown/other_scope 1']);
    for (const kind of ['"kind":"zz"', '"kind":"co","kind":"inv"', '"kind":{"co":"co"}', '"kind":""'])
      expect(rewrite(`{"ref":{"id":5},${kind},"co":7}`, ids).counts).toEqual(['unknown/unknown_model 1']);
  });
});

describe('JSON scanner', () => {
  it('takes what JSON.parse takes and refuses what it refuses', () => {
    let refused = 0;
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom(...'{}[],:"\\0123eE+-. ntf\u0001é'),
        (text, place, byte) => {
          for (const sample of [
            text,
            `${text.slice(0, place % (text.length + 1))}${byte}${text.slice(place % (text.length + 1))}`,
          ]) {
            const bytes = Buffer.from(sample);
            let parses = true;
            try {
              JSON.parse(sample);
            } catch {
              parses = false;
              refused += 1;
            }
            const scan = () => findValues(bytes, 0, bytes.length, []);
            if (parses) expect(scan).not.toThrow();
            else expect(scan).toThrow(JsonSyntaxError);
          }
        },
      ),
      { numRuns: campaign({ small: 1500, full: 10_000, soak: 200_000 }) },
    );
    process.stderr.write(`JSON scanner: 40,000 texts, ${refused} of them no JSON\n`);
  });

  it('does not run out of stack on deep nesting', () => {
    const path = parseJsonPath('$.*.id');
    const find = (text: string) => findValues(Buffer.from(text), 0, text.length, path === null ? [] : [path]);
    const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(find(`{"a":{"b":${deep},"id":7}}`)).toHaveLength(1);
    expect(() => find('['.repeat(200_000))).toThrow(JsonSyntaxError);
  });

  it('finds what JSON.parse finds at random places', () => {
    const path = parseJsonPath('$.*.id');
    if (path === null) throw new Error('no path');
    const key = fc.constantFrom('id', 'a', 'b');
    const { tree } = fc.letrec((tie) => ({
      leaf: fc.integer(),
      node: fc.oneof(
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(key, tie('tree'), { maxKeys: 3 }),
      ),
      tree: fc.oneof({ depthSize: 'small' }, tie('leaf'), tie('node')),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const bytes = Buffer.from(JSON.stringify(value, null, 1));
        const found = findValues(bytes, 0, bytes.length, [path]).map(({ start, end }) =>
          JSON.stringify(JSON.parse(bytes.toString('utf8', start, end))),
        );
        expect(found).toEqual(valuesUnderId(value).map((one) => JSON.stringify(one)));
      }),
      { numRuns: 2000 },
    );
  });
});

function valuesUnderId(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((inner: unknown) =>
    typeof inner === 'object' && inner !== null && 'id' in inner ? [inner.id] : [],
  );
}

it('lines of NDJSON that are no JSON are named and left alone', () => {
  const scanner = buildNdjsonScanner([openColumn(remap, { column: '$.id', model: INVOICES }, IN_PLACE)], 0);
  const bytes = Buffer.from('{"id":1}\n{"id":1\nid=2\n{"id":2}{"id":1}\n');
  const edits: unknown[] = [];
  scanner.scan(bytes, true, (...edit) => edits.push(edit));
  expect(edits).toEqual([[6, 7, '2']]);
  const places = [
    'record 2 lacks a comma or } (byte 8 of it)',
    'record 3 has an invalid value (byte 1 of it)',
    'record 4 has more than one value (byte 9 of it)',
  ];
  expect(scanner.found().defects).toEqual([{ code: 'not_json', count: 3, places }]);
});

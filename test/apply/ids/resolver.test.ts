import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ColumnTally } from '../../../src/apply/column-work.js';
import { IdSet, ModelIds, toId } from '../../../src/apply/ids/model-ids.js';
import { type LookUp, NO_SCOPE, PlatformIdResolver, Resolver } from '../../../src/apply/ids/resolver.js';
import { INVOICES, openIds, type RemapRow } from '../support/remap.js';

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

describe('an id', () => {
  it('is exact, and the same from digits as from a bigint', () => {
    fc.assert(
      fc.property(int64, (value) => {
        expect(BigInt(toId(value))).toBe(value);
        expect(toId(String(value))).toBe(toId(value));
      }),
      { numRuns: 2000 },
    );
  });

  it('is a number only where that is exact', () => {
    expect([2n ** 53n - 1n, -(2n ** 53n - 1n), 0n].map(toId)).toEqual([2 ** 53 - 1, -(2 ** 53 - 1), 0]);
    for (const value of [2n ** 53n, 2n ** 63n - 1n, -(2n ** 53n), -(2n ** 63n)])
      expect(toId(value)).toBe(value);
  });
});

const MAPPED = { category: 'mapped', region: null, company: null };

describe('ModelIds', () => {
  it('is found among many: close together, far apart, and alike in their low bits', () => {
    const many = [1n, 2n ** 20n, 2n ** 32n, 10n ** 12n, -(2n ** 41n)].flatMap((step) =>
      Array.from({ length: 5000 }, (_, at) => toId(step * BigInt(at + 1))),
    );
    const ids = new ModelIds({ model: INVOICES, path: '' }, many.length, false);
    for (const id of many) ids.add(id, MAPPED, id);
    expect(many.filter((id) => ids.v4At(ids.find(id)) !== id)).toEqual([]);
    const known = new Set(many);
    const absent = many.map((id) => toId(BigInt(id) + 3n)).filter((id) => !known.has(id));
    expect(absent.filter((id) => ids.find(id) !== -1)).toEqual([]);
  });

  it('finds exactly what was put in', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(int64, { maxLength: 200 }),
        fc.array(int64, { maxLength: 50 }),
        (keys, others) => {
          const ids = new ModelIds({ model: 'm', path: '' }, keys.length, false);
          const set = new IdSet();
          keys.forEach((key, at) => {
            ids.add(toId(key), MAPPED, at);
            expect([set.add(toId(key)), set.add(toId(key))]).toEqual([true, false]);
          });
          expect(keys.map((key) => ids.v4At(ids.find(toId(key))))).toEqual(keys.map((_, at) => at));
          for (const other of others) if (!keys.includes(other)) expect(ids.find(toId(other))).toBe(-1);
        },
      ),
    );
  });
});

function resolverOf(rows: readonly RemapRow[], lookUp: Partial<LookUp> = {}, Kind = Resolver): Resolver {
  const model = { model: INVOICES, path: '' };
  return new Kind(openIds(rows).ids, {
    model,
    models: new Map(),
    region: undefined,
    company: undefined,
    mapDeleted: false,
    ...lookUp,
  });
}

function answer(resolver: Resolver, text: string, scope = NO_SCOPE): string {
  const category = resolver.lookUp(text, scope);
  return category === 'mapped' ? resolver.newText : category;
}

describe('Resolver', () => {
  it('maps ids beyond 2^53 exactly, and tells their neighbours apart', () => {
    const resolver = resolverOf([
      { v3: 2n ** 53n, v4: 2n ** 63n - 1n },
      { v3: 2n ** 53n + 1n, v4: -(2n ** 63n) },
      { v3: 2n ** 63n - 1n, v4: 1n },
    ]);
    expect(answer(resolver, '9007199254740992')).toBe('9223372036854775807');
    expect(answer(resolver, '9007199254740993')).toBe('-9223372036854775808');
    expect(answer(resolver, '9223372036854775807')).toBe('1');
    expect(answer(resolver, '9007199254740994')).toBe('unknown/not_in_remap');
  });

  it('names status and reason of ids without a twin, and V4 ids that are no V3 ids', () => {
    const resolver = resolverOf([
      { v3: 1, v4: 10 },
      { v3: 2, status: 'unmatched', reason: 'outside_backfill_window' },
      { v3: 3, v4: 30, status: 'deleted', reason: 'deleted_in_v3' },
      { v3: null, v4: 77, status: 'v4_only' },
    ]);
    expect(answer(resolver, '1')).toBe('10');
    expect(answer(resolver, '2')).toBe('unmatched/outside_backfill_window');
    expect(answer(resolver, '3')).toBe('deleted/deleted_in_v3');
    expect(answer(resolver, '10')).toBe('unknown/known_as_v4_only');
    expect(answer(resolver, '77')).toBe('unknown/known_as_v4_only');
    expect(answer(resolver, '78')).toBe('unknown/not_in_remap');
    expect(answer(resolver, '')).toBe('empty');
    expect(answer(resolver, '01')).toBe('unknown/leading_zeros');
  });

  it('maps deleted records with a V4 id only when told to', () => {
    const rows = [{ v3: 3, v4: 30, status: 'deleted', reason: 'deleted_in_v3' }];
    expect(answer(resolverOf(rows, { mapDeleted: true }), '3')).toBe('30');
    const gone = [{ v3: 3, status: 'deleted', reason: 'deleted_not_in_v4' }];
    expect(answer(resolverOf(gone, { mapDeleted: true }), '3')).toBe('deleted/deleted_not_in_v4');
  });

  it('keeps models and children apart', () => {
    const rows = [
      { v3: 1, v4: 10 },
      { v3: 1, v4: 20, path: 'line_items' },
      { v3: 1, v4: 30, model: 'crm/companies' },
    ];
    expect(answer(resolverOf(rows), '1')).toBe('10');
    expect(answer(resolverOf(rows, { model: { model: INVOICES, path: 'line_items' } }), '1')).toBe('20');
    const models = new Map([
      ['company', { model: 'crm/companies', path: '' }],
      ['user', null],
    ]);
    const byRow = resolverOf(rows, { model: null, models });
    expect(answer(byRow, '1', { ...NO_SCOPE, model: 'company' })).toBe('30');
    expect(answer(byRow, '1', { ...NO_SCOPE, model: 'user' })).toBe('not_ours');
    expect(answer(byRow, '1', { ...NO_SCOPE, model: 'other' })).toBe('unknown/unknown_model');
    expect(answer(byRow, '1')).toBe('unknown/unknown_model');
  });

  it('never guesses between regions or companies that disagree', () => {
    const rows = [
      { v3: 1, v4: 10, region: 'eu', company: 5 },
      { v3: 1, v4: 11, region: 'us', company: 5 },
      { v3: 2, v4: 20, region: 'eu', company: 5 },
      { v3: 3, v4: 30, region: 'eu', company: 5 },
      { v3: 3, region: 'us', company: 6 },
    ];
    const open = resolverOf(rows);
    expect([answer(open, '1'), answer(open, '2'), answer(open, '3')]).toEqual([
      'unknown/several_scopes',
      '20',
      'unknown/several_scopes',
    ]);
    const eu = resolverOf(rows, { region: 'eu' });
    expect([answer(eu, '1'), answer(eu, '2'), answer(eu, '3')]).toEqual(['10', '20', '30']);
    const us = resolverOf(rows, { region: 'us' });
    expect([answer(us, '1'), answer(us, '2'), answer(us, '3')]).toEqual([
      '11',
      'unknown/other_scope',
      'unmatched/unexplained',
    ]);
    const byRow = resolverOf(rows, { company: null });
    expect(answer(byRow, '3', { ...NO_SCOPE, company: '5' })).toBe('30');
    expect(answer(byRow, '3', { ...NO_SCOPE, company: '6' })).toBe('unmatched/unexplained');
    expect(answer(byRow, '1', { ...NO_SCOPE, company: '5' })).toBe('unknown/several_scopes');
    expect(answer(byRow, '2', { ...NO_SCOPE, company: '05' })).toBe('unknown/other_scope');
    expect(answer(byRow, '2')).toBe('unknown/no_scope');
  });

  it.each([{}, { company: '1' }])('tells the outcomes of several rows without a twin apart: %j', (lookUp) => {
    const resolver = resolverOf(
      [
        { v3: 1, region: 'eu' },
        { v3: 1, region: 'us', status: 'ambiguous', reason: 'duplicate_in_v4' },
        { v3: 2, v4: 20, region: 'eu', status: 'deleted', reason: 'deleted_in_v3' },
        { v3: 2, v4: 21, region: 'us', status: 'deleted', reason: 'deleted_in_v3' },
      ],
      lookUp,
    );
    expect(answer(resolver, '1')).toBe('unknown/several_scopes');
    expect(answer(resolver, '2')).toBe('deleted/deleted_in_v3');
  });

  it('does not mind several rows that say the same', () => {
    const resolver = resolverOf([
      { v3: 1, v4: 10, region: 'eu' },
      { v3: 1, v4: 10, region: 'us' },
    ]);
    expect(answer(resolver, '1')).toBe('10');
  });
});

describe('ColumnTally', () => {
  it('counts rows and distinct ids the same in any order', () => {
    const rows = Array.from({ length: 40 }, (_, at) =>
      at % 3 === 0 ? { v3: at } : { v3: at, v4: at + 1000 },
    );
    const resolver = resolverOf(rows);
    const texts = [...Array.from({ length: 60 }, (_, at) => String(at)), '1.0', '1.0', ''];
    const count = (values: readonly string[]) => {
      const tally = new ColumnTally(resolver);
      for (const text of values) tally.add(resolver.lookUp(text, NO_SCOPE), () => text, NO_SCOPE);
      return tally.result();
    };
    const first = count([...texts, ...texts]);
    expect(count([...texts, ...texts].reverse())).toEqual(first);
    expect(count(texts).digest).not.toBe(first.digest);
    const byName = new Map(first.counts.map((one) => [one.name, one]));
    expect(byName.get('mapped')).toMatchObject({ rows: 52, ids: 26 });
    expect(byName.get('unmatched/unexplained')).toMatchObject({ rows: 28, ids: 14 });
    expect(byName.get('unmatched/unexplained')?.samples).toEqual(['0', '3', '6', '9', '12']);
    expect(byName.get('unknown/not_in_remap')).toMatchObject({ rows: 40, ids: 20 });
    expect(byName.get('unknown/decimal')).toMatchObject({ rows: 4, ids: 1, samples: ['1.0'] });
  });
});

it('finds the platform_id on which all V3 records agree that a row can mean', () => {
  const record = fc.record({
    v3: fc.constantFrom(1, 2, 2n ** 63n - 1n, -(2n ** 63n)),
    region: fc.constantFrom('eu', 'us'),
    company: fc.constantFrom(1, 2),
    path: fc.constantFrom('', 'lines'),
    platformId: fc.constantFrom('a', 'A', 'a ', '', '007', null),
    v4: fc.constantFrom(null, 9),
  });
  const scope = fc.record({ region: fc.constantFrom('eu', 'us'), company: fc.constantFrom('1', '2') });
  const by = fc.constantFrom(undefined, null, 'fixed');
  fc.assert(
    fc.property(fc.array(record, { maxLength: 8 }), by, by, scope, (rows, byRegion, byCompany, row) => {
      const region = byRegion === 'fixed' ? row.region : byRegion;
      const company = byCompany === 'fixed' ? row.company : byCompany;
      const cells = resolverOf(rows, { region, company }, PlatformIdResolver);
      for (const id of [1, 2, 2n ** 63n - 1n, -(2n ** 63n), 3]) {
        const meant = rows.filter(
          (one) =>
            one.v3 === id &&
            one.path === '' &&
            (region === undefined || one.region === row.region) &&
            (company === undefined || String(one.company) === row.company),
        );
        const [first, ...others] = new Set(meant.map(({ platformId }) => platformId));
        const expected = others.length > 0 ? null : (first ?? null);
        const isFound = cells.lookUp(String(id), { model: null, ...row }) === 'mapped';
        expect(isFound ? cells.newText : null).toBe(expected);
      }
    }),
    { numRuns: 60 },
  );
});

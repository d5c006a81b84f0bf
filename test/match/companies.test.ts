import { describe, expect, it } from 'vitest';
import type { NamedCompanyPair } from '../../src/domain.js';
import { buildRemap } from '../../src/match/build-remap.js';
import { configOf, type Exported, INVOICES, modelOf, openExported, remapOf, type Thing } from './exported.js';

/** Records `first` to `first + count − 1` of a company; records of one number agree on both sides. */
function records(company: number, first: number, count: number): Thing[] {
  return Array.from({ length: count }, (_, at) => ({
    id: company * 1000 + first + at,
    company,
    key: `k${first + at}`,
    facts: `nm${String(first + at).padStart(5, '0')}`,
  }));
}

const CONFIG = configOf({ models: [INVOICES, 'crm/stages', 'crm/tags'].map((v3) => modelOf(v3)) });

/** The remap's companies, `v3→v4 matched_by agreeing/shared of v3_keys/v4_keys`, and how many of its rows have each outcome. */
function pairingOf(exported: Exported, named: readonly NamedCompanyPair[] = []) {
  const { db, close } = openExported(CONFIG, exported);
  try {
    const outcomes: Record<string, number> = {};
    for (const row of remapOf(db, CONFIG, named)) {
      const outcome = `${row.v3_company_id ?? '-'}→${row.v4_company_id ?? '-'} ${row.status}/${row.reason ?? ''}`;
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
    const companies = db
      .prepare(
        `SELECT ifnull(v3_company_id, '-') || '→' || ifnull(v4_company_id, '-') || ' ' || matched_by || ' ' || agreeing_keys || '/' || shared_keys
           || ' of ' || v3_keys || '/' || v4_keys
         FROM company ORDER BY v3_company_id IS NULL, v3_company_id, v4_company_id`,
      )
      .pluck()
      .all();
    return { companies, outcomes };
  } finally {
    close();
  }
}

const AGREES_WITH_PAIRED = {
  v3: [...records(1, 0, 40), ...records(2, 0, 100)],
  v4: records(11, 0, 100),
  v4Companies: [1],
} satisfies Exported;

describe('companies whose evidence points to a company that is already paired', () => {
  it('are ambiguous if evidence paired it, even beside an empty company with their id', () => {
    expect(pairingOf(AGREES_WITH_PAIRED)).toEqual({
      companies: ['1→- ambiguous 40/40 of 40/0', '2→11 overlap 100/100 of 100/100', '-→1 none 0/0 of 0/0'],
      outcomes: { '1→- unmatched/company_ambiguous': 40, '2→11 matched/': 100 },
    });
  });

  it('are ambiguous if companies.csv paired it', () => {
    const exported = { ...AGREES_WITH_PAIRED, v3: [...records(1, 0, 40), ...records(2, 500, 3)] };
    const named = [{ line: 2, region: 'default', v3CompanyId: 2n, v4CompanyId: 11n }];
    expect(pairingOf(exported, named)).toEqual({
      companies: ['1→- ambiguous 40/40 of 40/0', '2→11 file 0/0 of 3/100', '-→1 none 0/0 of 0/0'],
      outcomes: {
        '1→- unmatched/company_ambiguous': 40,
        '2→11 unmatched/unexplained': 3,
        '-→11 v4_only/unexplained': 100,
      },
    });
  });

  it('are not joined with the records of a company with their id', () => {
    const exported = {
      ...AGREES_WITH_PAIRED,
      v4: [...records(11, 0, 100), { id: 1, company: 1, key: 'k1' }],
    };
    expect(pairingOf(exported).outcomes).toEqual({
      '1→- unmatched/company_ambiguous': 40,
      '2→11 matched/': 100,
      '-→1 v4_only/company_not_in_v3': 1,
    });
  });
});

describe('the counts of a company', () => {
  const likeliest = records(12, 0, 4);
  const longest = records(11, 0, 10).map((thing, at) => (at < 2 ? thing : { ...thing, facts: 'nm99999' }));
  it.each([
    [
      'of its pair',
      [{ line: 2, region: 'default', v3CompanyId: 1n, v4CompanyId: 11n }],
      '1→11 file 2/10 of 10/10',
    ],
    ['of the likeliest one if it has no pair', [], '1→- ambiguous 4/4 of 10/0'],
  ])('are those %s', (_, named, expected) => {
    const { companies } = pairingOf({ v3: records(1, 0, 10), v4: [...longest, ...likeliest] }, named);
    expect(companies[0]).toBe(expected);
  });

  it('are kept of its pair, also where three other companies are likelier', () => {
    const own = records(11, 0, 10).map((thing, at) => (at < 6 ? { ...thing, facts: '' } : thing));
    const rivals = [12, 13, 14, 15].flatMap((company) => records(company, 0, 10));
    const { db, close } = openExported(CONFIG, { v3: records(1, 0, 10), v4: [...own, ...rivals] });
    remapOf(db, CONFIG, [{ line: 2, region: 'default', v3CompanyId: 1n, v4CompanyId: 11n }]);
    const notes = db.prepare('SELECT note FROM company WHERE v3_company_id = 1').pluck().all();
    close();
    const kept: object[] = JSON.parse(String(notes));
    expect(kept).toHaveLength(4);
    const counts = { shared_keys: 10, comparable_keys: 4, agreeing_keys: 4 };
    expect(kept[3]).toEqual({ v4_company_id: '11', ...counts });
  });
});

describe('companies are paired', () => {
  const one = { id: 1, key: 'k', facts: 'nm00001' };
  it.each([
    [
      'by few keys of a small one',
      one,
      [{ ...one, id: 2 }, ...records(11, 0, 250)],
      '1→11 overlap 1/1 of 1/251',
    ],
    [
      'by no record without a key',
      { ...one, key: null },
      [{ ...one, id: 2, key: null }],
      '1→- none 0/0 of 0/0',
    ],
    ['by no key of another model', one, [{ ...one, id: 2, model: 'crm/stages' }], '1→- none 0/0 of 1/0'],
  ])('%s', (_, v3, v4, expected) => {
    const { companies } = pairingOf({ v3: [v3], v4: v4.map((thing) => ({ ...thing, company: 11 })) });
    expect(companies[0]).toBe(expected);
  });
});

describe('the keys of two companies that are compared', () => {
  /** Records of both companies, and a small V4 company that agrees with the V3 one by chance. */
  const besides = (v3: readonly Thing[], v4: readonly Thing[]) => ({
    v3: [...v3, ...stages(1, 100)],
    v4: [...v4, ...stages(11, 100), ...stages(12, 2)],
  });
  const stages = (company: number, count: number) =>
    records(company, 500, count).map((thing) => ({ ...thing, model: 'crm/stages' }));
  const withFacts = (company: number, count: number, facts: string) =>
    records(company, 0, count).map((thing) => ({ ...thing, facts }));

  it.each<[string, Exported, string]>([
    [
      'are no other ones where many records have one key',
      besides(
        withFacts(1, 15, 'old').map((thing) => ({ ...thing, key: 'x' })),
        withFacts(11, 15, 'new').map((thing) => ({ ...thing, key: 'x' })),
      ),
      '1→11 overlap 100/101 of 101/101',
    ],
    [
      'are of all models, if the records of one have nothing to compare',
      besides(withFacts(1, 250, ''), withFacts(11, 250, '')),
      '1→11 overlap 100/350 of 350/350',
    ],
    [
      'are of all models, if the records of one differ',
      besides(withFacts(1, 110, 'old'), withFacts(11, 110, 'new')),
      '1→11 overlap 100/210 of 210/210',
    ],
  ])('%s', (_, exported, expected) => {
    expect(pairingOf(exported).companies[0]).toBe(expected);
  });

  it('are 200 at most', () => {
    const ofModels = (company: number) =>
      CONFIG.models.flatMap(({ v3: model }, at) =>
        records(company, at * 100, 100).map((thing) => ({ ...thing, model })),
      );
    const { companies } = pairingOf({ v3: ofModels(1), v4: ofModels(11) });
    expect(companies).toEqual(['1→11 overlap 200/300 of 300/300']);
  });

  it('are compared by their live records first', () => {
    const versions = (company: number, facts: string) =>
      records(company, 0, 9).map((thing, at) => ({
        ...thing,
        key: 'x',
        deleted: at < 8,
        facts: `${facts}${at}`,
      }));
    const v4 = versions(11, 'new').map((thing) => (thing.deleted ? thing : { ...thing, facts: 'old8' }));
    expect(pairingOf({ v3: versions(1, 'old'), v4 }).companies).toEqual(['1→11 overlap 1/1 of 1/1']);
  });
});

/** More company pairs than are counted one by one. */
const MANY = 600;

/** A record of each company under one key; `factOf` says which are alike. */
function onePerCompany(
  key: string,
  companyOf: (at: number) => number,
  factOf: (at: number) => number,
): Thing[] {
  return Array.from({ length: MANY }, (_, at) => ({
    id: companyOf(at),
    company: companyOf(at),
    key,
    facts: `nm${String(factOf(at)).padStart(5, '0')}`,
  }));
}

function matchedBy({ companies }: ReturnType<typeof pairingOf>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const line of companies) {
    const [, by = ''] = String(line).split(' ');
    counts[by] = (counts[by] ?? 0) + 1;
  }
  return counts;
}

describe(`${MANY} companies that use the same numbers as keys`, () => {
  it('pair by evidence, whatever their ids', () => {
    const exported = {
      v3: onePerCompany(
        '1',
        (at) => at + 1,
        (at) => at,
      ),
      v4: onePerCompany(
        '1',
        (at) => MANY - at,
        (at) => at,
      ),
    };
    const pairing = pairingOf(exported);
    expect(matchedBy(pairing)).toEqual({ overlap: MANY });
    expect(pairing.companies[0]).toBe(`1→${MANY} overlap 1/1 of 1/1`);
  });

  it('pair by the records of a model with few keys if those of others have nothing to compare', () => {
    const side = (companyOf: (at: number) => number) => {
      const one = onePerCompany('k', companyOf, (at) => at);
      // Ten sets of two keys for each company, beside the only key of the other model.
      const sets = Array.from({ length: 40 }, (_, number) =>
        one.flatMap((thing, at) => {
          const record = { ...thing, id: companyOf(at) * 100 + number, key: `k${number}`, facts: '' };
          return (at + Math.floor(number / 2)) % 20 < 10 ? [record] : [];
        }),
      );
      return [...one.map((thing) => ({ ...thing, model: 'crm/stages' })), ...sets.flat()];
    };
    const v3 = side((at) => at + 1);
    const v4 = side((at) => MANY - at);
    expect(matchedBy(pairingOf({ v3, v4 }))).toEqual({ overlap: MANY });
  });

  it('do not pair by equal ids if all agree with all', () => {
    const same = onePerCompany(
      '1',
      (at) => at + 1,
      () => 7,
    );
    expect(matchedBy(pairingOf({ v3: same, v4: same }))).toEqual({ ambiguous: 2 * MANY });
  });

  it('do not pair by equal ids if none agree', () => {
    const v3 = onePerCompany(
      '1',
      (at) => at + 1,
      (at) => at,
    );
    const v4 = onePerCompany(
      '1',
      (at) => at + 1,
      (at) => MANY + at,
    );
    expect(matchedBy(pairingOf({ v3, v4 }))).toEqual({ ambiguous: 2 * MANY });
  });

  it('pair by equal ids if no fields can be compared', () => {
    const same = onePerCompany(
      '1',
      (at) => at + 1,
      () => 0,
    ).map((thing) => ({ ...thing, facts: '' }));
    expect(matchedBy(pairingOf({ v3: same, v4: same }))).toEqual({ same_id: MANY });
  });
});

describe('a V4 company that companies.csv names and V4 does not list', () => {
  const named = [{ line: 7, region: 'default', v3CompanyId: 2n, v4CompanyId: 99n }];
  it.each([
    ['is an error of the file', undefined, 'bad_input'],
    ['may be on the part of the list that was not read', { 'v4 companies': 'failed' }, 'incomplete'],
  ] as const)('%s', (_, states, code) => {
    const exported = { ...AGREES_WITH_PAIRED, ...(states === undefined ? {} : { states }) };
    const message = expect.stringMatching(/\b[Ll]ine 7 of the companies file/);
    expect(() => pairingOf(exported, named)).toThrow(expect.objectContaining({ code, message }));
  });
});

describe('what companies.csv says', () => {
  const V3_NONE = { line: 2, region: 'default', v3CompanyId: 1n, v4CompanyId: null };
  const both = { v3: [...records(1, 0, 40), ...records(2, 0, 40)], v4: records(11, 0, 40) };

  it('leaves two companies open that agree as much, without a line', () => {
    expect(pairingOf(both).companies).toEqual([
      '1→- ambiguous 40/40 of 40/0',
      '2→- ambiguous 40/40 of 40/0',
      '-→11 ambiguous 40/40 of 0/40',
    ]);
  });

  it('takes a company that is not in V4 out of the way of others', () => {
    expect(pairingOf(both, [V3_NONE])).toEqual({
      companies: ['1→- file 40/40 of 40/0', '2→11 overlap 40/40 of 40/40'],
      outcomes: { '1→- unmatched/company_not_in_v4': 40, '2→11 matched/': 40 },
    });
  });

  it('is certain, even where lists were not read in full', () => {
    const exported = { v3: [...records(1, 0, 1)], v4: [], states: { 'v4 companies': 'running' } } as const;
    expect(pairingOf(exported, [V3_NONE]).outcomes).toEqual({ '1→- unmatched/company_not_in_v4': 1 });
  });

  it('warns about a line that takes a candidate away from a company with more agreeing keys', () => {
    const exported = { v3: [...records(1, 0, 40), ...records(2, 0, 3)], v4: records(11, 0, 40) };
    const { db, close } = openExported(CONFIG, exported);
    const warnings: string[] = [];
    const build = (v3CompanyId: bigint) =>
      buildRemap({
        db,
        config: CONFIG,
        named: [{ line: 3, region: 'default', v3CompanyId, v4CompanyId: 11n }],
        clock: { now: () => 0 },
        onProgress: (event) => {
          if (event.kind === 'note') warnings.push(`${event.level} ${event.text.match(/\d+/g)?.join(' ')}`);
        },
      });
    build(1n);
    expect(warnings).toEqual([]);
    build(2n);
    const pairs = db.prepare('select v3_company_id, v4_company_id, note from company order by 1').raw().all();
    close();
    // line 3, V3 2, V3, V4 11, V4, 3 keys, V3 1, V3, 40 keys
    expect(warnings).toEqual(['warning 3 3 2 4 11 3 3 1 40']);
    expect(pairs).toMatchObject([
      [1n, null, expect.stringContaining('"held_by":{"region":"default","v3_company_id":"2"}')],
      [2n, 11n, expect.any(String)],
    ]);
  });

  it('warns about a line whose V3 company agrees more with another V4 company, or is unknown', () => {
    const strangers = records(12, 0, 40).map((record) => ({ ...record, facts: `of12${record.id}` }));
    const exported = { v3: records(1, 0, 40), v4: [...records(11, 0, 40), ...strangers] };
    const { db, close } = openExported(CONFIG, exported);
    const warnings: string[] = [];
    buildRemap({
      db,
      config: CONFIG,
      named: [
        { line: 3, region: 'default', v3CompanyId: 1n, v4CompanyId: 12n },
        { line: 4, region: 'default', v3CompanyId: 5n, v4CompanyId: null },
      ],
      clock: { now: () => 0 },
      onProgress: (event) => {
        if (event.kind === 'note') warnings.push(`${event.level} ${event.text.match(/\d+/g)?.join(' ')}`);
      },
    });
    close();
    // line 3, V3, V3 1, V4, V4 12, 0 keys, V4, V4 11, 40 keys; line 4, V3, V3 5, V3
    expect(warnings).toEqual(['warning 3 3 1 4 12 0 4 11 40', 'warning 4 3 5 3']);
  });
});

describe('a runner-up', () => {
  it.each([
    ['has at least half as many agreeing keys', 54, 27, '1→- ambiguous 54/54 of 54/0'],
    ['is none with fewer', 54, 26, '1→11 overlap 54/54 of 54/54'],
    ['is none with 1 of 1', 54, 1, '1→11 overlap 54/54 of 54/54'],
  ])('%s', (_, most, fewer, expected) => {
    const exported = { v3: records(1, 0, most), v4: [...records(11, 0, most), ...records(12, 0, fewer)] };
    expect(pairingOf(exported).companies[0]).toBe(expected);
  });

  it('is no company that has a pair', () => {
    const v3 = [...records(1, 0, 100), ...records(2, 200, 50)];
    // 12 agrees with 2 on 50 keys, and with 1 on 30, which has 11
    const v4 = [...records(11, 0, 100), ...records(12, 200, 50), ...records(12, 0, 30)];
    expect(pairingOf({ v3, v4 }).companies).toEqual([
      '1→11 overlap 100/100 of 100/100',
      '2→12 overlap 50/50 of 50/80',
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { configOf, type Exported, modelOf, openExported, remapOf, type Thing } from './exported.js';

const REGIONS = ['eu', 'us'];
const CONTACTS = 'crm/contacts';
const STAGES = 'crm/stages';
const CONFIG = configOf({ models: [CONTACTS, STAGES].map((v3) => modelOf(v3)), regions: REGIONS });

interface Side {
  readonly company: number;
  readonly region?: string;
  /** Contacts by their keys, which say what they hold; no two companies have one. */
  readonly contacts?: readonly string[];
  /** As many of the stages that the CRM gives every company. */
  readonly stages?: number;
  /** Keys of records without a field to compare. */
  readonly bare?: readonly string[];
}

let ids = 0;

function recordsOf({ company, region = 'eu', contacts = [], stages = 0, bare = [] }: Side): Thing[] {
  const record = (model: string, key: string, facts: string): Thing => {
    ids += 1;
    return { id: ids, company, region, model, key, facts };
  };
  return [
    ...contacts.map((key) => record(CONTACTS, key, key)),
    ...names('stage', stages).map((key) => record(STAGES, key, key)),
    ...bare.map((key) => record(CONTACTS, key, '')),
  ];
}

function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${prefix} ${at}`);
}

/** `v3→v4 matched_by` of each company. */
function pairsOf(v3: readonly Side[], v4: readonly Side[]): unknown[] {
  const exported: Exported = {
    v3: v3.flatMap(recordsOf),
    v4: v4.flatMap(recordsOf),
    v4Companies: v4.map(({ company }) => company),
  };
  const { db, close } = openExported(CONFIG, exported);
  try {
    remapOf(db, CONFIG);
    return db
      .prepare(
        `select ifnull(v3_company_id, '-') || '→' || ifnull(v4_company_id, '-') || ' ' || matched_by from company
         order by v3_company_id is null, region, v3_company_id, v4_company_id`,
      )
      .pluck()
      .all();
  } finally {
    close();
  }
}

describe('companies that are left when all others have a pair', () => {
  const [ann, bob, cid] = [names('ann', 30), names('bob', 30), names('cid', 30)];

  it.each([
    ['as many records as with companies that have a pair', 7, 7],
    ['a few more', 7, 6],
  ])('are ambiguous if they agree on %s', (_, left, paired) => {
    const v3 = [
      { company: 1, contacts: ann, stages: paired },
      { company: 2, contacts: bob, stages: left },
    ];
    const v4 = [
      { company: 11, contacts: ann, stages: paired },
      { company: 12, contacts: cid, stages: left },
    ];
    expect(pairsOf(v3, v4)).toEqual(['1→11 overlap', '2→- ambiguous', '-→12 ambiguous']);
  });

  it('are a pair if they agree on many more', () => {
    const few = { contacts: names('bob', 3), stages: 7 };
    const many = { contacts: ann, stages: 7 };
    expect(
      pairsOf(
        [
          { company: 1, ...many },
          { company: 2, ...few },
        ],
        [
          { company: 11, ...many },
          { company: 12, ...few },
        ],
      ),
    ).toEqual(['1→11 overlap', '2→12 overlap']);
  });
});

describe('equal ids', () => {
  const bare = names('key', 3);
  const known = (id: number, company: number, region = 'eu') => {
    return { company, region, contacts: names(`of ${id}`, 5) };
  };

  it('prove nothing where most companies have other ids in V4', () => {
    const v3 = [known(1, 1), known(2, 2), { company: 3, bare }];
    const v4 = [known(1, 2), known(2, 1), { company: 3, bare }];
    expect(pairsOf(v3, v4)).toEqual(['1→2 overlap', '2→1 overlap', '3→- ambiguous', '-→3 ambiguous']);
  });

  it('prove a pair with an empty company, which gives no id', () => {
    const pairs = pairsOf([known(1, 1), { company: 3, bare }], [known(1, 2), { company: 3 }]);
    expect(pairs).toEqual(['1→2 overlap', '3→3 same_id']);
  });

  it('prove a pair where few companies have other ids, whatever those of other regions', () => {
    const v3 = [
      ...[known(1, 1), known(2, 2), { company: 3, bare }, known(4, 4)],
      ...[known(5, 1, 'us'), known(6, 6, 'us')],
    ];
    const v4 = [known(1, 1), known(2, 2), { company: 3, bare }, known(4, 14), known(5, 15), known(6, 16)];
    expect(pairsOf(v3, v4)).toEqual([
      ...['1→1 overlap', '2→2 overlap', '3→3 same_id', '4→14 overlap'],
      ...['1→15 overlap', '6→16 overlap'],
    ]);
  });

  it.each([
    [
      'V4',
      [{ company: 3, bare: names('key', 5) }],
      [
        { company: 3, bare },
        { company: 4, bare: names('key', 5) },
      ],
    ],
    [
      'V3',
      [
        { company: 3, bare },
        { company: 5, bare: names('key', 5) },
      ],
      [{ company: 3, bare: names('key', 5) }],
    ],
  ])('prove nothing where another company of %s shares more keys', (_, v3, v4) => {
    expect(pairsOf(v3, v4)).toContain('3→- ambiguous');
  });
});

describe('records that all companies have', () => {
  it('do not keep those apart that agree on others', () => {
    const companies = Array.from({ length: 180 }, (_, at) => at);
    const sideOf = (first: number) =>
      companies.map((at) => ({ company: first + at, contacts: names(`of ${at}`, 10), stages: 7 }));
    expect(pairsOf(sideOf(1), sideOf(1001))).toEqual(companies.map((at) => `${at + 1}→${at + 1001} overlap`));
  });
});

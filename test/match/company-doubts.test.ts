import { describe, expect, it } from 'vitest';
import { configOf, type Exported, modelOf, openExported, remapOf, type Thing } from './exported.js';

const CONTACTS = 'crm/contacts';
const STAGES = 'crm/stages';
const CONFIG = configOf({ models: [CONTACTS, STAGES].map((v3) => modelOf(v3)) });

interface Side {
  readonly company: number;
  /** Contacts by their keys, which say what they hold; no two companies have one. */
  readonly contacts?: readonly string[];
  /** As many of the stages that the CRM gives every company. */
  readonly stages?: number;
}

let ids = 0;

function recordsOf({ company, contacts = [], stages = 0 }: Side): Thing[] {
  const record = (model: string, key: string, facts: string): Thing => {
    ids += 1;
    return { id: ids, company, model, key, facts };
  };
  return [
    ...contacts.map((key) => record(CONTACTS, key, key)),
    ...names('stage', stages).map((key) => record(STAGES, key, key)),
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

  it('are ambiguous if they agree on no more records than with companies that have a pair', () => {
    const v3 = [
      { company: 1, contacts: ann, stages: 7 },
      { company: 2, contacts: bob, stages: 7 },
    ];
    const v4 = [
      { company: 11, contacts: ann, stages: 7 },
      { company: 12, contacts: cid, stages: 7 },
    ];
    expect(pairsOf(v3, v4)).toEqual(['1→11 overlap', '2→- ambiguous', '-→12 ambiguous']);
  });

  it('are a pair if they agree on more', () => {
    const few = { contacts: names('bob', 1), stages: 7 };
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

describe('records that all companies have', () => {
  it('do not keep those apart that agree on others', () => {
    const companies = Array.from({ length: 180 }, (_, at) => at);
    const sideOf = (first: number) =>
      companies.map((at) => ({ company: first + at, contacts: names(`of ${at}`, 10), stages: 7 }));
    expect(pairsOf(sideOf(1), sideOf(1001))).toEqual(companies.map((at) => `${at + 1}→${at + 1001} overlap`));
  });
});

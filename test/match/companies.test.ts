import { describe, expect, it } from 'vitest';
import type { NamedPair } from '../../src/match/pair-companies.js';
import { configOf, type Exported, openExported, type Thing } from '../support/exported.js';
import { remapOf } from '../support/remap-rows.js';

/** Records `first` to `first + count − 1` of a company; records of one number agree on both sides. */
function records(company: number, first: number, count: number): Thing[] {
  return Array.from({ length: count }, (_, at) => ({
    id: company * 1000 + first + at,
    company,
    key: `k${first + at}`,
    facts: `nm${String(first + at).padStart(5, '0')}`,
  }));
}

/** The remap's companies, `v3→v4 matched_by agreeing`, and how many of its rows have each outcome. */
function pairingOf(exported: Exported, named: readonly NamedPair[] = []) {
  const { db, close } = openExported(configOf(), exported);
  try {
    const outcomes: Record<string, number> = {};
    for (const row of remapOf(db, configOf(), named)) {
      const outcome = `${row.v3_company_id ?? '-'}→${row.v4_company_id ?? '-'} ${row.status}/${row.reason ?? ''}`;
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
    const companies = db
      .prepare(
        `SELECT ifnull(v3_company_id, '-') || '→' || ifnull(v4_company_id, '-') || ' ' || matched_by || ' ' || agreeing_keys
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

describe('companies whose evidence points at a company that is taken', () => {
  it('are ambiguous where evidence took it, beside an empty company of their id', () => {
    expect(pairingOf(AGREES_WITH_PAIRED)).toEqual({
      companies: ['1→- ambiguous 40', '2→11 overlap 100', '-→1 none 0'],
      outcomes: { '1→- unmatched/company_ambiguous': 40, '2→11 matched/': 100 },
    });
  });

  it('are ambiguous where companies.csv took it', () => {
    const exported = { ...AGREES_WITH_PAIRED, v3: [...records(1, 0, 40), ...records(2, 500, 3)] };
    const named = [{ region: 'default', v3CompanyId: 2n, v4CompanyId: 11n }];
    expect(pairingOf(exported, named)).toEqual({
      companies: ['1→- ambiguous 40', '2→11 file 0', '-→1 none 0'],
      outcomes: {
        '1→- unmatched/company_ambiguous': 40,
        '2→11 unmatched/unexplained': 3,
        '-→11 v4_only/unexplained': 100,
      },
    });
  });

  it('are not joined with the records of a company of their id', () => {
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

import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { draftCompanies, draftDecisions } from '../../src/inspect/draft-answers.js';
import { explainRecord, renderExplanation } from '../../src/inspect/explain.js';
import { countSpareV4Companies } from '../../src/store/report-rows.js';
import type { Db } from '../../src/store/sqlite.js';
import { configOf, type Exported, INVOICES, openExported, remapOf, things } from '../match/exported.js';

const CONFIG = configOf({ companies: { match: 'same_id', include: [], exclude: [] } });

/** 2 has a twin under another key, 3 has two, 1 has two line items with one key. */
const EXPORTED = {
  v3: things('1 a [11 x, 12 x]; 2 B uid=u; 3 c; 5 e [2 y]; 6 f'),
  v4: things('101 a [111 x, 112 x]; 102 b uid=u; 103 c; 104 c; 105 e [115 y]; 2 f'),
};

const item = (id: number, text: string) => ({ svc_id: id, description: text, quantity: id });

const PAGES = {
  v3: [
    { svc_id: 1, line_items: [item(11, 'pens'), item(12, 'ink')] },
    { svc_id: 2, name: 'Ada' },
    { svc_id: 3, name: 'Bob' },
  ],
  v4: [
    { svc_id: 101, line_items: [item(111, 'ink'), item(112, 'pens')] },
    { svc_id: 102, name: 'ADA' },
    { svc_id: 103, name: 'Bob' },
    { svc_id: 104, name: 'Rob' },
  ],
};

function withRemap<T>(payload: 'full' | 'ids', work: (db: Db) => T): T {
  const { db, close } = openExported(CONFIG, EXPORTED);
  try {
    remapOf(db, CONFIG);
    const setPage = db.prepare(
      'update page set body = ? where stream_id in (select id from stream where generation = ?)',
    );
    setPage.run(gzipSync(JSON.stringify({ data: PAGES.v3, next: null })), 'v3');
    setPage.run(gzipSync(JSON.stringify({ data: { data: PAGES.v4, next: null } })), 'v4');
    if (payload === 'ids') db.exec('delete from page; update record set page_id = null');
    return work(db);
  } finally {
    close();
  }
}

const explain = (db: Db, id: bigint) =>
  explainRecord(db, CONFIG, { model: INVOICES, path: null, region: null, companyId: null, id });

const fieldOf = (name: string) => (pair: { readonly fields: readonly { readonly name: string }[] }) =>
  pair.fields.find((field) => field.name === name);

it('explain shows each candidate beside a record without a twin, from either side', () => {
  withRemap('full', (db) => {
    const [changed] = explain(db, 2n).entries;
    expect(changed?.candidates.map(fieldOf('name'))).toEqual([
      { name: 'name', v3: 'Ada', v4: 'ADA', verdict: 'differs' },
    ]);
    const [several] = explain(db, 3n).entries;
    expect(several?.candidates.map(fieldOf('name'))).toEqual([
      { name: 'name', v3: 'Bob', v4: 'Bob', verdict: 'same' },
      { name: 'name', v3: 'Bob', v4: 'Rob', verdict: 'differs' },
    ]);
    const [ofV4] = explain(db, 102n).entries;
    expect(ofV4?.candidates).toMatchObject([{ v3_svc_id: '2', v4_svc_id: '102' }]);
    const [child] = explain(db, 11n).entries;
    expect(child?.candidates.map(fieldOf('description'))).toEqual([
      { name: 'description', v3: 'pens', v4: 'ink', verdict: 'differs' },
      { name: 'description', v3: 'pens', v4: 'pens', verdict: 'same' },
    ]);
  });
});

it('explain says what the number is in each row, the V3 record first', () => {
  withRemap('full', (db) => {
    const text = renderExplanation(explain(db, 2n), 80);
    expect(text.split('\n').filter((line) => line.includes(' as a '))).toEqual([
      expect.stringMatching(/^2 as a V3 record \(V3 2, V4 –\): /),
      expect.stringMatching(/^2 as a V3 child in line_items \(V3 2, V4 115\): /),
      expect.stringMatching(/^2 as a V4 record \(V3 6, V4 2\): /),
    ]);
    expect(text).toMatch(/^ +V3 2 +V4 102$/m);
    const isNext = (line: string) => line.startsWith('Next: ');
    expect(text.split('\n').filter((line) => line.length > 80 && !isNext(line))).toEqual([]);
  });
});

it('a draft shows the fields of line items, and their keys alone where pages are not stored', () => {
  const linesOf = (db: Db) =>
    draftDecisions(db, CONFIG, {}, 'header')
      .text.split('\n')
      .filter((line) => /V[34] 1\d+/.test(line) && !line.includes('10'))
      .slice(0, 3);
  expect(withRemap('full', linesOf)).toEqual([
    '# V3 11 (line_items) | ambiguous/duplicate_platform_id_v3 | platform_id "x" | description "pens" | quantity "11"',
    '#   V4 111 | platform_id "x" | description "ink" | quantity "111"',
    '#   V4 112 | platform_id "x" | description "pens" | quantity "112"',
  ]);
  expect(withRemap('ids', linesOf)).toEqual([
    '# V3 11 (line_items) | ambiguous/duplicate_platform_id_v3 | platform_id "x"',
    '#   V4 111 | platform_id "x"',
    '#   V4 112 | platform_id "x"',
  ]);
});

describe('a draft of pairs of companies', () => {
  const config = configOf();
  const V3 = things('1 a company=1 facts=A; 2 b company=3 facts=B');
  const V4 = things('101 a company=501 facts=A');
  const linesOf = (exported: Exported) => {
    const { db, close } = openExported(config, exported);
    try {
      remapOf(db, config);
      const { text, v3 } = draftCompanies(db, {}, 'header');
      return [v3, ...text.split('\n').filter((line) => /^#(?: {3}|default|.*V3 company \d)/.test(line))];
    } finally {
      close();
    }
  };

  it('lists a company without a pair, with the V4 companies without one', () => {
    const more = things('103 c company=502 facts=C');
    expect(linesOf({ v3: V3, v4: [...V4, ...more], v4Companies: [503] })).toEqual([
      1,
      '# V3 company 3 in default | 1 keys',
      '#   V4 company 503 | no records',
      '#   V4 company 502 | 1 record',
      '#default,3,?',
    ]);
  });

  it('lists no company where every V4 company is paired', () => {
    expect(linesOf({ v3: V3, v4: V4 })).toEqual([0]);
  });

  it('lists no company, and names no V4 company as left, where a file settled those without a pair', () => {
    const { db, close } = openExported(config, { v3: V3, v4: V4, v4Companies: [503] });
    remapOf(db, config);
    expect(countSpareV4Companies(db)).toBe(1);
    db.exec(`update company set matched_by = 'file' where v3_company_id = 3`);
    expect([countSpareV4Companies(db), draftCompanies(db, {}, 'header').v3]).toEqual([0, 0]);
    close();
  });

  it('names the first V4 companies, and how many more there are', () => {
    const v4Companies = Array.from({ length: 30 }, (_, index) => 600 + index);
    const lines = linesOf({ v3: V3, v4: V4, v4Companies });
    expect(lines).toHaveLength(24);
    expect(lines).toContain('#   and 10 more V4 companies');
  });
});

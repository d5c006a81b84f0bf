import { describe, expect, it } from 'vitest';
import { checksumOf } from '../../src/store/checksum.js';
import type { Db } from '../../src/store/open.js';
import { findOpenLists, readReadiness } from '../../src/store/readiness.js';
import { EVERYTHING, hasSharedKey, hasV4Records } from '../../src/store/remap-rows.js';
import { readRecordGroups, readStreamGroups } from '../../src/store/scoped-streams.js';
import { ensureStreams, saveCompanyList, saveV4Companies } from '../../src/store/streams.js';
import { codeOf } from '../support/code-of.js';
import { plansOf } from '../support/query-plans.js';
import { openTestDatabase } from './support.js';

const MODELS = ['accounting/invoices', 'crm/companies'];
const CONFIG = {
  models: MODELS.map((v3) => ({ v3, v4: v3 })),
  v3: { regions: [{ region: 'eu' }] },
};

/** As many V4 companies, with a list of each model for all but the last ones. */
function databaseWith(companies: number, withoutLists: number): Db {
  const db = openTestDatabase();
  const ids = Array.from({ length: companies }, (_, at) => BigInt(at + 1));
  db.transaction(() => {
    saveV4Companies(
      db,
      ids.map((companyId) => ({ companyId, raw: Buffer.from('{}') })),
    );
    const planned = ids.slice(0, companies - withoutLists).flatMap((companyId) =>
      MODELS.map((model) => ({
        key: { generation: 'v4', region: '', model, companyId } as const,
        route: model,
      })),
    );
    ensureStreams(db, planned, '2026-01-01T00:00:00.000Z');
  })();
  return db;
}

it('asks for the reason only where the requests of all unfinished lists were refused', () => {
  const db = databaseWith(15, 0);
  const endAll = (endReason: string, where: string) => {
    db.exec(`UPDATE stream SET state = 'failed', end_reason = '${endReason}' WHERE ${where}`);
    db.exec(`UPDATE stream SET checksum = ${checksumOf('stream')}`);
    return findOpenLists(readReadiness(db, CONFIG, EVERYTHING)).at(-1)?.next;
  };
  expect(endAll('http_status', 'true')).toBe('svc-migrate doctor');
  for (const passing of ['unavailable', 'network', 'cursor_expired']) {
    expect(endAll(passing, "model = 'crm/companies' AND company_id = 15")).toBe('svc-migrate run');
  }
});

describe('what is known of the lists', () => {
  it('takes as much memory for many companies as for some', () => {
    const sizes = [100, 2000].map((companies) => {
      const facts = readReadiness(databaseWith(companies, 50), CONFIG, EVERYTHING);
      return {
        groups: facts.groups.length,
        unfinished: facts.unfinished.v4.length,
        missing: facts.missing.v4.first.length,
      };
    });
    expect(sizes[1]).toEqual(sizes[0]);
    expect(sizes[0]).toEqual({ groups: 2, unfinished: 20, missing: 3 });
  });

  it("has V4's company list apart from lists of records", () => {
    const db = databaseWith(1, 0);
    const counts = { pages: 1, records: 1, uniqueRecords: 1, totalCountFirst: 2, totalCountLast: 2 };
    const times = { startedAt: '2026-01-01T00:00:00.000Z', finishedAt: '2026-01-01T00:00:00.000Z' };
    saveCompanyList(db, { state: 'short', endReason: 'count_disputed', endNote: null, ...counts, ...times });
    expect(readStreamGroups(db, EVERYTHING).map(({ model }) => model)).toEqual([...MODELS, 'core/companies']);
    expect(readRecordGroups(db).map(({ model }) => model)).toEqual(MODELS);
  });

  it('adds up counts beyond 64 bits', () => {
    const db = databaseWith(1100, 0);
    db.exec(`UPDATE stream SET total_count_last = ${Number.MAX_SAFE_INTEGER}`);
    db.exec(`UPDATE stream SET checksum = ${checksumOf('stream')}`);
    const [group] = readStreamGroups(db, EVERYTHING);
    expect(group?.expected).toBeCloseTo(1100 * Number.MAX_SAFE_INTEGER, -8);
  });

  it('names the first lists and counts the others', () => {
    const facts = readReadiness(databaseWith(5, 2), CONFIG, EVERYTHING);
    expect(findOpenLists(facts).map(({ text }) => text)).toEqual([
      'V3 was not exported yet.',
      '4 V4 lists not started: accounting/invoices, company 4; crm/companies, company 4; accounting/invoices, company 5; 1 more.',
      '6 V4 lists not read to the end: accounting/invoices, company 1 (not started); accounting/invoices, company 2 (not started); accounting/invoices, company 3 (not started); 3 more.',
    ]);
  });

  it('names the lists of V3 that were never started, in each region', () => {
    const db = databaseWith(1, 0);
    const key = { generation: 'v3', region: 'eu', model: 'accounting/invoices', companyId: null } as const;
    const split = { ...key, region: 'us', model: 'crm/companies', companyId: 5n };
    ensureStreams(
      db,
      [key, split].map((own) => ({ key: own, route: '' })),
      '2026-01-01T00:00:00.000Z',
    );
    const config = { ...CONFIG, v3: { regions: [{ region: 'eu' }, { region: 'us' }] } };
    expect(findOpenLists(readReadiness(db, config, EVERYTHING))[0]?.text).toBe(
      '2 V3 lists not started: crm/companies in eu; accounting/invoices in us.',
    );
  });

  it('is only that of the companies in the scope', () => {
    const db = databaseWith(5, 2);
    db.exec("INSERT INTO company VALUES ('eu', 4, 4, 'same_id', 0, 0, 0, 0, '[]')");
    const facts = readReadiness(db, CONFIG, { models: ['crm/companies'], companies: [4n] });
    expect(findOpenLists(facts).map(({ code }) => code)).toEqual(['v3_not_exported', 'v4_not_exported']);
  });

  it('is refused if there is a remap without its build', () => {
    const db = databaseWith(2, 0);
    db.exec('INSERT INTO remap_row(group_id, v3_svc_id) VALUES (1, 1)');
    expect(codeOf(() => readReadiness(db, CONFIG, EVERYTHING))).toBe('corrupt_database');
  });

  it('is refused if the index of the lists does not hold them', () => {
    const db = databaseWith(30, 0);
    db.unsafeMode(true);
    db.exec(`PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'remap_v3')
        WHERE name = 'stream_key';
      PRAGMA writable_schema = RESET`);
    expect(codeOf(() => readReadiness(db, CONFIG, EVERYTHING))).toBe('corrupt_database');
  });

  it('looks for the list of each company in an index', () => {
    const db = databaseWith(2, 0);
    const prepare = db.prepare.bind(db);
    const plans: string[] = [];
    db.prepare = ((sql: string) => {
      if (sql.includes('FROM v4_company AS company')) {
        const plan = prepare<[object], { readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
        plans.push(...plan.all({ planned: '[]' }).map(({ detail }) => detail));
      }
      return prepare(sql);
    }) as typeof db.prepare;
    readReadiness(db, CONFIG, EVERYTHING);
    const searches = plans.filter((detail) => detail.includes('stream_key'));
    expect(searches).toHaveLength(2);
    for (const detail of searches) expect(detail).toContain('<expr>=?');
  });
});

describe('whether there is anything to compare', () => {
  it('is read from the rows, not from an index that a report does not verify', () => {
    const db = openTestDatabase();
    const plans = plansOf(db, () => {
      for (const models of [null, ['accounting/invoices']]) {
        hasSharedKey(db, { models, companies: null });
        hasSharedKey(db, { models, companies: [1n] });
        hasV4Records(db, models);
      }
    });
    const used = plans.flatMap(({ steps }) => steps.map(({ detail }) => detail));
    expect(used).toContain('SCAN r');
    expect(used.filter((detail) => detail.includes('remap_'))).toEqual([]);
    db.close();
  });
});

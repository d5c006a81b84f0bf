import { describe, expect, it } from 'vitest';
import { buildRemap } from '../../src/match/build-remap.js';
import type { Db } from '../../src/store/open.js';
import { EVERYTHING } from '../../src/store/remap-rows.js';
import { readDriftCounts, readDriftFindings } from '../../src/store/remap-tables.js';
import { purgePayloads } from '../../src/store/stream-contents.js';
import { configOf, type Exported, INVOICES, modelOf, openExported } from '../support/exported.js';
import { storePayloads } from '../support/payloads.js';
import { seal } from '../support/seal.js';

const ORDERS = 'payments/orders';
/** Company 5 is paired with 50, 6 with 60; ids repeat everywhere. */
const PAIRS: Exported = {
  v3: [
    { id: 1, key: 'a', company: 5, facts: 'x=1' },
    { id: 2, key: 'b', company: 5, facts: 'x=2' },
    { id: 1, key: 'c', company: 6, model: ORDERS, facts: 'x=3' },
    { id: 9, key: 'gone', company: 6, model: ORDERS },
  ],
  v4: [
    { id: 11, key: 'a', company: 50, facts: 'x=1' },
    { id: 12, key: 'b', company: 50, facts: 'x=2' },
    { id: 13, key: 'c', company: 60, model: ORDERS, facts: 'x=3' },
  ],
};

/** A remap of `PAIRS` whose V3 payloads are `v3`, by key, and all V4 payloads `{"total":1}`. */
function withPayloads(v3: Readonly<Record<string, string>>, work: (db: Db) => void): void {
  const config = configOf({ models: [modelOf(INVOICES), modelOf(ORDERS)] });
  const { db, close } = openExported(config, PAIRS);
  try {
    for (const [key, body] of Object.entries(v3))
      storePayloads(db, body, "generation = 'v3' AND platform_id = ?", key);
    storePayloads(db, '{"total":1}', "generation = 'v4'");
    seal(db);
    buildRemap({ db, config, named: [], clock: { now: () => 0 }, onProgress: () => {} });
    work(db);
  } finally {
    close();
  }
}

const ALL = { a: '{"total":1}', b: '{"total":2}', c: '{"total":"x"}', gone: '{"total":3}' };

describe('drift', () => {
  it('is counted by model: pairs, compared pairs, differing pairs', () => {
    withPayloads(ALL, (db) => {
      expect(readDriftCounts(db, EVERYTHING)).toEqual([
        { model: INVOICES, pairs: 2n, compared: 2n, differing: 1n },
        { model: ORDERS, pairs: 1n, compared: 1n, differing: 1n },
      ]);
    });
  });

  it('can be limited to models and V3 companies', () => {
    withPayloads(ALL, (db) => {
      expect(readDriftCounts(db, { models: null, companies: [5n] })).toEqual([
        { model: INVOICES, pairs: 2n, compared: 2n, differing: 1n },
      ]);
      const orders = { models: [ORDERS], companies: null };
      expect(readDriftCounts(db, orders)).toMatchObject([{ model: ORDERS }]);
      expect([...readDriftFindings(db, orders)]).toMatchObject([{ model: ORDERS, v3_svc_id: 1n }]);
      expect([...readDriftFindings(db, { models: null, companies: [5n] })]).toMatchObject([
        { model: INVOICES, v3_svc_id: 2n },
      ]);
      expect(readDriftCounts(db, { models: [ORDERS], companies: [5n] })).toEqual([]);
    });
  });

  it('counts a pair without a payload as not compared', () => {
    withPayloads({ a: ALL.a, c: ALL.c }, (db) => {
      expect(readDriftCounts(db, EVERYTHING)).toMatchObject([
        { pairs: 2n, compared: 1n, differing: 0n },
        { pairs: 1n, compared: 1n, differing: 1n },
      ]);
      purgePayloads(db);
      expect(readDriftCounts(db, EVERYTHING)).toMatchObject([
        { pairs: 2n, compared: 0n, differing: 0n },
        { pairs: 1n, compared: 0n, differing: 0n },
      ]);
    });
  });

  it('is listed as rows of the remap, with the differing fields as evidence', () => {
    withPayloads(ALL, (db) => {
      expect([...readDriftFindings(db, { models: [INVOICES], companies: null })]).toEqual([
        {
          model: INVOICES,
          path: '',
          region: 'default',
          v3_company_id: 5n,
          v4_company_id: 50n,
          platform_id: 'b',
          parent_platform_id: null,
          v3_svc_id: 2n,
          v4_svc_id: 12n,
          status: 'matched',
          reason: null,
          matched_by: 'platform_id',
          evidence: '{"drift":[{"field":"total","v3":2,"v4":1}]}',
        },
      ]);
    });
  });
});

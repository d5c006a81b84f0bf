import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { campaignSize } from '../support/campaign.js';
import {
  brief,
  configOf,
  INVOICES,
  type Kid,
  modelOf,
  openExported,
  remapOf,
  saveExported,
  type Thing,
} from './exported.js';
import { oracleLines } from './oracle.js';

const SEED = 20261101;
const RUNS = campaignSize({ small: 20, full: 400 });
const WINDOW = '2026-08-20T00:00:00Z';
const KEYS = [
  'a',
  'b',
  'A',
  '0a',
  ' a',
  '__proto__',
  'q\'uo"te',
  'caf\u00e9',
  'cafe\u0301',
  'nul\u0000l',
  '',
  '00',
];

const key = fc.option(fc.constantFrom(...KEYS.filter((text) => text !== '')), { freq: 8 });
const uid = fc.option(fc.constantFrom('u', 'v', 'w'), { freq: 2 });
const path = fc.constantFrom('line_items', 'line_items', 'taxes');
const kid = fc.record({ path, key, uid, deleted: fc.boolean() });
const thing = fc.record({
  key,
  uid,
  deleted: fc.boolean(),
  latest: fc.option(fc.constantFrom('2026-01-01T00:00:00Z', '2026-10-01T00:00:00Z')),
  created: fc.option(fc.constantFrom('2026-01-01T00:00:00Z', '2099-01-01T00:00:00Z')),
  kids: fc.array(kid, { maxLength: 4 }),
});

type Unnumbered = Omit<Thing, 'id' | 'kids'> & { readonly kids: readonly Omit<Kid, 'id'>[] };

/** Ids overlap between the generations on purpose; children and records count on their own. */
function numbered(things: readonly Unnumbered[]): Thing[] {
  let next = 100;
  return things.map((rest, at) => ({
    ...rest,
    id: at + 1,
    kids: rest.kids.map((child) => {
      next += 1;
      return { ...child, id: next };
    }),
  }));
}

describe('the join against the oracle', () => {
  const config = configOf({
    companies: { match: 'same_id', include: [], exclude: [] },
    models: [{ ...modelOf(INVOICES), children: ['line_items', 'taxes'] }],
    backfill: { sinceMs: Date.parse(WINDOW), dateFields: [] },
  });
  const opened = openExported(config, { v3: [], v4: [] });
  beforeAll(() => expect(opened.db.open).toBe(true));
  afterAll(() => opened.close());

  it(`gives every record and child the outcome of the oracle (${RUNS} seeded cases)`, () => {
    const states = fc.record({
      v3: fc.constantFrom('complete' as const, 'short' as const, 'running' as const),
      v4: fc.constantFrom('complete' as const, 'complete' as const, 'failed' as const),
    });
    const cases = fc.tuple(
      fc.array(thing, { maxLength: 9 }),
      fc.array(thing, { minLength: 1, maxLength: 9 }),
      states,
    );
    let rows = 0;
    fc.assert(
      fc.property(cases, ([things3, things4, state]) => {
        const v3 = [...numbered(things3), { id: 1000, key: 'pins the company', deleted: true }];
        const v4 = numbered(things4);
        opened.db.exec('delete from record; delete from child; delete from page; delete from stream');
        saveExported(opened.db, config, {
          v3,
          v4,
          states: { [`v3 default ${INVOICES}`]: state.v3, [`v4 ${INVOICES} 1`]: state.v4 },
        });
        const all = remapOf(opened.db, config);
        const merged = new Set(all.flatMap(({ id, merged: isMerged }) => (isMerged === 1n ? [id] : [])));
        const found = all
          .filter(({ parent }) => parent === null || !merged.has(parent))
          .map(brief)
          .sort();
        rows += found.length;
        const rules = {
          windowStart: WINDOW,
          readUntil: '2026-11-01T00:00:00Z',
          v3Full: state.v3 !== 'running',
          v4Full: state.v4 === 'complete',
          v4Absent: false,
        };
        expect(found).toEqual(oracleLines(v3, v4, rules));
      }),
      { numRuns: RUNS, seed: SEED },
    );
    process.stdout.write(`join against oracle: ${RUNS} cases, ${rows} rows\n`);
  });
});

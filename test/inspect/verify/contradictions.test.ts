import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRandom, judgeVerify } from '../../../src/inspect/verify/verify-remap.js';
import { type ContradictionList, findContradictions } from '../../../src/store/conservation.js';
import { campaign } from '../../support/campaign.js';
import {
  configOf,
  INVOICES,
  type Kid,
  openExported,
  saveExported,
  type Thing,
} from '../../support/exported.js';
import { allowEdits } from '../../support/remap-edits.js';
import { remapOf } from '../../support/remap-rows.js';
import { CORRUPTIONS } from './corruptions.js';

const SEED = 20261103;
const RUNS = campaign({ small: 8, full: 100, soak: 1500 });
const RUNS_PER_CORRUPTION = campaign({ small: 10, full: 40, soak: 600 });

const config = configOf({ companies: { match: 'same_id', include: [], exclude: [] } });
const opened = openExported(config, { v3: [], v4: [] });
beforeAll(() => {
  // Nothing of this is to outlive the test.
  opened.db.pragma('synchronous = OFF');
  allowEdits(opened.db);
});
afterAll(() => opened.close());

/** Few keys and unique ids, so that they repeat in every way. */
const key = fc.option(fc.constantFrom('a', 'b', 'A', ' a', 'c'), { freq: 9 });
const uid = fc.option(fc.constantFrom('u', 'v', 'w'), { freq: 2 });
const kid = fc.record({ key, uid, deleted: fc.boolean() });
const thing = fc.record({ key, uid, deleted: fc.boolean(), kids: fc.array(kid, { maxLength: 4 }) });
const things = fc.array(thing, { minLength: 1, maxLength: 9 });
const state = fc.constantFrom('complete' as const, 'complete' as const, 'failed' as const);

type Unnumbered = Omit<Thing, 'id' | 'kids'> & { readonly kids: readonly Omit<Kid, 'id'>[] };

function numbered(items: readonly Unnumbered[]): Thing[] {
  let next = 100;
  return items.map((item, at) => ({
    ...item,
    id: at + 1,
    kids: item.kids.map((child) => {
      next += 1;
      return { ...child, id: next };
    }),
  }));
}

interface Case {
  readonly v3: readonly Unnumbered[];
  readonly v4: readonly Unnumbered[];
  readonly v3State: 'complete' | 'failed';
  readonly v4State: 'complete' | 'failed';
}

const cases: fc.Arbitrary<Case> = fc.record({ v3: things, v4: things, v3State: state, v4State: state });

/** Puts a case into the database and joins it. */
function build({ v3, v4, v3State, v4State }: Case): void {
  const { db } = opened;
  db.exec('DELETE FROM record; DELETE FROM stream; DELETE FROM v4_company');
  const states = { [`v3 default ${INVOICES}`]: v3State, [`v4 ${INVOICES} 1`]: v4State };
  saveExported(db, config, { v3: numbered(v3), v4: numbered(v4), states });
  remapOf(db, config);
}

function find(): readonly ContradictionList[] {
  return findContradictions(opened.db, [INVOICES], 10);
}

describe('the remap against the export', () => {
  it(`holds whatever was exported (${RUNS} seeded cases)`, () => {
    fc.assert(
      fc.property(cases, (one) => {
        build(one);
        expect(find()).toEqual([]);
      }),
      { numRuns: RUNS, seed: SEED },
    );
  });

  it.each(Object.entries(CORRUPTIONS))('shows every mapping that was spoilt: %s', (_, corrupt) => {
    const { db } = opened;
    let spoilt = 0;
    fc.assert(
      fc.property(cases, fc.nat(), (one, seed) => {
        build(one);
        if (db.prepare('SELECT 1 FROM remap WHERE v3_svc_id > 0 AND v4_svc_id > 0').get() === undefined)
          return;
        if (!corrupt(db, createRandom(seed))) return;
        spoilt += 1;
        expect(find()).not.toEqual([]);
      }),
      { numRuns: RUNS_PER_CORRUPTION, seed: SEED },
    );
    expect(spoilt).toBeGreaterThan(RUNS_PER_CORRUPTION / 8);
  });
});

describe('a contradiction is named for what is wrong', () => {
  const PLAIN = { key: 'a', uid: null, deleted: false, kids: [] };
  const ONLY_V4 = { ...PLAIN, key: 'b' };
  it.each<[what: string, sql: string, codes: readonly string[]]>([
    [
      'a V3 record without a row',
      'DELETE FROM remap_entry WHERE v3_svc_id = 1',
      ['not_in_remap', 'v4_not_in_remap'],
    ],
    [
      'a row that is there twice',
      'INSERT INTO remap_entry SELECT * FROM remap_entry WHERE v3_svc_id = 1',
      ['twice_in_remap', 'v4_claimed_twice'],
    ],
    [
      'a row of a record nobody showed',
      'UPDATE remap_entry SET v3_svc_id = 77 WHERE v3_svc_id = 1',
      ['not_in_remap', 'not_exported'],
    ],
    ['a V4 record without a row', 'DELETE FROM remap_entry WHERE v3_svc_id IS NULL', ['v4_not_in_remap']],
    [
      'a V4 id nobody showed',
      'UPDATE remap_entry SET v4_svc_id = 77 WHERE v3_svc_id = 1',
      ['v4_not_in_remap', 'v4_not_exported'],
    ],
  ])('%s', (_, sql, codes) => {
    build({ v3: [PLAIN], v4: [PLAIN, ONLY_V4], v3State: 'complete', v4State: 'complete' });
    opened.db.exec(sql);
    expect(find().map(({ code, total }) => [code, total])).toEqual(codes.map((code) => [code, 1]));
  });
});

it('a contradiction is exit code 1, whatever the pairs that were read say', () => {
  const coverage = { kind: 'all', pairs: 1, matched: 1, strata: 1, drawn: 1 } as const;
  const agreed = { agree: 1, wrong: [], gone: 0, deletedSince: 0, failed: 0, unread: 0, firstError: null };
  const result = { remap: { builtAt: '', sha256: '' }, contradictions: [], coverage, ...agreed };
  const contradictions = [{ code: 'v4_not_in_remap' as const, total: 1, first: [] }];
  expect(judgeVerify(result)).toBe(0);
  expect(judgeVerify({ ...result, failed: 1 })).toBe(4);
  expect(judgeVerify({ ...result, failed: 1, contradictions })).toBe(1);
});

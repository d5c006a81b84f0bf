import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StoredChild } from '../../src/json/stored-lists.js';
import { type ChildRow, judgeChildren } from '../../src/match/judge-children.js';
import { campaign } from '../support/campaign.js';

const RUNS = campaign({ small: 400, full: 1000, soak: 20_000 });

const part = fc.record({
  path: fc.constantFrom('line_items', 'taxes'),
  key: fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'A'), { freq: 9 }),
  uids: fc.tuple(fc.constantFrom(null, 'u', 'v'), fc.constantFrom(null, 'u', 'v')),
  deleted: fc.tuple(fc.boolean(), fc.boolean()),
});

/** The children of a pair whose lists hold the same keys in the same order. */
const lists = fc.array(part, { minLength: 2, maxLength: 12 }).map((parts) => {
  const listOf = (side: 0 | 1): StoredChild[] =>
    parts.map(({ path, key, uids, deleted }, at) => [
      path,
      `${side * 100 + at}`,
      key,
      uids[side],
      deleted[side] ? 1 : 0,
    ]);
  return { v3: listOf(0), v4: listOf(1) };
});

const sorted = (rows: readonly ChildRow[]): string[] => rows.map((row) => JSON.stringify(row)).sort();

describe('the children of a pair', () => {
  it(`get the same rows in any order of both lists (${RUNS} seeded cases)`, () => {
    let inStep = 0;
    fc.assert(
      fc.property(lists, fc.option(fc.constant('deleted_in_v4'), { nil: null }), ({ v3, v4 }, reason) => {
        const rows = judgeChildren(v3, v4, reason);
        const shuffled = judgeChildren(v3, v4.toReversed(), reason);
        expect(sorted(rows.v3)).toEqual(sorted(shuffled.v3));
        expect(sorted(rows.v4)).toEqual(sorted(shuffled.v4));
        const keys = new Set(v3.map(([path, , key]) => `${path} ${key}`));
        if (keys.size === v3.length && v3.every(([, , key]) => key !== null)) inStep += 1;
      }),
      { numRuns: RUNS, seed: 20261121 },
    );
    process.stdout.write(
      `children of pairs: ${RUNS} lists in two orders, ${inStep} of them with each key once\n`,
    );
    expect(inStep).toBeGreaterThan(RUNS / 20);
  });
});

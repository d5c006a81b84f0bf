import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { StoredChild } from '../../src/json/stored-lists.js';
import { type ChildRow, judgeChildren } from '../../src/match/judge-children.js';
import { compare } from '../../src/text/rows.js';
import { campaign } from '../support/campaign.js';

const RUNS = campaign({ small: 400, full: 1000, soak: 20_000 });

const part = fc.record({
  path: fc.constantFrom('line_items', 'taxes'),
  key: fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'A'), { freq: 9 }),
  uids: fc.tuple(fc.constantFrom(null, 'u', 'v'), fc.constantFrom(null, 'u', 'v')),
  deleted: fc.tuple(fc.boolean(), fc.boolean()),
});

/** The children of a pair whose lists hold the same keys in the same order, as they are stored: by field and id. */
const lists = fc.array(part, { minLength: 2, maxLength: 12 }).map((drawn) => {
  const parts = drawn.toSorted((a, b) => compare(a.path, b.path));
  const listOf = (side: 0 | 1): StoredChild[] =>
    parts.map(({ path, key, uids, deleted }, at) => [
      path,
      `${side * 100 + (path === 'taxes' ? at : at + 50)}`,
      key,
      uids[side],
      deleted[side] ? 1 : 0,
    ]);
  return { v3: listOf(0), v4: listOf(1) };
});

function lineOf([, , v3, v4, , status, reason, by, evidence, conflict]: ChildRow): string {
  return [`${v3 ?? '-'}→${v4 ?? '-'} ${status}/${reason ?? by}`, evidence ?? [], conflict || []]
    .flat()
    .join(' ');
}

describe('the children of a pair', () => {
  it(`get the same rows in any order of both lists (${RUNS} seeded cases)`, () => {
    let inStep = 0;
    fc.assert(
      fc.property(lists, fc.option(fc.constant('deleted_in_v4'), { nil: null }), ({ v3, v4 }, reason) => {
        const rows = judgeChildren(v3, v4, reason);
        const shuffled = judgeChildren(v3, v4.toReversed(), reason);
        expect(rows).toEqual(shuffled);
        expect(rows.v3.map(([, , id]) => id)).toEqual(v3.map(([, id]) => id));
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

  it('get their outcome, and the ids of their group as evidence', () => {
    const listOf = (text: string): StoredChild[] =>
      text.split(' ').map((one) => {
        const [id = '', key = '', uid = '', deleted] = one.split(',');
        return ['line_items', id, key || null, uid || null, deleted ? 1 : 0];
      });
    const v3 = listOf('1,a 2,a 3,b,,x 4,b 5,c 6,,u 7,E 8,F,w 9,g,,x 10,,,x');
    const v4 = listOf('11,a 13,b,,x 14,b 15,c 16,c 17,d,u 18,e 19,f2,w 20,h,,x');
    const rows = judgeChildren(v3, v4, null);
    expect([...rows.v3, ...rows.v4].map(lineOf)).toEqual([
      '1→- ambiguous/duplicate_platform_id_v3 {"v3_svc_ids":["1","2"],"v4_svc_ids":["11"]}',
      '2→- ambiguous/duplicate_platform_id_v3 {"v3_svc_ids":["1","2"],"v4_svc_ids":["11"]}',
      '3→- deleted/superseded_in_v3 {"live_v3_svc_ids":["4"]}',
      '4→14 matched/platform_id',
      '5→- ambiguous/duplicate_platform_id_v4 {"v3_svc_ids":["5"],"v4_svc_ids":["15","16"]}',
      '6→- unmatched/no_platform_id',
      '7→- unmatched/key_changed {"v4_svc_ids":["18"]}',
      '8→- unmatched/key_changed {"v4_svc_ids":["19"]}',
      '9→- deleted/deleted_not_in_v4',
      '10→- deleted/no_platform_id',
      '-→11 ambiguous/duplicate_platform_id_v3 {"v3_svc_ids":["1","2"],"v4_svc_ids":["11"]}',
      '-→13 deleted/superseded_in_v4 {"live_v4_svc_ids":["14"]}',
      '-→15 ambiguous/duplicate_platform_id_v4 {"v3_svc_ids":["5"],"v4_svc_ids":["15","16"]}',
      '-→16 ambiguous/duplicate_platform_id_v4 {"v3_svc_ids":["5"],"v4_svc_ids":["15","16"]}',
      '-→17 v4_only/key_changed {"v3_svc_ids":["6"]}',
      '-→18 v4_only/key_changed {"v3_svc_ids":["7"]}',
      '-→19 v4_only/key_changed {"v3_svc_ids":["8"]}',
      '-→20 deleted/deleted_v4_only',
    ]);
  });
});

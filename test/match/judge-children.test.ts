import { describe, expect, it } from 'vitest';
import {
  type ChildMember,
  type ChildRow,
  findNear,
  rowsOf,
  TwinChildren,
} from '../../src/match/judge-children.js';
import { describeOutcome } from '../../src/match/outcomes.js';
import { cpuMsOf, growthOf } from './growth.js';

function judge(v3: readonly ChildMember[], v4: readonly ChildMember[]): ChildRow[] {
  const twin = new TwinChildren(v4);
  const judged = twin.judge(v3);
  const unclaimed = twin.judgeUnclaimed();
  const near = findNear([...judged, ...unclaimed]);
  return [...rowsOf(judged, null, near), ...rowsOf(unclaimed, null, near)];
}

function lineOf({ v3, v4, outcome, evidence }: ChildRow): string {
  const { status, reason, matchedBy } = describeOutcome(outcome);
  return `${v3 ?? '-'}→${v4 ?? '-'} ${status}/${reason ?? matchedBy}${evidence === null ? '' : ` ${evidence}`}`;
}

function listOf(gen: 3 | 4, text: string): ChildMember[] {
  return text.split(' ').map((one) => {
    const [id = '0', key = '', uid = '', deleted] = one.split(',');
    const keys = { key: key || null, uid: uid || null };
    return { gen, path: 1n, svcId: BigInt(id), ...keys, deleted: deleted !== undefined };
  });
}

describe('the children of a pair', () => {
  it('get their outcome, and the ids of their group as evidence', () => {
    const v3 = listOf(3, '1,a,u 2,a,v 3,b,,x 4,b 5,c 6,,u 7,E 8,F,w 9,g,,x 10,,,x');
    const v4 = listOf(4, '11,a,w 13,b,,x 14,b 15,c 16,c 17,d,u 18,e 19,f2,w 20,h,,x');
    const expected = [
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
    ];
    expect(judge(v3, v4).map(lineOf)).toEqual(expected);
    expect(judge(v3.toReversed(), v4.toReversed()).map(lineOf)).toEqual(expected);
  });
});

type Crowd = (gen: 3 | 4, at: number) => Partial<ChildMember>;

/** Children in which everything is compared with everything, unless each is looked up. */
const CROWDS: readonly (readonly [string, Crowd])[] = [
  ['of one key', () => ({ key: 'a' })],
  ['of one key, deleted but for one', (_, at) => ({ key: 'a', deleted: at > 0 })],
  ['of one key with unique ids', (_, at) => ({ key: 'a', uid: `u${at}` })],
  ['of one folded key', (gen, at) => ({ key: `${'0'.repeat(gen)}${at % 2}` })],
  ['of one unique id', (gen, at) => ({ key: `${gen}-${at}`, uid: 'u' })],
  ['of the same keys in another order', (gen, at) => ({ key: `${gen === 3 ? at : -at}` })],
];

describe('many children', () => {
  const FEW = 1000;
  const TIMES = 8;
  it.each(CROWDS)(`%s take time in proportion, and so do their rows (${TIMES} × ${FEW})`, (_, childOf) => {
    const crowd = (count: number) =>
      ([3, 4] as const).map((gen) =>
        Array.from({ length: count }, (_unused, at): ChildMember => {
          const plain = { path: 1n, key: null, uid: null, deleted: false };
          return { gen, svcId: BigInt(at), ...plain, ...childOf(gen, at) };
        }),
      );
    const [few, many] = [crowd(FEW), crowd(FEW * TIMES)];
    const run = ([v3 = [], v4 = []]: ChildMember[][]) => judge(v3, v4);
    const sizeOf = (rows: readonly ChildRow[]) => rows.map(lineOf).join().length;
    expect(sizeOf(run(many))).toBeLessThan(sizeOf(run(few)) * TIMES * 1.5);
    const growth = growthOf(
      () => cpuMsOf(() => run(few)),
      () => cpuMsOf(() => run(many)),
      TIMES * 4,
    );
    expect(growth).toBeLessThan(TIMES * 4);
  });
});

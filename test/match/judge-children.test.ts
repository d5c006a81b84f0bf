import { describe, expect, it } from 'vitest';
import {
  configOf,
  INVOICES,
  type Kid,
  modelOf,
  openExported,
  type Row,
  remapOf,
  things,
} from './exported.js';
import { cpuMsOf, growthOf } from './growth.js';

const CONFIG = configOf({
  companies: { match: 'same_id', include: [], exclude: [] },
  models: [{ ...modelOf(INVOICES), children: ['line_items', 'taxes'] }],
});

/** The children of one pair of records; their remap can be built repeatedly. */
function openChildren(v3: readonly Kid[], v4: readonly Kid[]) {
  const { db, close } = openExported(CONFIG, {
    v3: [{ id: 1, key: 'a', kids: v3 }],
    v4: [{ id: 2, key: 'a', kids: v4 }],
  });
  const judge = () => remapOf(db, CONFIG).filter(({ path }) => path !== '');
  return { judge, close };
}

function judge(v3: readonly Kid[], v4: readonly Kid[]): Row[] {
  const opened = openChildren(v3, v4);
  const rows = opened.judge();
  opened.close();
  return rows;
}

function lineOf({ v3_svc_id, v4_svc_id, status, reason, matched_by, evidence }: Row): string {
  const shown = evidence === '{}' ? '' : ` ${evidence}`;
  return `${v3_svc_id ?? '-'}→${v4_svc_id ?? '-'} ${status}/${reason ?? matched_by}${shown}`;
}

function listOf(text: string): Kid[] {
  const [record] = things(`1 x [${text}]`);
  return [...(record?.kids ?? [])];
}

describe('the children of a pair', () => {
  it('get their outcome, and the ids of their group as evidence', () => {
    const v3 = listOf(
      '1 a uid=u, 2 a uid=v, 3 b deleted, 4 b, 5 c, 6 - uid=u, 7 E, 8 F uid=w, 9 g deleted, 10 - deleted',
    );
    const v4 = listOf(
      '11 a uid=w, 13 b deleted, 14 b, 15 c, 16 c, 17 d uid=u, 18 e, 19 f2 uid=w, 20 h deleted',
    );
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

  it.each([
    ['', ''],
    [', 5 d, 6 d', ', 15 d'],
  ])('become no child of another field, with %j judged one by one', (several, twin) => {
    const v3 = listOf(`1 a, 2 a path=taxes, 3 b path=taxes uid=w, 4 c uid=v${several}`);
    const v4 = listOf(`11 a, 12 b uid=w, 14 C path=taxes uid=v${twin}`);
    const rows = judge(v3, v4).map(lineOf);
    expect(rows.filter((row) => !/^\d*[56]→|→15/.test(row))).toEqual([
      '1→11 matched/platform_id',
      '4→- unmatched/unexplained',
      '-→12 v4_only/unexplained',
      '2→- unmatched/unexplained',
      '3→- unmatched/unexplained',
      '-→14 v4_only/unexplained',
    ]);
  });
});

type Crowd = (side: 3 | 4, at: number) => Partial<Kid>;

/** Children in which everything is compared with everything, unless each is looked up. */
const CROWDS: readonly (readonly [string, Crowd])[] = [
  ['of one key', () => ({ key: 'a' })],
  ['of one key, deleted but for one', (_, at) => ({ key: 'a', deleted: at > 0 })],
  ['of one key with unique ids', (_, at) => ({ key: 'a', uid: `u${at}` })],
  ['of one folded key', (side, at) => ({ key: `${'0'.repeat(side)}${at % 2}` })],
  ['of one unique id', (side, at) => ({ key: `${side}-${at}`, uid: 'u' })],
  ['of the same keys in another order', (side, at) => ({ key: `${side === 3 ? at : -at}` })],
];

describe('many children', () => {
  const FEW = 1000;
  const TIMES = 8;
  it.each(CROWDS)(`%s take time in proportion, and so do their rows (${TIMES} × ${FEW})`, (_, childOf) => {
    const open = (count: number) => {
      const listSide = (side: 3 | 4) =>
        Array.from(
          { length: count },
          (_unused, at): Kid => ({ id: at + 1, key: null, ...childOf(side, at) }),
        );
      return openChildren(listSide(3), listSide(4));
    };
    const [few, many] = [open(FEW), open(FEW * TIMES)];
    const sizeOf = (rows: readonly Row[]) => rows.map(lineOf).join().length;
    expect(sizeOf(many.judge())).toBeLessThan(sizeOf(few.judge()) * TIMES * 1.5);
    const growth = growthOf(
      () => cpuMsOf(few.judge),
      () => cpuMsOf(many.judge),
      TIMES * 4,
    );
    expect(growth).toBeLessThan(TIMES * 4);
    few.close();
    many.close();
  });
});

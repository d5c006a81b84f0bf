import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Counter, decideOutcome, isAccepted, type Limits } from '../../src/limits.js';
import { reasonsOf, STATUSES } from '../../src/reasons.js';
import { type CountedRow, type GateCounts, judge } from '../../src/report/gate.js';

const DAY = 86_400_000;

type Given = Readonly<Record<string, string | number>>;

function limitsOf(global: Given, models: Readonly<Record<string, Given>> = {}): Limits {
  return { global, models };
}

/** `m unmatched/unexplained 3` → a row count. */
function rowOf(text: string): CountedRow {
  const [model = '', key = '', count = '0'] = text.split(' ');
  const [name, reason = null] = key.split('/');
  const status = STATUSES.find((candidate) => candidate === name) ?? 'matched';
  const rows = Number(count);
  return { model, status, reason, isChild: 0, rows, v3Rows: status === 'v4_only' ? 0 : rows };
}

const NONE: ReadonlyMap<string, number> = new Map();
const NO_COUNTERS: GateCounts['counters'] = {
  rejected: NONE,
  short: NONE,
  unique_id_conflict: NONE,
  merged: NONE,
  decision_stale: NONE,
};

function countsOf(rows: readonly string[], extra: Partial<GateCounts> = {}): GateCounts {
  const v3Rows = new Map([
    ['m', 100],
    ['n', 900],
  ]);
  return { rows: rows.map(rowOf), v3Rows, counters: NO_COUNTERS, ageMs: 0, ...extra };
}

/** `name[@model] actual/allowed ok|over`, without maxAge. */
function verdicts(counts: GateCounts, limits: Limits): string[] {
  return judge(counts, limits, DAY)
    .limits.filter(({ name }) => name !== 'maxAge')
    .map(
      ({ name, model, actual, allowed, pass }) =>
        `${name}${model === null ? '' : `@${model}`} ${actual}/${allowed} ${pass ? 'ok' : 'over'}`,
    );
}

interface Case {
  readonly name: string;
  readonly rows: readonly string[];
  readonly limits?: Limits;
  readonly expected: readonly string[];
}

const CASES: readonly Case[] = [
  {
    name: 'unmatched is 0 by default',
    rows: ['m unmatched/unexplained 1'],
    expected: ['unmatched 1/0 over'],
  },
  {
    name: 'ambiguous is 0 by default',
    rows: ['m ambiguous/duplicate_platform_id_v4 1'],
    expected: ['ambiguous 1/0 over'],
  },
  {
    name: 'unexplained V4-only rows are 0 by default, children too',
    rows: ['m v4_only/unexplained 1', 'm v4_only/parent_unexplained 2'],
    expected: ['v4_only/unexplained 3/0 over'],
  },
  {
    name: 'the rest is unlimited by default',
    rows: ['m matched 9', 'm deleted/deleted_in_v4 5', 'm v4_only/created_after_export 5'],
    expected: ['matched 9/null ok', 'deleted 5/null ok', 'v4_only 5/null ok'],
  },
  {
    name: 'what a person decided counts for no limit on its status',
    rows: ['m unmatched/decided_none 5', 'm unmatched/parent_decided_none 2', 'm v4_only/decided_none 1'],
    limits: limitsOf({ unmatched: 0, v4_only: 0 }, { m: { unmatched: 0, v4_only: 0 } }),
    expected: [
      'unmatched 0/0 ok',
      'v4_only 0/0 ok',
      'unmatched@m 0/0 ok',
      'v4_only@m 0/0 ok',
      'unmatched/decided_none 7/null ok',
      'v4_only/decided_none 1/null ok',
    ],
  },
  {
    name: 'what a person decided can be limited by its own name',
    rows: ['m unmatched/decided_none 5'],
    limits: limitsOf({ decided_none: 4 }),
    expected: ['decided_none 5/4 over'],
  },
  {
    name: 'a reason takes its rows out of the default, with the children of its records',
    rows: [
      'm unmatched/connection_inert 5',
      'm unmatched/parent_connection_inert 1',
      'm unmatched/unexplained 1',
    ],
    limits: limitsOf({ connection_inert: 5 }),
    expected: ['connection_inert 6/5 over', 'unmatched 1/0 over'],
  },
  {
    name: 'a reason outranks a status',
    rows: ['m unmatched/connection_inert 5', 'm unmatched/unexplained 1'],
    limits: limitsOf({ unmatched: 1, connection_inert: 5 }),
    expected: ['unmatched 1/1 ok', 'connection_inert 5/5 ok'],
  },
  {
    name: 'a model and status outranks a reason for all models',
    rows: ['m unmatched/connection_inert 5', 'n unmatched/connection_inert 7'],
    limits: limitsOf({ connection_inert: 7 }, { m: { unmatched: 4 } }),
    expected: ['connection_inert 7/7 ok', 'unmatched@m 5/4 over'],
  },
  {
    name: 'a model and reason outranks a model and status',
    rows: ['m unmatched/connection_inert 5', 'm unmatched/unexplained 2'],
    limits: limitsOf({}, { m: { unmatched: 2, connection_inert: 5 } }),
    expected: ['unmatched@m 2/2 ok', 'connection_inert@m 5/5 ok'],
  },
  {
    name: 'a reason judges its rows of every status',
    rows: ['m unmatched/no_platform_id 1', 'm deleted/no_platform_id 1', 'm v4_only/no_platform_id 1'],
    limits: limitsOf({ no_platform_id: 2 }),
    expected: ['no_platform_id 3/2 over'],
  },
  {
    name: 'a configured limit is listed though it judged nothing',
    rows: [],
    limits: limitsOf({ deleted: 3 }),
    expected: ['deleted 0/3 ok'],
  },
  {
    name: 'a percentage is of all V3 ids, and not rounded',
    rows: ['m unmatched/unexplained 21'],
    limits: limitsOf({ unmatched: '2.09%' }),
    expected: ['unmatched 21/2.09% over'],
  },
  {
    name: 'the percentage of a model is of its own V3 ids',
    rows: ['m unmatched/unexplained 3'],
    limits: limitsOf({}, { m: { unmatched: '2%' } }),
    expected: ['unmatched@m 3/2% over'],
  },
  {
    name: 'a percentage of a model without V3 ids allows nothing',
    rows: ['other v4_only/unexplained 1'],
    limits: limitsOf({}, { other: { v4_only: '100%' } }),
    expected: ['v4_only@other 1/100% over'],
  },
];

describe('the gate', () => {
  it.each(CASES)('$name', ({ rows, limits = limitsOf({}), expected }) => {
    expect(verdicts(countsOf(rows), limits)).toEqual(expected);
  });

  it('counts 29 of 10,000 as exactly 0.29 %', () => {
    const counts = countsOf(['m unmatched/unexplained 29'], { v3Rows: new Map([['m', 10_000]]) });
    expect(verdicts(counts, limitsOf({ unmatched: '0.29%' }))).toEqual(['unmatched 29/0.29% ok']);
  });

  const counters: readonly { counter: Counter; limits: Limits; expected: readonly string[] }[] = [
    { counter: 'rejected', limits: limitsOf({}), expected: ['rejected 3/0 over'] },
    { counter: 'short', limits: limitsOf({}), expected: ['short 3/0 over'] },
    { counter: 'merged', limits: limitsOf({}), expected: ['merged 3/0 over'] },
    { counter: 'decision_stale', limits: limitsOf({}), expected: ['decision_stale 3/0 over'] },
    { counter: 'unique_id_conflict', limits: limitsOf({}), expected: ['unique_id_conflict 3/null ok'] },
    {
      counter: 'unique_id_conflict',
      limits: limitsOf({ unique_id_conflict: 2 }),
      expected: ['unique_id_conflict 3/2 over'],
    },
    {
      counter: 'rejected',
      limits: limitsOf({}, { m: { rejected: 2 } }),
      expected: ['rejected@m 2/2 ok', 'rejected 1/0 over'],
    },
  ];
  it.each(counters)('judges $counter under $limits', ({ counter, limits, expected }) => {
    const byModel = new Map([
      ['m', 2],
      ['n', 1],
    ]);
    const counts = countsOf([], { counters: { ...NO_COUNTERS, [counter]: byModel } });
    expect(verdicts(counts, limits)).toEqual(expected);
  });

  const ages: readonly (readonly [string, number | null, number | null, boolean])[] = [
    ['accepts evidence of exactly the greatest age', DAY, 24, true],
    ['refuses evidence a millisecond older', DAY + 1, 25, false],
    ['shows whole hours', DAY / 2 + 1, 12, true],
    ['refuses evidence without a time', null, null, false],
    ['accepts a clock that is a little behind', -1000, 0, true],
    ['refuses evidence from the future', -DAY, 0, false],
  ];
  it.each(ages)('%s', (_, ageMs, actual, pass) => {
    const result = judge(countsOf([], { ageMs }), limitsOf({}), DAY);
    expect(result.limits).toMatchObject([{ name: 'maxAge', allowed: 24, actual, pass }]);
    expect(result.pass).toBe(pass);
  });

  it('judges every row by exactly one limit, whatever is configured', () => {
    const kinds = STATUSES.flatMap((status) => {
      const reasons = reasonsOf(status);
      return reasons.length === 0
        ? [status]
        : reasons.flatMap((reason) => [`${status}/${reason}`, `${status}/parent_${reason}`]);
    });
    const names = [...STATUSES, ...new Set(STATUSES.flatMap(reasonsOf))];
    const limit = fc.dictionary(fc.constantFrom(...names), fc.nat(50));
    const rows = fc.array(fc.tuple(fc.constantFrom('m', 'n'), fc.constantFrom(...kinds), fc.nat(30)));
    fc.assert(
      fc.property(rows, limit, limit, (drawn, global, own) => {
        const counts = countsOf(drawn.map(([model, kind, n]) => `${model} ${kind} ${n}`));
        const { limits } = judge(counts, limitsOf(global, { m: own }), DAY);
        const judged = limits
          .filter(({ unit }) => unit !== 'hours')
          .reduce((sum, { actual }) => sum + (actual ?? 0), 0);
        expect(judged).toBe(drawn.reduce((sum, [, , n]) => sum + n, 0));
      }),
    );
  });

  it('says incomplete before not ready before the limits', () => {
    const incomplete = { outcome: 'incomplete' as const };
    const notReady = { outcome: 'not_ready' as const };
    expect(decideOutcome([notReady, incomplete], true)).toBe('incomplete');
    expect(decideOutcome([notReady], true)).toBe('not_ready');
    expect(decideOutcome([], false)).toBe('fail');
    expect(decideOutcome([], true)).toBe('pass');
  });
});

it('ids without a V4 id are accepted where their limit allows any', () => {
  const accepted = (limits: Limits, status: 'unmatched' | 'deleted', reason: string) =>
    isAccepted(limits, { model: 'm', status, reason });
  expect(accepted(limitsOf({}), 'unmatched', 'unexplained')).toBe(false);
  expect(accepted(limitsOf({}), 'unmatched', 'decided_none')).toBe(true);
  expect(accepted(limitsOf({}), 'deleted', 'deleted_in_v4')).toBe(true);
  const inert = limitsOf({ connection_inert: '100%' });
  expect(accepted(inert, 'unmatched', 'parent_connection_inert')).toBe(true);
  expect(accepted(inert, 'unmatched', 'unexplained')).toBe(false);
  expect(accepted(limitsOf({ unmatched: '0%' }), 'unmatched', 'unexplained')).toBe(false);
  expect(accepted(limitsOf({ unmatched: 9 }, { m: { unmatched: 0 } }), 'unmatched', 'unexplained')).toBe(
    false,
  );
});

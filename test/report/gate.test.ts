import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.js';
import type { LimitValue } from '../../src/config/settings.js';
import { reasonsOf, STATUSES } from '../../src/reasons.js';
import { decideOutcome, type GateCounts, judge, type RowCount } from '../../src/report/gate.js';
import { rowsOf } from '../support/table.js';

const DAY = 86_400_000;

type Limits = Readonly<Record<string, string | number>>;

function limitValue(limit: string | number): LimitValue {
  return typeof limit === 'number'
    ? { kind: 'count', count: limit }
    : { kind: 'percent', percent: Number(limit.slice(0, -1)), text: limit };
}

function limitsOf(global: Limits, models: Readonly<Record<string, Limits>> = {}): Config['limits'] {
  const values = (limits: Limits) =>
    Object.fromEntries(Object.entries(limits).map(([name, limit]) => [name, limitValue(limit)]));
  return {
    global: values(global),
    models: Object.fromEntries(Object.entries(models).map(([name, limits]) => [name, values(limits)])),
  };
}

/** `m unmatched/unexplained 3` → a row count. */
function rowOf(text: string): RowCount {
  const [model = '', key = '', count = '0'] = text.split(' ');
  const [name, reason = null] = key.split('/');
  const status = STATUSES.find((one) => one === name) ?? 'matched';
  const unit = status === 'v4_only' ? 'v4_record' : 'v3_record';
  return { model, status, reason, unit, count: Number(count) };
}

function countsOf(rows: readonly string[], extra: Partial<GateCounts> = {}): GateCounts {
  return {
    rows: rows.map(rowOf),
    v3Rows: new Map([
      ['m', 100],
      ['n', 900],
    ]),
    rejected: new Map(),
    shortStreams: new Map(),
    uniqueIdConflicts: new Map(),
    drift: null,
    staleDecisions: new Map(),
    ageMs: 0,
    ...extra,
  };
}

/** `name[@model] actual/allowed ok|over`, without maxAge. */
function verdicts(counts: GateCounts, limits: Config['limits']): string[] {
  return judge(counts, limits, DAY)
    .limits.filter(({ name }) => name !== 'maxAge')
    .map(
      ({ name, model, actual, allowed, pass }) =>
        `${name}${model === null ? '' : `@${model}`} ${actual}/${allowed} ${pass ? 'ok' : 'over'}`,
    );
}

describe('the gate', () => {
  const cases = rowsOf(`
    unmatched is 0 by default | m unmatched/unexplained 1 | {} | unmatched 1/0 over
    ambiguous is 0 by default | m ambiguous/duplicate_platform_id_v4 1 | {} | ambiguous 1/0 over
    unexplained V4-only rows are 0 by default | m v4_only/unexplained 1 | {} | v4_only/unexplained 1/0 over
    children of an unexplained V4-only record share its default | m v4_only/parent_unexplained 2 | {} |
      v4_only/unexplained 2/0 over
    the rest is unlimited by default | m matched 9, m deleted/deleted_in_v4 5, m v4_only/created_after_export 5 | {} |
      v4_only 5/null ok, deleted 5/null ok, matched 9/null ok
    what a person decided to be nothing is unlimited by default, children too | m unmatched/decided_none 5, m
      unmatched/parent_decided_none 2, m v4_only/decided_none 1 | {} | unmatched/decided_none 7/null ok, v4_only
      1/null ok
    a reason takes its rows out of the default | m unmatched/connection_inert 5, m unmatched/unexplained 1 |
      {"connection_inert":5} | connection_inert 5/5 ok, unmatched 1/0 over
    a reason covers the children of its parents | m unmatched/connection_inert 5, m unmatched/parent_connection_inert
      1 | {"connection_inert":5} | connection_inert 6/5 over
    a reason outranks a status | m unmatched/connection_inert 5, m unmatched/unexplained 1 |
      {"unmatched":1,"connection_inert":5} | unmatched 1/1 ok, connection_inert 5/5 ok
    a model and status outranks a reason for all models | m unmatched/connection_inert 5, n unmatched/connection_inert
      7 | {"connection_inert":7,"models":{"m":{"unmatched":4}}} | connection_inert 7/7 ok, unmatched@m 5/4 over
    a model and reason outranks a model and status | m unmatched/connection_inert 5, m unmatched/unexplained 2 |
      {"models":{"m":{"unmatched":2,"connection_inert":5}}} | unmatched@m 2/2 ok, connection_inert@m 5/5 ok
    a reason judges its rows of every status | m unmatched/no_platform_id 1, m deleted/no_platform_id 1, m
      v4_only/no_platform_id 1 | {"no_platform_id":2} | no_platform_id 3/2 over
    a configured limit is listed though it judged nothing | nothing | {"deleted":3} | deleted 0/3 ok
    a share is of all V3 ids | m unmatched/unexplained 20 | {"unmatched":"2%"} | unmatched 20/2% ok
    a share is not rounded | m unmatched/unexplained 21 | {"unmatched":"2.09%"} | unmatched 21/2.09% over
    a model's share is of its own V3 ids | m unmatched/unexplained 3 | {"models":{"m":{"unmatched":"2%"}}} |
      unmatched@m 3/2% over
    a share of a model without V3 ids allows nothing | other v4_only/unexplained 1 |
      {"models":{"other":{"v4_only":"100%"}}} | v4_only@other 1/100% over
  `);
  it.each(cases)('%s', (_, rows = '', limits = '', expected = '') => {
    const { models, ...global } = JSON.parse(limits);
    const counts = countsOf(rows === 'nothing' ? [] : rows.split(', '));
    expect(verdicts(counts, limitsOf(global, models)).join(', ')).toBe(expected);
  });

  it('counts 29 of 10,000 as exactly 0.29 %', () => {
    const counts = countsOf(['m unmatched/unexplained 29'], { v3Rows: new Map([['m', 10_000]]) });
    expect(verdicts(counts, limitsOf({ unmatched: '0.29%' }))).toEqual(['unmatched 29/0.29% ok']);
  });

  const counters: [string, Partial<GateCounts>, Config['limits'], string[]][] = [
    ['rejected is 0 by default', { rejected: new Map([['m', 1]]) }, limitsOf({}), ['rejected 1/0 over']],
    ['short is 0 by default', { shortStreams: new Map([['m', 1]]) }, limitsOf({}), ['short 1/0 over']],
    [
      'unique id conflicts are shown elsewhere, not limited',
      { uniqueIdConflicts: new Map([['m', 1]]) },
      limitsOf({}),
      [],
    ],
    [
      'unique id conflicts can be limited',
      { uniqueIdConflicts: new Map([['m', 1]]) },
      limitsOf({ unique_id_conflict: 0 }),
      ['unique_id_conflict 1/0 over'],
    ],
    [
      'a model can have its own limit on rejected objects',
      {
        rejected: new Map([
          ['m', 2],
          ['n', 1],
        ]),
      },
      limitsOf({}, { m: { rejected: 2 } }),
      ['rejected@m 2/2 ok', 'rejected 1/0 over'],
    ],
    ['drift that was not measured fails a limit', {}, limitsOf({ drift: '100%' }), ['drift null/100% over']],
    [
      'drift that was measured is judged',
      { drift: new Map([['m', 1]]) },
      limitsOf({ drift: 1 }),
      ['drift 1/1 ok'],
    ],
  ];
  it.each(counters)('%s', (_, extra, limits, expected) => {
    expect(verdicts(countsOf([], extra), limits)).toEqual(expected);
  });

  const ages: [string, number | null, number | null, boolean][] = [
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

  it('says whether the age that it allows is the default', () => {
    const configured = [DAY, DAY / 2].map(
      (maxAgeMs) => judge(countsOf([]), limitsOf({}), maxAgeMs).limits[0]?.configured,
    );
    expect(configured).toEqual([false, true]);
  });

  it('judges every row by exactly one limit, whatever is configured', () => {
    const kinds = STATUSES.flatMap((status) => {
      const reasons: readonly string[] = reasonsOf(status);
      return reasons.length === 0
        ? [status]
        : reasons.flatMap((one) => [`${status}/${one}`, `${status}/parent_${one}`]);
    });
    const names = [...STATUSES, ...new Set(STATUSES.flatMap(reasonsOf))];
    const limit = fc.dictionary(fc.constantFrom(...names), fc.nat(50));
    const rows = fc.array(fc.tuple(fc.constantFrom('m', 'n'), fc.constantFrom(...kinds), fc.nat(30)));
    fc.assert(
      fc.property(rows, limit, limit, (drawn, global, own) => {
        const counts = countsOf(drawn.map(([model, kind, n]) => `${model} ${kind} ${n}`));
        const { limits } = judge(counts, limitsOf(global, { m: own }), DAY);
        const judged = limits
          .filter(({ unit }) => ['ids', 'v3_ids', 'v4_ids'].includes(unit))
          .reduce((sum, { actual }) => sum + (actual ?? 0), 0);
        expect(judged).toBe(drawn.reduce((sum, [, , n]) => sum + n, 0));
      }),
    );
  });

  it('says incomplete before not ready before the limits', () => {
    const [incomplete, notReady] = [{ outcome: 'incomplete' as const }, { outcome: 'not_ready' as const }];
    expect(decideOutcome([notReady, incomplete], true)).toBe('incomplete');
    expect(decideOutcome([notReady], true)).toBe('not_ready');
    expect(decideOutcome([], false)).toBe('fail');
    expect(decideOutcome([], true)).toBe('pass');
  });

  it('allows no stale decision by default', () => {
    const counts = countsOf([], { staleDecisions: new Map([['m', 2]]) });
    expect(verdicts(counts, limitsOf({}))).toEqual(['decision_stale 2/0 over']);
    expect(verdicts(counts, limitsOf({ decision_stale: 2 }))).toEqual(['decision_stale 2/2 ok']);
    expect(verdicts(counts, limitsOf({ decision_stale: 2 }, { m: { decision_stale: 1 } }))).toEqual([
      'decision_stale 0/2 ok',
      'decision_stale@m 2/1 over',
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { beginReading, MAX_SWEEPS, nextStep, type PageOutcome, watermarkOf } from '../../src/export/walk.js';
import type { StreamRow } from '../../src/store/streams.js';
import { error, gist, NOW, page, row, V3, V4 } from './walk-cases.js';

const SWEEP: Partial<StreamRow> = {
  phase: 'sweep',
  walk: 2,
  rounds: 1,
  watermarkMs: 700,
  since: new Date(500).toISOString(),
};
const COUNTED_3: Partial<StreamRow> = { totalCountFirst: 3, totalCountLast: 3 };
const READ_AT = new Date(400).toISOString();
const EMPTY: Partial<PageOutcome> = { objects: 0 };

describe('what follows a page', () => {
  it.each<[string, 'V3' | 'V4', Partial<StreamRow>, Partial<PageOutcome>, string]>([
    ['a cursor: on to it', 'V3', {}, { next: 'c5', fresh: 1 }, 'running walk 1/1 at c5'],
    ['a cursor after an empty page: on to it', 'V3', {}, { ...EMPTY, next: 'c5' }, 'running walk 1/1 at c5'],
    [
      'a cursor of this walk: a loop',
      'V3',
      {},
      { next: 'c2', cursorRepeats: true, fresh: 1 },
      'failed cursor_loop',
    ],
    ['the hundredth page without news', 'V3', { idlePages: 99 }, { next: 'c5' }, 'failed no_progress'],
    [
      'the hundredth page with news: on',
      'V3',
      { idlePages: 99 },
      { next: 'c5', fresh: 1 },
      'running walk 1/1 at c5',
    ],
    [
      'a page of excluded companies: news too',
      'V3',
      { idlePages: 99 },
      { next: 'c5', excluded: { objects: 1, unique: 1, fresh: 1 } },
      'running walk 1/1 at c5',
    ],
    ['the hundredth page without news, but the end', 'V4', { idlePages: 99 }, {}, 'complete end_of_list'],
    ['an empty last page behind a cursor: once more', 'V4', {}, EMPTY, 'running walk 1/1 at c4'],
    ['the same for the second time: the end', 'V4', { emptyEnd: 1 }, EMPTY, 'complete end_of_list'],
    [
      'an empty first page: the end',
      'V4',
      { totalCountLast: null, cursor: null },
      EMPTY,
      'complete end_of_list',
    ],
    ['an empty last page of a sweep: once more', 'V3', SWEEP, EMPTY, 'running sweep 2/1 at c4 since 500'],
    ['the end in V4', 'V4', {}, {}, 'complete end_of_list'],
    [
      'the end in V3: a sweep from its start, less the overlap',
      'V3',
      {},
      {},
      'running sweep 2/1 at null since 500',
    ],
    ['the same with a start that is unknown', 'V3', { watermarkMs: null }, {}, 'running sweep 2/1 at null'],
    ['the end, count unknown', 'V4', { totalCountLast: null }, {}, 'complete end_of_list'],
    ['the end, count lower than what came', 'V4', COUNTED_3, {}, 'complete end_of_list'],
    ['the end, count fell: another walk', 'V4', { totalCountLast: 3 }, {}, 'running walk 2/1 at null'],
    [
      'the end of the second walk, count fell',
      'V4',
      { totalCountLast: 3, rounds: 1 },
      {},
      'complete end_of_list',
    ],
    ['the end, count higher: another walk', 'V4', {}, { totalCount: 10 }, 'running walk 2/1 at null'],
    [
      'the end, count reached by the last page',
      'V4',
      {},
      { totalCount: 10, unique: 1 },
      'complete end_of_list',
    ],
    [
      'the end, count reached with rejected objects',
      'V4',
      {},
      { totalCount: 10, rejected: 1 },
      'complete end_of_list',
    ],
    [
      'the end, count reached with excluded records',
      'V4',
      { excluded: 1 },
      { totalCount: 10 },
      'complete end_of_list',
    ],
    [
      'the end of the second walk, count still higher',
      'V4',
      { rounds: 1, walk: 2 },
      { totalCount: 10 },
      'short count_disputed',
    ],
    [
      'the same in V3: sweeps all the same',
      'V3',
      { rounds: 1, walk: 2 },
      { totalCount: 10 },
      'running sweep 3/1 at null since 500',
    ],
    [
      'the end of the second walk, count reached',
      'V4',
      { rounds: 1, walk: 2 },
      { totalCount: 10, unique: 1 },
      'complete end_of_list',
    ],
    ['a sweep that brought nothing', 'V3', SWEEP, {}, 'complete end_of_list'],
    ['the same after a disputed count', 'V3', { ...SWEEP, totalCountLast: 12 }, {}, 'short count_disputed'],
    [
      'a sweep that brought something: another from its start',
      'V3',
      { ...SWEEP, changes: 1 },
      {},
      'running sweep 3/1 at null since 600',
    ],
    ['the same in its last page', 'V3', SWEEP, { changed: 1 }, 'running sweep 3/1 at null since 600'],
    ['the last sweep', 'V3', { ...SWEEP, rounds: MAX_SWEEPS }, { changed: 1 }, 'complete end_of_list'],
    ['a total_count of a sweep: of no account', 'V3', SWEEP, { totalCount: 99 }, 'complete end_of_list'],
  ])('%s', (_, rules, before, outcome, after) => {
    expect(gist(nextStep(row(before), page(outcome), rules === 'V3' ? V3 : V4))).toBe(after);
  });

  it('counts so that records are unique, duplicate or rejected', () => {
    const excluded = { objects: 2, unique: 1, fresh: 2 };
    const outcome = page({ objects: 10, unique: 3, fresh: 5, rejected: 1, excluded, next: 'c5' });
    expect(nextStep(row(), outcome, V3).row).toMatchObject({
      pages: 5,
      records: 18,
      uniqueRecords: 10,
      duplicates: 5,
      rejected: 3,
      excluded: 1,
      walkRecords: 14,
    });
  });

  it('counts rejected objects as duplicates once they come again', () => {
    const step = nextStep(row(), page({ totalCount: 10 }), V4);
    expect(step.row).toMatchObject({
      records: 11,
      uniqueRecords: 7,
      duplicates: 4,
      rejected: 0,
      walkRecords: 0,
    });
    expect(step.discard).toEqual(['cursors']);
  });

  it('ends a reading with what its walks did not show, and dates it by the start of the last', () => {
    const step = nextStep(row(), page(), V4);
    expect(step.discard).toEqual(['cursors', 'unseen']);
    expect(step.row).toMatchObject({
      readAt: new Date(500).toISOString(),
      finishedAt: new Date(NOW).toISOString(),
      cursor: null,
    });
  });

  it('takes the clocks of a walk from its first page', () => {
    const arrival = page({ next: 'c1', servedMs: NOW - 100 });
    expect(nextStep(row({ cursor: null }), arrival, V3).row).toMatchObject({
      walkStartedAt: new Date(NOW - 5).toISOString(),
      watermarkMs: NOW - 105,
    });
    expect(nextStep(row(), arrival, V3).row.watermarkMs).toBe(600);
  });

  it('says so when a list never comes to rest', () => {
    const busy = row({ ...SWEEP, rounds: MAX_SWEEPS });
    expect(nextStep(busy, page({ changed: 1 }), V3).note).toContain('accounting/invoices');
  });
});

describe('what follows an error', () => {
  const first = { cursor: null, pages: 0 };
  it.each<[string, 'V3' | 'V4', Partial<StreamRow>, Parameters<typeof error>[0], string]>([
    ['a refusal', 'V3', {}, {}, 'failed http_status'],
    ['a timeout at a cursor', 'V3', {}, { code: 'timeout', status: null }, 'failed timeout'],
    ['a 500', 'V3', {}, { code: 'unavailable', status: 500 }, 'failed unavailable'],
    ['a 400 at a cursor: walked anew', 'V3', {}, { status: 400 }, 'running walk 2/1 at null'],
    ['a 404 at a cursor: walked anew', 'V4', {}, { status: 404 }, 'running walk 2/1 at null'],
    ['a 410 in a sweep: swept anew', 'V3', SWEEP, { status: 410 }, 'running sweep 3/1 at null since 500'],
    [
      'a 422 after more than the last time',
      'V3',
      { restartRecords: 6 },
      { status: 422 },
      'running walk 2/1 at null',
    ],
    [
      'a 422 after no more than the last time',
      'V3',
      { restartRecords: 7 },
      { status: 422 },
      'failed cursor_expired',
    ],
    ['a 400 on the first page', 'V3', first, { status: 400 }, 'failed http_status'],
    ['a 404 on the first page: absent', 'V3', first, { status: 404 }, 'absent not_found'],
    ['the same in V4', 'V4', first, { status: 404 }, 'absent not_found'],
    [
      'a 404 on the first page of a second walk in V3',
      'V3',
      { ...first, walk: 2 },
      { status: 404 },
      'failed http_status',
    ],
    [
      'the same of a list that was read before',
      'V3',
      { ...first, walk: 2, readAt: READ_AT },
      { status: 404 },
      'absent not_found',
    ],
    [
      'the same in V4, which is never kept',
      'V4',
      { ...first, walk: 2, readAt: READ_AT },
      { status: 404 },
      'failed http_status',
    ],
    [
      'a 404 on the first page of a sweep',
      'V3',
      { ...SWEEP, cursor: null, readAt: READ_AT },
      { status: 404 },
      'absent not_found',
    ],
  ])('%s', (_, rules, before, outcome, after) => {
    expect(gist(nextStep(row(before), error(outcome), rules === 'V3' ? V3 : V4))).toBe(after);
  });
});

describe('a list that answers 404', () => {
  const missing = error({ status: 404, stored: { uniqueRecords: 3, rejected: 0, excluded: 0 } });

  it('keeps its records in V3, as old as their reading, and says so', () => {
    const step = nextStep(row({ cursor: null, readAt: READ_AT }), missing, V3);
    expect(step).toMatchObject({ row: { readAt: READ_AT }, discard: ['cursors'] });
    expect(step.note).toMatch(/accounting\/invoices.*1970-01-01/);
  });

  it('is as recent as its answer where it holds no record', () => {
    const before = row({ cursor: null, readAt: READ_AT });
    const step = nextStep(before, error({ status: 404 }), V3);
    expect([step.row.readAt, step.note]).toEqual([new Date(NOW - 5).toISOString(), undefined]);
  });

  it('drops its records in V4', () => {
    const step = nextStep(row({ cursor: null, readAt: READ_AT }), missing, V4);
    expect(step.row.readAt).toBe(new Date(NOW - 5).toISOString());
    expect(step.discard).toEqual(['cursors', 'unseen', 'rejected']);
  });

  it('says how to go on where only a part of it was read', () => {
    for (const walk of [1, 2]) {
      const { failure, row: after } = nextStep(row({ cursor: null, walk, pages: 0 }), missing, V3);
      expect([after.state, failure?.hint]).toEqual(['failed', expect.stringContaining('--db')]);
    }
  });
});

describe('what an export begins with', () => {
  const done = { state: 'complete', endReason: 'end_of_list', cursor: null } as const;
  const failed = (endReason: string) => ({ state: 'failed', endReason }) as const;
  it.each<[string, 'V3' | 'V4', Partial<StreamRow>, boolean, string]>([
    [
      'a list that was never asked for',
      'V3',
      { startedAt: null, cursor: null },
      false,
      'running walk 1/1 at null',
    ],
    ['the same with a restart', 'V3', { startedAt: null, cursor: null }, true, 'running walk 1/1 at null'],
    ['a list that was interrupted: on at its cursor', 'V4', {}, false, 'running walk 1/1 at c4'],
    ['a list that failed: on at its cursor', 'V3', failed('timeout'), false, 'running walk 1/1 at c4'],
    [
      'a list that failed at a cursor: from the start',
      'V3',
      failed('cursor_loop'),
      false,
      'running walk 2/1 at null',
    ],
    ['a finished list of V3: a sweep', 'V3', done, false, 'running top_up 2/1 at null since 500'],
    ['a finished list of V4: a new reading', 'V4', done, false, 'running walk 2/2 at null'],
    ['a restart', 'V3', done, true, 'running walk 2/2 at null'],
    [
      'an absent list',
      'V3',
      { ...done, state: 'absent', endReason: 'not_found' },
      false,
      'running walk 2/2 at null',
    ],
    [
      'an absent list of V3 that was read before: a sweep, which keeps its rejected objects',
      'V3',
      { ...done, phase: 'top_up', state: 'absent', endReason: 'not_found' },
      false,
      'running top_up 2/1 at null since 500',
    ],
  ])('%s', (_, rules, before, restart, after) => {
    expect(gist(beginReading(row(before), restart, rules === 'V3' ? V3 : V4, NOW))).toBe(after);
  });

  it('gives a list that failed a fresh chance to restart, and a top-up all its sweeps', () => {
    const again = row({ ...failed('timeout'), restartRecords: 7 });
    expect(beginReading(again, false, V3, NOW).row.restartRecords).toBeNull();
    expect(beginReading(row({ ...done, ...SWEEP, ...done, rounds: 10 }), false, V3, NOW).row.rounds).toBe(1);
  });
});

describe('the watermark of a walk', () => {
  const at = { askedMs: 1000, nowMs: 1100, servedMs: null, latestUpdateMs: null };
  it.each([
    ['the Date header less the duration of the request', { servedMs: 950 }, 850],
    ['our clock, if the header is ahead', { servedMs: 9000 }, 1000],
    ['the latest update without a header', { latestUpdateMs: 700 }, 700],
    ['our clock, if the latest update is ahead', { latestUpdateMs: 9000 }, 1000],
    ['unknown without either', {}, null],
  ])('is %s', (_, changes, expected) => {
    expect(watermarkOf({ ...at, ...changes })).toBe(expected);
  });
});

import { describe, expect, it } from 'vitest';
import { decide } from '../../src/export/decide-page.js';
import {
  MAX_IDLE_PAGES,
  MAX_RECOUNTS,
  MAX_SWEEPS,
  type PageOutcome,
  type ReadingRules,
} from '../../src/export/passes.js';
import type { StreamRow } from '../../src/store/streams.js';
import { gist, ISO_NOW, NOW, page, row, V3, V4 } from './decide-cases.js';

describe('what follows a page', () => {
  const twoPasses = {
    phase: 'recount',
    walk: 2,
    passWalk: 2,
    rounds: 1,
    previous: { walk: 1, unique: 7 },
  } as const;
  const sweep = { phase: 'sweep', walk: 2, passWalk: 2, rounds: 1, passWatermarkMs: 700 } as const;
  it.each<[string, StreamRow, PageOutcome, ReadingRules, string]>([
    ['a cursor: on to it', row(), page({ next: 'c5', fresh: 1 }), V3, 'running walk c5 walk 1/1/1'],
    ['a cursor after an empty page: on to it', row(), page({ next: 'c5' }), V3, 'running walk c5 walk 1/1/1'],
    [
      'a cursor of this walk: a loop',
      row(),
      page({ next: 'c2', cursorRepeats: true, fresh: 1 }),
      V3,
      'failed cursor_loop',
    ],
    [
      'the hundredth page without news: no progress',
      row({ position: { idlePages: MAX_IDLE_PAGES - 1 } }),
      page({ next: 'c5' }),
      V3,
      'failed no_progress',
    ],
    [
      'the hundredth page with news: on',
      row({ position: { idlePages: MAX_IDLE_PAGES - 1 } }),
      page({ next: 'c5', fresh: 1 }),
      V3,
      'running walk c5 walk 1/1/1',
    ],
    [
      'the hundredth page without news, but the end: an end',
      row({ position: { idlePages: MAX_IDLE_PAGES - 1 } }),
      page(),
      V4,
      'complete end_of_list',
    ],
    [
      'an empty page behind a cursor as the end: the same once more',
      row(),
      page({ isEmpty: true }),
      V4,
      'running walk c4 walk 1/1/1',
    ],
    [
      'an empty page as the end for the second time: the end',
      row({ position: { emptyEnd: true } }),
      page({ isEmpty: true }),
      V4,
      'complete end_of_list',
    ],
    [
      'an empty first page as the end: the end',
      row({ totalCountLast: null, position: { cursor: null } }),
      page({ isEmpty: true }),
      V4,
      'complete end_of_list',
    ],
    [
      'an empty page of a sweep as the end: the same once more',
      row({ position: sweep }),
      page({ isEmpty: true }),
      V3,
      'running sweep c4 walk 2/2/1',
    ],
    ['the end in V4: complete', row(), page(), V4, 'complete end_of_list'],
    [
      'the end in V3: a sweep from the start of the reading, less the overlap',
      row({ position: { readingWatermarkMs: 600 } }),
      page(),
      V3,
      'running sweep null walk 2/2/1 since 500',
    ],
    ['the end, count unknown: no recount', row({ totalCountLast: null }), page(), V4, 'complete end_of_list'],
    ['the end, count lower: no recount', row({ totalCountLast: 3 }), page(), V4, 'complete end_of_list'],
    [
      'the end, count higher: a recount',
      row(),
      page({ totalCount: 10 }),
      V4,
      'running recount null walk 2/2/1',
    ],
    [
      'the end, count higher than what the last page completes: none',
      row(),
      page({ totalCount: 10, unique: 1 }),
      V4,
      'complete end_of_list',
    ],
    [
      'the end, count reached with rejected objects',
      row(),
      page({ totalCount: 10, rejected: 1 }),
      V4,
      'complete end_of_list',
    ],
    [
      'the end, count reached with records of excluded companies',
      row({ position: { excluded: 1 } }),
      page({ totalCount: 10 }),
      V4,
      'complete end_of_list',
    ],
    [
      'the end of a recount that agrees with the walk and not with the count: short',
      row({ totalCountLast: 12, position: { ...twoPasses, passUnique: 6, passCommon: 6 } }),
      page({ passUnique: 1, passCommon: 1, fresh: 1 }),
      V4,
      'short count_disputed',
    ],
    [
      'the end of a recount that showed other records: another',
      row({ totalCountLast: 12, position: { ...twoPasses, passUnique: 7, passCommon: 6 } }),
      page(),
      V4,
      'running recount null walk 3/3/1',
    ],
    [
      'the end of a recount that showed fewer records: another',
      row({ totalCountLast: 12, position: { ...twoPasses, passUnique: 6, passCommon: 6 } }),
      page(),
      V4,
      'running recount null walk 3/3/1',
    ],
    [
      'the end of the last recount, still without agreement: failed',
      row({ totalCountLast: 12, position: { ...twoPasses, rounds: MAX_RECOUNTS } }),
      page(),
      V4,
      'failed incomplete',
    ],
    [
      'the end of a recount that found what was missing: complete',
      row({ totalCountLast: 12, uniqueRecords: 11, position: twoPasses }),
      page({ unique: 1, totalCount: 12 }),
      V4,
      'complete end_of_list',
    ],
    [
      'the end of a disputed V3 reading: sweeps all the same',
      row({
        totalCountLast: 12,
        position: { ...twoPasses, readingWatermarkMs: 600, passUnique: 7, passCommon: 7 },
      }),
      page(),
      V3,
      'running sweep null walk 3/3/1 since 500',
    ],
    ['a sweep that brought nothing: complete', row({ position: sweep }), page(), V3, 'complete end_of_list'],
    [
      'a sweep after a disputed count: short',
      row({ position: { ...sweep, ending: 'short' } }),
      page(),
      V3,
      'short count_disputed',
    ],
    [
      'a sweep that brought something: one more, from its own start',
      row({ position: { ...sweep, passChanged: 1 } }),
      page(),
      V3,
      'running sweep null walk 3/3/1 since 600',
    ],
    [
      'the last sweep, still bringing something: good enough',
      row({ position: { ...sweep, rounds: MAX_SWEEPS } }),
      page({ changed: 1 }),
      V3,
      'complete end_of_list',
    ],
    [
      'a total_count of a sweep: of no account',
      row({ position: sweep }),
      page({ totalCount: 99 }),
      V3,
      'complete end_of_list',
    ],
    [
      'the end of a reading anew: first the old records go',
      row({ position: { stale: true, walk: 5, passWalk: 5, keepFrom: 5 } }),
      page(),
      V4,
      'running drop null walk 5/5/5',
    ],
  ])('%s', (_, before, outcome, rules, after) => {
    expect(gist(decide(before, outcome, rules))).toBe(after);
  });

  it.each<[string, Partial<PageOutcome>, boolean]>([
    ['with a new record', { passUnique: 1 }, false],
    ['with a new record of an excluded company', { excluded: 1 }, false],
    ['of a walk anew, with records known to the pass', { unique: 0, duplicates: 3, fresh: 3 }, true],
  ])('remembers an empty end beyond a page %s: %s', (_, changes, remembered) => {
    const before = row({ position: { emptyEnd: true } });
    expect(decide(before, page({ next: 'c5', ...changes }), V4).row.position.emptyEnd).toBe(remembered);
  });

  it('forgets an empty end with its pass', () => {
    const before = row({ position: { emptyEnd: true } });
    expect(decide(before, page({ isEmpty: true, totalCount: 99 }), V4).row.position.emptyEnd).toBe(false);
  });

  it('adds up the ids of records of excluded companies, unless an earlier version began the reading', () => {
    const arrived = page({ excluded: 1, excludedSum: 3, next: 'c5' });
    for (const [before, after] of [
      [4, 7],
      [4_294_967_290, 2],
      [null, null],
    ] as const) {
      const { position } = decide(row({ position: { excludedSum: before } }), arrived, V4).row;
      expect(position.excludedSum).toBe(after);
    }
  });

  it('counts arrivals so that they always add up', () => {
    const after = decide(row(), page({ unique: 3, duplicates: 4, rejected: 1, next: 'c5' }), V3).row;
    expect(after).toMatchObject({ pages: 5, records: 18, uniqueRecords: 10, duplicates: 5, rejected: 3 });
  });

  it('counts rejected objects as duplicates once they are to arrive again', () => {
    const step = decide(row(), page({ totalCount: 10 }), V4);
    expect(step.row).toMatchObject({ records: 10, uniqueRecords: 7, duplicates: 3, rejected: 0 });
    expect(step.discard).toEqual(['cursors', 'rejected']);
  });

  it('compares a recount with the pass before it, whatever older walks had seen', () => {
    const before = row({ position: { walk: 4, passWalk: 3, keepFrom: 3, passUnique: 6 } });
    const { position } = decide(before, page({ totalCount: 10, passUnique: 1 }), V4).row;
    expect(position).toMatchObject({ previous: { walk: 3, unique: 7 }, passUnique: 0, passCommon: 0 });
  });

  it('dates the evidence by the start of the walk, not by its end', () => {
    const done = decide(row(), page(), V4).row;
    expect([done.readAt, done.finishedAt]).toEqual([new Date(500).toISOString(), ISO_NOW]);
  });

  it('starts the clocks with the first page of a walk', () => {
    const arrival = page({ next: 'c1', servedMs: NOW - 100 });
    const first = decide(row({ position: { cursor: null } }), arrival, V3).row.position;
    expect(first).toMatchObject({
      walkStartedMs: NOW - 5,
      passWatermarkMs: NOW - 105,
      readingWatermarkMs: NOW - 105,
    });
    const again = decide(row({ position: { cursor: null, walk: 2 } }), arrival, V3).row.position;
    expect(again).toMatchObject({
      walkStartedMs: NOW - 5,
      passWatermarkMs: null,
      readingWatermarkMs: null,
    });
  });

  it('says so when a list never comes to rest', () => {
    const busy = row({ position: { phase: 'sweep', rounds: MAX_SWEEPS } });
    expect(decide(busy, page({ changed: 1 }), V3).note).toContain('accounting/invoices');
  });
});

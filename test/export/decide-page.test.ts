import { describe, expect, it } from 'vitest';
import { decide } from '../../src/export/decide-page.js';
import { MAX_SWEEPS, type PageOutcome, startPass } from '../../src/export/passes.js';
import { rowsOf } from '../support/table.js';
import { gist, ISO_NOW, NOW, page, row, V3, V4 } from './decide-cases.js';

describe('what follows a page', () => {
  const cases = rowsOf(`
    V3 | a cursor: on to it | {} | {"next":"c5","fresh":1} | running walk c5 walk 1/1/1
    V3 | a cursor after an empty page: on to it | {} | {"next":"c5"} | running walk c5 walk 1/1/1
    V3 | a cursor of this walk: a loop | {} | {"next":"c2","cursorRepeats":true,"fresh":1} | failed cursor_loop
    V3 | the hundredth page without news: no progress | {"position":{"idlePages":99}} | {"next":"c5"} | failed
      no_progress
    V3 | the hundredth page with news: on | {"position":{"idlePages":99}} | {"next":"c5","fresh":1} | running walk c5
      walk 1/1/1
    V4 | the hundredth page without news, but the end: an end | {"position":{"idlePages":99}} | {} | complete
      end_of_list
    V4 | an empty page behind a cursor as the end: the same once more | {} | {"isEmpty":true} | running walk c4 walk
      1/1/1
    V4 | an empty page as the end for the second time: the end | {"position":{"emptyEnd":true}} | {"isEmpty":true} |
      complete end_of_list
    V4 | an empty first page as the end: the end | {"totalCountLast":null,"position":{"cursor":null}} |
      {"isEmpty":true} | complete end_of_list
    V3 | an empty page of a sweep as the end: the same once more |
      {"position":{"phase":"sweep","walk":2,"passWalk":2,"rounds":1,"passWatermarkMs":700}} | {"isEmpty":true} |
      running sweep c4 walk 2/2/1
    V4 | the end in V4: complete | {} | {} | complete end_of_list
    V3 | the end in V3: a sweep from the start of the reading, less the overlap |
      {"position":{"readingWatermarkMs":600}} | {} | running sweep null walk 2/2/1 since 500
    V4 | the end, count unknown: no recount | {"totalCountLast":null} | {} | complete end_of_list
    V4 | the end, count lower: no recount | {"totalCountLast":3} | {} | complete end_of_list
    V4 | the end, count higher: a recount | {} | {"totalCount":10} | running recount null walk 2/2/1
    V4 | the end, count higher than what the last page completes: none | {} | {"totalCount":10,"unique":1} | complete
      end_of_list
    V4 | the end, count reached with rejected objects | {} | {"totalCount":10,"rejected":1} | complete end_of_list
    V4 | the end, count reached with records of excluded companies | {"position":{"excluded":1}} | {"totalCount":10} |
      complete end_of_list
    V4 | the end of a recount that agrees with the walk and not with the count: short |
      {"totalCountLast":12,"position":{"phase":"recount","walk":2,"passWalk":2,"rounds":1,"previous":{"walk":1,"unique":7},"passUnique":6,"passCommon":6}}
      | {"passUnique":1,"passCommon":1,"fresh":1} | short count_disputed
    V4 | the end of a recount that showed other records: another |
      {"totalCountLast":12,"position":{"phase":"recount","walk":2,"passWalk":2,"rounds":1,"previous":{"walk":1,"unique":7},"passUnique":7,"passCommon":6}}
      | {} | running recount null walk 3/3/1
    V4 | the end of a recount that showed fewer records: another |
      {"totalCountLast":12,"position":{"phase":"recount","walk":2,"passWalk":2,"rounds":1,"previous":{"walk":1,"unique":7},"passUnique":6,"passCommon":6}}
      | {} | running recount null walk 3/3/1
    V4 | the end of the last recount, still without agreement: failed |
      {"totalCountLast":12,"position":{"phase":"recount","walk":2,"passWalk":2,"rounds":4,"previous":{"walk":1,"unique":7}}}
      | {} | failed incomplete
    V4 | the end of a recount that found what was missing: complete |
      {"totalCountLast":12,"uniqueRecords":11,"position":{"phase":"recount","walk":2,"passWalk":2,"rounds":1,"previous":{"walk":1,"unique":7}}}
      | {"unique":1,"totalCount":12} | complete end_of_list
    V3 | the end of a disputed V3 reading: sweeps all the same |
      {"totalCountLast":12,"position":{"phase":"recount","walk":2,"passWalk":2,"rounds":1,"previous":{"walk":1,"unique":7},"readingWatermarkMs":600,"passUnique":7,"passCommon":7}}
      | {} | running sweep null walk 3/3/1 since 500
    V3 | a sweep that brought nothing: complete |
      {"position":{"phase":"sweep","walk":2,"passWalk":2,"rounds":1,"passWatermarkMs":700}} | {} | complete
      end_of_list
    V3 | a sweep after a disputed count: short |
      {"position":{"phase":"sweep","walk":2,"passWalk":2,"rounds":1,"passWatermarkMs":700,"ending":"short"}} | {} |
      short count_disputed
    V3 | a sweep that brought something: one more, from its own start |
      {"position":{"phase":"sweep","walk":2,"passWalk":2,"rounds":1,"passWatermarkMs":700,"passChanged":1}} | {} |
      running sweep null walk 3/3/1 since 600
    V3 | the last sweep, still bringing something: good enough |
      {"position":{"phase":"sweep","walk":2,"passWalk":2,"rounds":10,"passWatermarkMs":700}} | {"changed":1} |
      complete end_of_list
    V3 | a total_count of a sweep: of no account |
      {"position":{"phase":"sweep","walk":2,"passWalk":2,"rounds":1,"passWatermarkMs":700}} | {"totalCount":99} |
      complete end_of_list
    V4 | the end of a reading anew: first the old records go |
      {"position":{"stale":true,"walk":5,"passWalk":5,"keepFrom":5}} | {} | running drop null walk 5/5/5
  `);
  it.each(cases)('%s: %s', (rules = '', _, before = '', outcome = '', after = '') => {
    const step = decide(row(JSON.parse(before)), page(JSON.parse(outcome)), rules === 'V3' ? V3 : V4);
    expect(gist(step)).toBe(after);
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

const DROPPED = { kind: 'dropped', nowMs: NOW } as const;

describe('a pass', () => {
  it('begins with nothing counted, after passes of another kind', () => {
    const counts = { passUnique: 9, passCommon: 9, passChanged: 9, idlePages: 9, restartUnique: 9 };
    const before = row({
      readBy: 'companies',
      position: { ...counts, emptyEnd: true, rounds: 3, phase: 'recount', previous: { walk: 1, unique: 9 } },
    });
    const nothing = { passUnique: 0, passCommon: 0, passChanged: 0, idlePages: 0, restartUnique: null };
    const begun = { ...nothing, emptyEnd: false };
    const sweep = startPass(before, 'sweep', 5);
    // Only a recount compares with the pass before it.
    expect(sweep.row.position).toMatchObject({ ...begun, rounds: 1, previous: null });
    const recount = startPass(before, 'recount', null);
    expect(recount.row.position).toMatchObject({ ...begun, rounds: 4 });
    expect(recount.row.readBy).toBe('list');
    // A sweep does not show what was rejected again.
    expect([sweep.row.rejected, sweep.discard]).toEqual([2, ['cursors']]);
    expect([recount.row.rejected, recount.discard]).toEqual([0, ['cursors', 'rejected']]);
  });

  it('that ends says until when the list was read, and that nothing older is left', () => {
    const { position } = decide(row({ position: { stale: true, phase: 'drop' } }), DROPPED, V4).row;
    expect(position.stale).toBe(false);
    expect(decide(row(), page({ servedMs: 777 }), V4).row.position.readUntilMs).toBe(777);
  });
});

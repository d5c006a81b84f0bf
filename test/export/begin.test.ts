import { describe, expect, it } from 'vitest';
import { begin, decide } from '../../src/export/decide-page.js';
import { rowsOf } from '../support/table.js';
import { gist, ISO_NOW, NOW, page, row, V3, V4 } from './decide-cases.js';

describe('how an export begins a stream', () => {
  const done = { state: 'complete', endReason: 'end_of_list', finishedAt: ISO_NOW } as const;
  const read = { cursor: null, walk: 2, passWalk: 2, phase: 'sweep', passWatermarkMs: 700 } as const;
  const cases = rowsOf(`
    V3 | never read: from the start | {"pages":0,"position":{"cursor":null}} | on | running walk null walk 1/1/1
    V3 | unfinished: from its cursor | {} | on | running walk c4 walk 1/1/1
    V3 | unfinished, anew: a new reading | {} | anew | running walk null walk 2/2/2
    V3 | failed by the network: from its cursor | {"state":"failed","endReason":"network"} | on | running walk c4 walk
      1/1/1
    V3 | a cursor loop: from the start | {"state":"failed","endReason":"cursor_loop"} | on | running walk null walk
      2/1/1
    V3 | no progress: from the start | {"state":"failed","endReason":"no_progress"} | on | running walk null walk
      2/1/1
    V3 | expired: from the start | {"state":"failed","endReason":"cursor_expired"} | on | running walk null walk 2/1/1
    V3 | walks that disagree: a recount |
      {"state":"failed","endReason":"incomplete","position":{"phase":"recount","walk":5,"passWalk":5,"rounds":4}} | on
      | running recount null walk 6/6/1
    V3 | V3 complete: a sweep from the last one |
      {"state":"complete","endReason":"end_of_list","finishedAt":"1970-01-01T00:16:40.000Z","position":{"cursor":null,"walk":2,"passWalk":2,"phase":"sweep","passWatermarkMs":700}}
      | on | running sweep null walk 3/3/1 since 600
    V3 | V3 complete, anew: a new reading |
      {"state":"complete","endReason":"end_of_list","finishedAt":"1970-01-01T00:16:40.000Z","position":{"cursor":null,"walk":2,"passWalk":2,"phase":"sweep","passWatermarkMs":700}}
      | anew | running walk null walk 3/3/3
    V4 | V4 complete: a new reading |
      {"state":"complete","endReason":"end_of_list","finishedAt":"1970-01-01T00:16:40.000Z","position":{"cursor":null}}
      | on | running walk null walk 2/2/2
    V3 | absent: asked again | {"state":"absent","endReason":"not_found"} | on | running walk null walk 2/2/2
    V4 | dropping: goes on with that | {"position":{"cursor":null,"phase":"drop","walk":2,"passWalk":2,"keepFrom":2}}
      | on | running drop null walk 2/2/2
  `);
  it.each(cases)('%s: %s', (rules = '', _, before = '', how = '', after = '') => {
    const step = begin(row(JSON.parse(before)), how === 'anew', rules === 'V3' ? V3 : V4, NOW);
    expect(gist(step)).toBe(after);
  });

  it('counts a new reading from nothing', () => {
    const before = row({
      ...{ ...done, readBy: 'companies' },
      position: { excluded: 3, ending: 'short', judged: true, toppedUp: true },
    });
    const step = begin(before, true, V3, NOW);
    expect(step.row).toMatchObject({
      readBy: 'list',
      pages: 0,
      records: 0,
      uniqueRecords: 0,
      duplicates: 0,
      rejected: 0,
      totalCountFirst: null,
      totalCountLast: null,
      finishedAt: null,
      position: { excluded: 0, ending: 'complete', judged: false, toppedUp: false, stale: true },
    });
    expect(step.discard).toEqual(['cursors', 'rejected', 'excluded']);
  });

  it('remembers old records through a new reading that never got anywhere', () => {
    const restarted = row({ pages: 0, uniqueRecords: 0, position: { walk: 2, keepFrom: 2, stale: true } });
    expect(begin(restarted, true, V3, NOW).row.position.stale).toBe(true);
    expect(begin(row({ uniqueRecords: 0 }), true, V3, NOW).row.position.stale).toBe(false);
  });

  it('keeps a disputed count disputed through a top-up', () => {
    const short = row({ ...done, state: 'short', position: { ...read, ending: 'short' } });
    const { row: topUp } = begin(short, false, V3, NOW);
    expect([topUp.position.toppedUp, gist(decide(topUp, page(), V3))]).toEqual([
      true,
      'short count_disputed',
    ]);
  });

  it.each([
    ['is continued', {}, true],
    ['is walked again within its reading', { state: 'failed', endReason: 'cursor_expired' }, true],
    ['is swept on', { position: { phase: 'sweep', walk: 2, passWalk: 2 } }, true],
    ['failed before its first page', { state: 'failed', endReason: 'timeout', pages: 0 }, false],
  ] as const)('remembers that a reading %s', (_, before, toppedUp) => {
    expect(begin(row(before), false, V3, NOW).row.position.toppedUp).toBe(toppedUp);
  });

  it('gives a failed stream a fresh chance to restart', () => {
    const failed = row({ state: 'failed', endReason: 'timeout', position: { restartUnique: 7 } });
    expect(begin(failed, false, V3, NOW).row).toMatchObject({
      endNote: null,
      position: { restartUnique: null },
    });
  });

  it.each([
    [
      'recounts',
      row({ state: 'failed', endReason: 'incomplete', position: { phase: 'recount', rounds: 5 } }),
    ],
    ['sweeps', row({ ...done, position: { ...read, phase: 'sweep', rounds: 10 } })],
  ])('counts the %s of each export from one', (_, before) => {
    expect(begin(before, false, V3, NOW).row.position.rounds).toBe(1);
  });
});

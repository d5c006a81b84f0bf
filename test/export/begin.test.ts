import { describe, expect, it } from 'vitest';
import { begin, decide } from '../../src/export/decide-page.js';
import type { ReadingRules } from '../../src/export/passes.js';
import type { StreamRow } from '../../src/store/streams.js';
import { gist, ISO_NOW, NOW, page, row, V3, V4 } from './decide-cases.js';

describe('how an export begins a stream', () => {
  const done = { state: 'complete', endReason: 'end_of_list', finishedAt: ISO_NOW } as const;
  const read = { cursor: null, walk: 2, passWalk: 2, phase: 'sweep', passWatermarkMs: 700 } as const;
  it.each<[string, StreamRow, boolean, ReadingRules, string]>([
    [
      'never read: from the start',
      row({ pages: 0, position: { cursor: null } }),
      false,
      V3,
      'running walk null walk 1/1/1',
    ],
    ['unfinished: from its cursor', row(), false, V3, 'running walk c4 walk 1/1/1'],
    ['unfinished, anew: a new reading', row(), true, V3, 'running walk null walk 2/2/2'],
    [
      'failed by the network: from its cursor',
      row({ state: 'failed', endReason: 'network' }),
      false,
      V3,
      'running walk c4 walk 1/1/1',
    ],
    [
      'a cursor loop: from the start',
      row({ state: 'failed', endReason: 'cursor_loop' }),
      false,
      V3,
      'running walk null walk 2/1/1',
    ],
    [
      'no progress: from the start',
      row({ state: 'failed', endReason: 'no_progress' }),
      false,
      V3,
      'running walk null walk 2/1/1',
    ],
    [
      'expired: from the start',
      row({ state: 'failed', endReason: 'cursor_expired' }),
      false,
      V3,
      'running walk null walk 2/1/1',
    ],
    [
      'walks that disagree: a recount',
      row({
        state: 'failed',
        endReason: 'incomplete',
        position: { phase: 'recount', walk: 5, passWalk: 5, rounds: 4 },
      }),
      false,
      V3,
      'running recount null walk 6/6/1',
    ],
    [
      'V3 complete: a sweep from the last one',
      row({ ...done, position: read }),
      false,
      V3,
      'running sweep null walk 3/3/1 since 600',
    ],
    [
      'V3 complete, anew: a new reading',
      row({ ...done, position: read }),
      true,
      V3,
      'running walk null walk 3/3/3',
    ],
    [
      'V4 complete: a new reading',
      row({ ...done, position: { cursor: null } }),
      false,
      V4,
      'running walk null walk 2/2/2',
    ],
    [
      'absent: asked again',
      row({ state: 'absent', endReason: 'not_found' }),
      false,
      V3,
      'running walk null walk 2/2/2',
    ],
    [
      'dropping: goes on with that',
      row({ position: { cursor: null, phase: 'drop', walk: 2, passWalk: 2, keepFrom: 2 } }),
      false,
      V4,
      'running drop null walk 2/2/2',
    ],
  ])('%s', (_, before, anew, rules, after) => {
    expect(gist(begin(before, anew, rules, NOW))).toBe(after);
  });

  it('counts a new reading from nothing', () => {
    const step = begin(row({ ...done, position: { excluded: 3, ending: 'short' } }), true, V3, NOW);
    expect(step.row).toMatchObject({
      pages: 0,
      records: 0,
      uniqueRecords: 0,
      duplicates: 0,
      rejected: 0,
      totalCountFirst: null,
      totalCountLast: null,
      finishedAt: null,
      position: { excluded: 0, ending: 'complete', stale: true },
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
    expect(gist(decide(begin(short, false, V3, NOW).row, page(), V3))).toBe('short count_disputed');
  });

  it('gives a failed stream a fresh chance to restart', () => {
    const failed = row({ state: 'failed', endReason: 'timeout', position: { restartUnique: 7 } });
    expect(begin(failed, false, V3, NOW).row).toMatchObject({
      endNote: null,
      position: { restartUnique: null },
    });
  });
});

import { describe, expect, it } from 'vitest';
import { decide } from '../../src/export/decide-page.js';
import type { ReadingRules } from '../../src/export/passes.js';
import { rowsOf } from '../support/table.js';
import { error, gist, ISO_NOW, NOW, row, V3, V4 } from './decide-cases.js';

describe('what follows an error', () => {
  const first = { cursor: null } as const;
  const cases = rowsOf(`
    404 on the first page: absent | {"pages":0,"position":{"cursor":null}} | {"status":404} | absent not_found
    409 on the first page: failed | {"pages":0,"position":{"cursor":null}} | {} | failed http_status
    404 on the first page of a second walk: not absent, it was there | {"position":{"cursor":null,"walk":2}} |
      {"status":404} | failed http_status
    404 on the first page of a sweep: not absent either |
      {"position":{"cursor":null,"phase":"sweep","walk":2,"passWalk":2}} | {"status":404} | failed http_status
    400 on a cursor: from the start | {} | {"status":400} | running walk null walk 2/1/1
    404 on a cursor: from the start | {} | {"status":404} | running walk null walk 2/1/1
    410 on a cursor: from the start | {} | {"status":410} | running walk null walk 2/1/1
    422 on a cursor: from the start | {} | {"status":422} | running walk null walk 2/1/1
    409 on a cursor: failed | {} | {} | failed http_status
    503 on a cursor: failed | {} | {"code":"unavailable","status":503} | failed unavailable
    a timeout: failed | {} | {"code":"timeout","status":null} | failed timeout
    a second expiry after news: from the start again | {"position":{"walk":2,"restartUnique":6,"passUnique":7}} |
      {"status":410} | running walk null walk 3/1/1
    a second expiry without news: failed | {"position":{"walk":2,"restartUnique":7,"passUnique":7}} | {"status":410} |
      failed cursor_expired
    an expiry in a sweep: the same sweep from its start |
      {"position":{"phase":"sweep","walk":2,"passWalk":2,"since":"1970-01-01T00:00:00.600Z"}} | {"status":410} |
      running sweep null walk 3/2/1 since 600
  `);
  it.each(cases)('%s', (_, before = '', outcome = '', after = '') => {
    expect(gist(decide(row(JSON.parse(before)), error(JSON.parse(outcome)), V3))).toBe(after);
  });

  it('takes a 404 on a walk anew for an absence where the old records may go, and only there', () => {
    const anew = { ...first, walk: 3, passWalk: 3, keepFrom: 3 };
    const gistOf = (stale: boolean, rules: ReadingRules) =>
      gist(decide(row({ pages: 0, position: { ...anew, stale } }), error({ status: 404 }), rules));
    expect(gistOf(true, V4)).toBe('running drop null walk 3/3/3');
    expect(gistOf(true, V3)).toBe('failed http_status');
    expect(gistOf(false, V3)).toBe('absent not_found');
  });

  it('keeps rejected objects listed when a sweep begins again', () => {
    const sweep = row({ position: { phase: 'sweep', walk: 2, passWalk: 2 } });
    expect(decide(sweep, error({ status: 410 }), V3)).toMatchObject({
      row: { rejected: 2 },
      discard: ['cursors'],
    });
  });

  it('dates an absence by when it was asked', () => {
    const absent = decide(row({ pages: 0, position: first }), error({ status: 404 }), V3).row;
    expect([absent.readAt, absent.finishedAt]).toEqual([new Date(NOW - 5).toISOString(), ISO_NOW]);
  });
});

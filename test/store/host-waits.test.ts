import { describe, expect, it } from 'vitest';
import { currentWaits, readHostWaits, saveHostWaits } from '../../src/store/meta.js';
import { openTestDatabase } from './support.js';

const host = 'api.example.com';

describe('a wait that a host asked for', () => {
  it.each([
    ['is kept while it lasts', 1500, [1000, 3000]],
    ['ends when its time has come', 3000, null],
    ['ends at the latest then', 9000, null],
    ['begins anew where the clock was set back, and is no longer than what was asked for', 400, [400, 2400]],
    ['that would begin years ahead is no longer either', -1e12, [-1e12, -1e12 + 2000]],
  ] as const)('%s', (_, nowMs, expected) => {
    const waits = currentWaits([{ host, askedAtMs: 1000, untilMs: 3000 }], nowMs);
    expect(waits).toEqual(expected === null ? [] : [{ host, askedAtMs: expected[0], untilMs: expected[1] }]);
  });

  it('is kept for its host until it is over', () => {
    const db = openTestDatabase();
    saveHostWaits(db, [{ host: 'a', askedAtMs: 0, untilMs: 10 }], 0);
    saveHostWaits(db, [{ host: 'b', askedAtMs: 0, untilMs: 30 }], 0);
    expect(readHostWaits(db, 5).map((wait) => wait.host)).toEqual(['a', 'b']);
    saveHostWaits(db, [{ host: 'b', askedAtMs: 20, untilMs: 90 }], 20);
    expect(readHostWaits(db, 0)).toEqual([{ host: 'b', askedAtMs: 0, untilMs: 70 }]);
    expect(readHostWaits(db, 21)).toEqual([{ host: 'b', askedAtMs: 20, untilMs: 90 }]);
  });
});

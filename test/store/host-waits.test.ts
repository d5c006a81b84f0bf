import { expect, it } from 'vitest';
import { readHostWaits, saveHostWaits } from '../../src/store/meta.js';
import { openTestDatabase } from './support.js';

it('a wait that a host asked for is kept until it is over, and is no longer where the clock was set back', () => {
  const db = openTestDatabase();
  saveHostWaits(db, [{ host: 'a', askedAtMs: 0, untilMs: 10 }], 0);
  saveHostWaits(db, [{ host: 'b', askedAtMs: 5, untilMs: 75 }], 5);
  expect(readHostWaits(db, 9).map(({ host }) => host)).toEqual(['a', 'b']);
  expect(readHostWaits(db, 74)).toEqual([{ host: 'b', askedAtMs: 5, untilMs: 75 }]);
  expect(readHostWaits(db, 75)).toEqual([]);
  expect(readHostWaits(db, -1000).at(-1)).toEqual({ host: 'b', askedAtMs: -1000, untilMs: -930 });
});

import { describe, expect, it } from 'vitest';
import {
  addObservation,
  beginSettling,
  hasSettled,
  type Settling,
} from '../../../src/inspect/settle/wait-settled.js';

const SETTLE_MS = 100;

/** Looks at the count of one list, ten ms apart. */
function watch(first: number | null, ...rest: readonly (number | null)[]): Settling {
  let atMs = 0;
  const look = (count: number | null) => ({ atMs, counts: new Map([['a', count]]) });
  let state = beginSettling(look(first));
  for (const count of rest) {
    atMs += 10;
    state = addObservation(state, look(count));
  }
  return state;
}

const still = (count: number, looks: number): [number, ...number[]] => [
  count,
  ...Array.from({ length: looks - 1 }, () => count),
];

const CASES: readonly (readonly [string, Settling, boolean])[] = [
  ['one look is never enough', watch(5), false],
  ['the full time without a change', watch(...still(5, 11)), true],
  ['a look short of it', watch(...still(5, 10)), false],
  ['a change starts it anew', watch(...still(5, 9), 6, 6), false],
  ['a change and then the full time', watch(5, ...still(6, 11)), true],
  ['a loss is a change', watch(...still(5, 9), 4, 4), false],
  ['a list that appears is a change', watch(null, ...still(5, 10)), false],
  ['an absent list stays absent', watch(null, ...Array.from({ length: 10 }, () => null)), true],
];

describe('settling', () => {
  for (const [name, state, expected] of CASES) {
    it(name, () => expect(hasSettled(state, SETTLE_MS)).toBe(expected));
  }

  it('names the lists that moved, with both counts', () => {
    expect(watch(5, 4).moved).toEqual([{ list: 'a', before: 5, now: 4 }]);
  });
});

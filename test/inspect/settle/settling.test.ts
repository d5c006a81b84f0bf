import { describe, expect, it } from 'vitest';
import {
  addObservation,
  beginSettling,
  hasSettled,
  meaningOf,
  recordEvent,
  type Settling,
} from '../../../src/inspect/settle/wait-settled.js';

const RULES = { settleMs: 100, pollMs: 10 };

/** Looks at one list, ten ms apart: a count, or an event. */
function watch(...steps: readonly (number | null | 'moving' | 'completed')[]): Settling {
  let atMs = 0;
  const look = (count: number | null) => ({ atMs, counts: new Map([['a', count]]) });
  const [first, ...rest] = steps;
  let state = beginSettling(look(typeof first === 'string' ? null : (first ?? null)));
  for (const step of rest) {
    if (step === 'moving' || step === 'completed') state = recordEvent(state, step, atMs);
    else {
      atMs += 10;
      state = addObservation(state, look(step));
    }
  }
  return state;
}

const still = (count: number, looks: number): number[] => Array.from({ length: looks }, () => count);

const CASES: readonly (readonly [string, Settling, boolean])[] = [
  ['one look is never enough', watch(5), false],
  ['the full time without a change', watch(...still(5, 11)), true],
  ['a look short of it', watch(...still(5, 10)), false],
  ['a change starts it anew', watch(...still(5, 9), 6, 6), false],
  ['a change and then the full time', watch(5, ...still(6, 11)), true],
  ['a loss is a change', watch(...still(5, 9), 4, 4), false],
  ['a list that appears is a change', watch(null, ...still(5, 10)), false],
  [
    'an absent list stays absent',
    watch(...still(5, 0), null, ...Array.from({ length: 10 }, () => null)),
    true,
  ],
  ['a completed sync shortens it to two looks', watch(5, 'completed', 5, 5), true],
  ['a completed sync does not do without a look', watch(5, 'completed', 5), false],
  ['a change after it takes it back', watch(5, 'completed', 6, 6, 6), false],
  ['movement after it takes it back', watch(5, 5, 'completed', 'moving', 5, 5), false],
  ['movement starts the time anew', watch(...still(5, 9), 'moving', 5, 5), false],
];

describe('settling', () => {
  for (const [name, state, expected] of CASES) {
    it(name, () => expect(hasSettled(state, RULES)).toBe(expected));
  }

  it('names the lists that moved, with both counts', () => {
    expect(watch(5, 4).moved).toEqual([{ list: 'a', before: 5, now: 4 }]);
  });
});

describe('webhook events', () => {
  const events: readonly (readonly [unknown, string, string | null])[] = [
    [{ type: 'SYNC_COMPLETED' }, 'type', 'completed'],
    [{ event: { kind: 'SYNC_STARTED' } }, 'event.kind', 'moving'],
    [{ type: 'DATA_MODEL_CHANGES', more: [1] }, 'type', 'moving'],
    [{ type: 'CONNECTION_CHANGED' }, 'type', null],
    [{ type: '__proto__' }, 'type', null],
    [{}, 'constructor.name', null],
    [[], 'type', null],
    [null, 'type', null],
    ['SYNC_COMPLETED', 'type', null],
  ];
  for (const [event, field, expected] of events) {
    it(`reads ${JSON.stringify(event)} at ${field} as ${expected}`, () =>
      expect(meaningOf(event, field)).toBe(expected));
  }
});

import { describe, expect, it } from 'vitest';
import { type CellState, isAccepted, kindOf, type LeftKind } from '../../src/apply/left.js';
import type { Policy } from '../../src/apply/plan.js';
import { IN_PLACE } from './support/remap.js';

const MISSING = 'unmatched/unexplained';
const UNKNOWN = 'unknown/not_in_remap';

/** state, category, --missing, --unknown → kind */
const KINDS: readonly [CellState, string, Policy['missing'], Policy['unknown'], LeftKind | null][] = [
  ['open', 'mapped', 'fail', 'fail', null],
  ['open', MISSING, 'fail', 'fail', 'undecided'],
  ['open', MISSING, 'keep', 'fail', 'kept'],
  ['open', MISSING, 'null', 'fail', 'emptied'],
  ['open', UNKNOWN, 'fail', 'fail', 'undecided'],
  ['open', UNKNOWN, 'fail', 'keep', 'left_alone'],
  ['unentered', 'mapped', 'fail', 'fail', 'came_since'],
  ['unentered', MISSING, 'fail', 'fail', 'kept'],
  ['unentered', MISSING, 'keep', 'fail', 'kept'],
  ['unentered', MISSING, 'null', 'fail', 'came_since'],
  ['unentered', UNKNOWN, 'fail', 'fail', 'left_alone'],
  ['unentered', UNKNOWN, 'fail', 'keep', 'left_alone'],
  ['entered', 'mapped', 'fail', 'fail', null],
  ['entered', MISSING, 'fail', 'fail', 'kept'],
  ['entered', MISSING, 'keep', 'fail', 'kept'],
  ['entered', MISSING, 'null', 'fail', 'emptied'],
  ['entered', UNKNOWN, 'fail', 'keep', 'left_alone'],
  ...(['open', 'unentered', 'entered'] as const).flatMap((state) =>
    ['empty', 'not_ours'].map((name) => [state, name, 'fail', 'fail', null] as const),
  ),
].map((row) => row as [CellState, string, Policy['missing'], Policy['unknown'], LeftKind | null]);

describe('what is left of a value', () => {
  it.each(KINDS)('%s, %s, --missing %s, --unknown %s: %s', (state, category, missing, unknown, kind) => {
    expect(kindOf(state, category, { missing, unknown })).toBe(kind);
  });
});

/** kind → the options under which it does not fail a run. */
const ACCEPTED: Readonly<Record<LeftKind, readonly Partial<Policy>[]>> = {
  undecided: [],
  emptied: [{}],
  kept: [{ missing: 'keep' }, { missing: 'null' }, { others: 'keep' }],
  left_alone: [{ unknown: 'keep' }, { others: 'keep' }],
  came_since: [{ others: 'keep' }],
  changed_since: [{ others: 'keep' }],
};
const OPTIONS: readonly Partial<Policy>[] = [
  {},
  { missing: 'keep' },
  { missing: 'null' },
  { unknown: 'keep' },
  { others: 'keep' },
];

describe('what may be left without failing a run', () => {
  it.each(Object.entries(ACCEPTED))('%s: %j', (name, accepted) => {
    const kind = name as LeftKind;
    const found = OPTIONS.filter((option) => isAccepted(kind, { ...IN_PLACE, ...option }));
    const isAlways = accepted.some((option) => Object.keys(option).length === 0);
    expect(found).toEqual(isAlways ? OPTIONS : accepted);
  });
});

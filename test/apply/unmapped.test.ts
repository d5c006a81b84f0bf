import { describe, expect, it } from 'vitest';
import type { Policy, UnmappedKind } from '../../src/apply/plan.js';
import { type CellState, classifyUnmapped, isAccepted } from '../../src/apply/unmapped.js';
import { IN_PLACE } from './support/remap.js';

const MISSING = 'unmatched/unexplained';
const UNKNOWN = 'unknown/not_in_remap';

/** state, category, --missing, --unknown → kind */
const KINDS: readonly [CellState, string, Policy['missing'], Policy['unknown'], UnmappedKind | null][] = [
  ['pending', 'mapped', 'fail', 'fail', null],
  ['pending', MISSING, 'fail', 'fail', 'undecided'],
  ['pending', MISSING, 'keep', 'fail', 'kept'],
  ['pending', MISSING, 'null', 'fail', 'emptied'],
  ['pending', UNKNOWN, 'fail', 'fail', 'undecided'],
  ['pending', UNKNOWN, 'fail', 'keep', 'left_alone'],
  ['not_in_ledger', 'mapped', 'fail', 'fail', 'came_since'],
  ['not_in_ledger', MISSING, 'fail', 'fail', 'kept'],
  ['not_in_ledger', MISSING, 'keep', 'fail', 'kept'],
  ['not_in_ledger', MISSING, 'null', 'fail', 'came_since'],
  ['not_in_ledger', UNKNOWN, 'fail', 'fail', 'left_alone'],
  ['not_in_ledger', UNKNOWN, 'fail', 'keep', 'left_alone'],
  ['in_ledger', 'mapped', 'fail', 'fail', null],
  ['in_ledger', MISSING, 'fail', 'fail', 'kept'],
  ['in_ledger', MISSING, 'keep', 'fail', 'kept'],
  ['in_ledger', MISSING, 'null', 'fail', 'emptied'],
  ['in_ledger', UNKNOWN, 'fail', 'keep', 'left_alone'],
  ...(['pending', 'not_in_ledger', 'in_ledger'] as const).flatMap((state) =>
    ['empty', 'not_ours'].map((name) => [state, name, 'fail', 'fail', null] as const),
  ),
].map((row) => row as [CellState, string, Policy['missing'], Policy['unknown'], UnmappedKind | null]);

describe('what is left of a value', () => {
  it.each(KINDS)('%s, %s, --missing %s, --unknown %s: %s', (state, category, missing, unknown, kind) => {
    expect(classifyUnmapped(state, category, { missing, unknown })).toBe(kind);
  });
});

/** kind → the options under which it does not fail a run. */
const ACCEPTED: Readonly<Record<UnmappedKind, readonly Partial<Policy>[]>> = {
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
    const kind = name as UnmappedKind;
    const found = OPTIONS.filter((option) => isAccepted(kind, { ...IN_PLACE, ...option }));
    const isAlways = accepted.some((option) => Object.keys(option).length === 0);
    expect(found).toEqual(isAlways ? OPTIONS : accepted);
  });
});

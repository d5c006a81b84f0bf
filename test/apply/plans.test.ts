import { describe, expect, it } from 'vitest';
import { comparePlans, judgeColumns } from '../../src/apply/judge-plan.js';
import {
  DEFAULT_POLICY,
  NO_EARLIER,
  type Plan,
  type PlanCount,
  type Policy,
  type TargetPlan,
  type UnmappedKind,
} from '../../src/apply/plan.js';
import { renderUnmapped } from '../../src/apply/render.js';
import { type CellState, classifyUnmapped, isAccepted } from '../../src/apply/unmapped.js';
import { IN_PLACE } from './support/remap.js';

const column = {
  column: 'id',
  model: 'accounting/invoices',
  newColumn: null,
  counts: [],
  left: [],
  digest: 'a',
};

function target(name: string, changes: Partial<TargetPlan> = {}): TargetPlan {
  const definition = {
    name,
    kind: 'ndjson',
    file: '/x',
    ids: [{ column: '$.id', model: column.model }],
  } as const;
  const base = { name, kind: 'ndjson', place: '/x', definition: { ...definition, ids: [...definition.ids] } };
  const found = {
    output: null,
    rows: 3,
    columns: [column],
    earlier: NO_EARLIER,
    notes: [],
    fingerprint: 'f',
  };
  return { ...base, ...found, changes: 3, ...changes };
}

function planOf(...targets: readonly TargetPlan[]): Plan {
  return { planVersion: 4, tool: 't', remap: { sha256: 's', builtAt: 'b' }, policy: DEFAULT_POLICY, targets };
}

it.each([
  ['the number of changes', planOf(target('a', { changes: 9 })), []],
  [
    'a digest',
    planOf(target('a', { columns: [{ ...column, digest: 'b' }] })),
    ['targets › a › columns › id › digest: was "a", is "b"'],
  ],
  [
    'the rows of another target',
    planOf(target('a'), target('samples', { rows: 4 })),
    ['targets › samples › rows: was 3, is 4'],
  ],
])('plans are compared, in %s', (_, now, differences) => {
  const agreed = now.targets.length === 1 ? planOf(target('a')) : planOf(target('a'), target('samples'));
  expect(comparePlans(agreed, now)).toEqual(differences);
});

it('a plan is compared note by note, also where two have one code', () => {
  const note = (text: string) => ({ level: 'warning', code: 'same', text }) as const;
  const [agreed, now] = [
    [note('1'), note('2')],
    [note('3'), note('2')],
  ].map((notes) => planOf(target('a', { notes })));
  expect(comparePlans(agreed ?? planOf(), now ?? planOf())).toEqual([
    'targets › a › notes › same › text: was "1", is "3"',
  ]);
});

function judge(ids: Readonly<Record<string, number>>): string[] {
  const counts = Object.entries(ids).map(([name, n]): PlanCount => {
    return { name, rows: n, ids: n, atLeast: false, samples: [] };
  });
  const column = { column: 'id', model: 'm', newColumn: null, counts, left: [], digest: '' };
  return judgeColumns({ columns: [column] }, IN_PLACE).map(({ text }) => text);
}

describe('what a plan says of ids that do not map', () => {
  it.each([
    [{ mapped: 5 }, []],
    [{ 'unmatched/unexplained': 1 }, ['id: 1 id has no certain V4 id (--missing keep or null allows them).']],
    [
      { 'deleted/deleted_in_v4': 1, 'deleted/parent_deleted_in_both': 1 },
      [
        'id: 2 ids are of deleted records that have a V4 id (--map-deleted maps those of deleted records; --missing keep or null allows them).',
      ],
    ],
    [
      { 'deleted/deleted_not_in_v4': 2, 'deleted/deleted_in_v3': 1 },
      [
        'id: 2 ids have no certain V4 id, 1 id is of deleted records that have a V4 id (--map-deleted maps those of deleted records; --missing keep or null allows them).',
      ],
    ],
    [
      { 'unknown/not_in_remap': 2 },
      ['id: 2 values are not V3 ids of this model (--unknown keep allows them).'],
    ],
    [
      { 'unknown/several_scopes': 3, 'unknown/hex': 1 },
      [
        'id: 3 values are V3 ids of several regions or companies (name the column that tells them apart as regionColumn or companyColumn in its entry of ids).',
        'id: 1 value is not a V3 id of this model (--unknown keep allows them).',
      ],
    ],
  ])('%j', (counts, said) => {
    expect(judge(counts as Readonly<Record<string, number>>)).toEqual(said);
  });
});

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

it('a run lists what is left over in four lines: first what is not accepted, then what is most', () => {
  const left = [3, 40, 5, 60, 7].map((cells) => ({
    ...({ target: 'orders', column: 'id', kind: 'kept', reason: 'unmatched/unexplained' } as const),
    ...{ cells, isAccepted: cells !== 3 },
  }));
  const cellsOf = (isVerbose: boolean) =>
    [...renderUnmapped(left, { width: 200, isVerbose }).matchAll(/(\d+) (?:cells|more)/g)].map(
      ([all]) => all,
    );
  expect(cellsOf(false)).toEqual(['3 cells', '60 cells', '40 cells', '2 more']);
  expect(cellsOf(true)).toHaveLength(5);
});

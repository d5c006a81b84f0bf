import { expect, it } from 'vitest';
import { comparePlans } from '../../src/apply/judge-plan.js';
import { DEFAULT_POLICY, NO_EARLIER, type Plan, type TargetPlan } from '../../src/apply/plan.js';

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

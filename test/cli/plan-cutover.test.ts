import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CutoverFacts,
  FLIP_ANSWERS,
  type FlipAnswer,
  type FlipKind,
  planCutover,
  type StepAction,
} from '../../src/commands/plan-cutover.js';
import { CUTOVER_STEPS, type CutoverStep } from '../../src/store/cutover-state.js';

/** One letter a step, in their order: what is stored of it. */
const STATES = { '.': undefined, r: 'running', d: 'done', f: 'failed' } as const;
/** One letter a step: what it does now. */
const LETTERS: Readonly<Record<StepAction, string>> = {
  run: 'R',
  resume: 'C',
  again: 'A',
  keep: 'k',
  skip: '-',
  settle: 'S',
  ask: '?',
};

interface Case {
  /** Export V3, export V4, remap, check, apply, its verification, pairs, flip, recheck. */
  readonly stored: string;
  readonly outdated?: readonly CutoverStep[];
  readonly skipped?: readonly CutoverStep[];
  readonly flip?: FlipKind;
  readonly flipAnswer?: FlipAnswer;
  readonly restart?: true;
}

function factsOf({
  stored,
  outdated = [],
  skipped = [],
  flip = 'exec',
  flipAnswer,
  restart,
}: Case): CutoverFacts {
  const steps = CUTOVER_STEPS.flatMap((name, at) => {
    const state = STATES[(stored[at] ?? '.') as keyof typeof STATES];
    return state === undefined ? [] : [[name, { state }] as const];
  });
  const because = (names: readonly CutoverStep[]) =>
    Object.fromEntries(names.map((name) => [name, 'why'] as const));
  return {
    steps: Object.fromEntries(steps),
    skipped: because(skipped),
    outdated: because(outdated),
    isSameFlag: flip === 'flag',
    flipAnswer: flipAnswer ?? null,
    restart: restart ?? false,
  };
}

function lettersOf(facts: CutoverFacts): string {
  const { steps, refusal } = planCutover(facts);
  return refusal === null ? steps.map(({ action }) => LETTERS[action]).join('') : 'refused';
}

const NO_TARGETS = ['apply', 'verify_targets', 'verify_pairs'] as const;

const CASES: readonly (readonly [what: string, given: Case, expected: string])[] = [
  ['nothing begun', { stored: '.........' }, 'RRRRRRRRR'],
  ['nothing begun, no targets', { stored: '.........', skipped: NO_TARGETS }, 'RRRR---RR'],
  // A step that was running when the process died, one after the other.
  ['killed in export v3', { stored: 'r........' }, 'CRRRRRRRR'],
  ['killed in export v4', { stored: 'dr.......' }, 'kCRRRRRRR'],
  ['killed in remap', { stored: 'ddr......' }, 'kkCRRRRRR'],
  ['killed in check', { stored: 'dddr.....' }, 'kkkCRRRRR'],
  ['killed in apply', { stored: 'ddddr....' }, 'kkkkCRRRR'],
  ['killed in its verification', { stored: 'dddddr...' }, 'kkkkkCRRR'],
  ['killed in verify', { stored: 'ddddddr..' }, 'kkkkkkCRR'],
  ['killed in the hook', { stored: 'dddddddr.' }, 'kkkkkkk?R'],
  ['killed while it wrote the flag', { stored: 'dddddddr.', flip: 'flag' }, 'kkkkkkkAR'],
  ['waiting for a flip by hand', { stored: 'dddddddr.', flip: 'hand' }, 'kkkkkkk?R'],
  ['killed in recheck', { stored: 'ddddddddr' }, 'kkkkkkkkC'],
  ['finished', { stored: 'ddddddddd' }, 'kkkkkkkkk'],
  // A step that failed.
  ['export v3 failed', { stored: 'f........' }, 'ARRRRRRRR'],
  ['the gate is red', { stored: 'dddf.....' }, 'kkkARRRRR'],
  ['apply failed', { stored: 'ddddf....' }, 'kkkkARRRR'],
  ['the hook failed', { stored: 'dddddddf.' }, 'kkkkkkk?R'],
  ['recheck failed', { stored: 'ddddddddf' }, 'kkkkkkkkA'],
  // What a step that is done depended on has changed.
  ['lists were started anew', { stored: 'dddd.....', outdated: ['export_v4'] }, 'kAAARRRRR'],
  ['decisions.csv changed', { stored: 'dddf.....', outdated: ['remap'] }, 'kkAARRRRR'],
  ['another remap was built', { stored: 'ddddd....', outdated: ['check'] }, 'kkkAARRRR'],
  ['rows may have come', { stored: 'ddddddd..', outdated: ['apply'] }, 'kkkkAAkRR'],
  ['another sample', { stored: 'ddddddd..', outdated: ['verify_pairs'] }, 'kkkkkkARR'],
  ['changed before, killed later', { stored: 'dddddr...', outdated: ['remap'] }, 'kkAAACRRR'],
  ['targets were taken out', { stored: 'ddddd....', skipped: NO_TARGETS }, 'kkkk---RR'],
  // Once the flip has begun, nothing before it is repeated.
  ['all changed after the flip', { stored: 'ddddddddr', outdated: [...CUTOVER_STEPS] }, 'kkkkkkkkC'],
  ['all changed, hook failed', { stored: 'dddddddf.', outdated: [...CUTOVER_STEPS] }, 'kkkkkkk?R'],
  ['flipped without targets', { stored: 'dddd...dr', skipped: NO_TARGETS }, 'kkkk---kC'],
  ['targets were added after the flip', { stored: 'dddd...dr' }, 'kkkk---kC'],
  // What the user says of the flip.
  ['run the hook again', { stored: 'dddddddr.', flipAnswer: 'again' }, 'kkkkkkkAR'],
  ['run the failed hook again', { stored: 'dddddddf.', flipAnswer: 'again' }, 'kkkkkkkAR'],
  ['the hook had finished', { stored: 'dddddddr.', flipAnswer: 'done' }, 'kkkkkkkSR'],
  ['flipped by hand', { stored: 'dddddddr.', flipAnswer: 'done', flip: 'hand' }, 'kkkkkkkSR'],
  ['done, said twice', { stored: 'ddddddddf', flipAnswer: 'done' }, 'kkkkkkkkA'],
  ['taken back', { stored: 'dddddddf.', flipAnswer: 'undone' }, 'kkkkkkkRR'],
  ['taken back, rows came', { stored: 'ddddddddd', flipAnswer: 'undone', outdated: ['apply'] }, 'kkkkAAkRR'],
  ['taken back, said twice', { stored: 'dddf.....', flipAnswer: 'undone' }, 'kkkARRRRR'],
  ['again, but it is done', { stored: 'dddddddd.', flipAnswer: 'again' }, 'refused'],
  ['again, but none was started', { stored: 'ddddd....', flipAnswer: 'again' }, 'refused'],
  ['done, but none was started', { stored: 'ddddd....', flipAnswer: 'done' }, 'refused'],
  // Beginning anew.
  ['restart', { stored: 'dddf.....', restart: true }, 'RRRRRRRRR'],
  ['restart, nothing begun', { stored: '.........', restart: true }, 'RRRRRRRRR'],
  ['restart in the hook', { stored: 'dddddddr.', restart: true }, 'refused'],
  ['restart after the flip', { stored: 'ddddddddd', restart: true }, 'refused'],
  ['restart, taken back', { stored: 'ddddddddd', restart: true, flipAnswer: 'undone' }, 'RRRRRRRRR'],
  ['restart and done', { stored: 'dddddddr.', restart: true, flipAnswer: 'done' }, 'refused'],
  ['restart and again', { stored: 'dd.......', restart: true, flipAnswer: 'again' }, 'refused'],
];

describe('what a cutover does next', () => {
  it.each(CASES)('%s', (_, given, expected) => {
    expect(lettersOf(factsOf(given))).toBe(expected);
  });
});

/** Every step before the first that is started is done, as in any cutover that was really carried out. */
const anyStored = fc
  .tuple(fc.nat(CUTOVER_STEPS.length), fc.constantFrom('r', 'd', 'f'))
  .map(([n, last]) => `${'d'.repeat(n)}${last}`.slice(0, CUTOVER_STEPS.length).padEnd(9, '.'));
const anyCase: fc.Arbitrary<Case> = fc.record({
  stored: anyStored,
  outdated: fc.subarray([...CUTOVER_STEPS]),
  flip: fc.constantFrom<FlipKind[]>('exec', 'flag', 'hand'),
  ...{ flipAnswer: fc.option(fc.constantFrom<FlipAnswer[]>(...FLIP_ANSWERS), { nil: undefined }) },
  restart: fc.constantFrom(true as const, undefined),
}) as fc.Arbitrary<Case>;

describe('whatever is stored and said', () => {
  it('nothing before the flip is repeated once it was started, unless the user says that it was taken back', () => {
    fc.assert(
      fc.property(anyCase, (given) => {
        const letters = lettersOf(factsOf(given));
        if (given.stored[7] === '.' || given.flipAnswer === 'undone' || letters === 'refused') return;
        expect(letters.slice(0, 7)).toMatch(/^[k-]+$/);
        expect([letters[7], given.flip === 'exec' && given.flipAnswer === undefined]).not.toEqual([
          'A',
          true,
        ]);
      }),
    );
  });

  it('no step is kept behind one that it depends on and that is repeated', () => {
    fc.assert(
      fc.property(anyCase, (given) => {
        const letters = lettersOf(factsOf(given));
        if (letters === 'refused' || (given.stored[7] !== '.' && given.flipAnswer !== 'undone')) return;
        const chain = [0, 2, 3, 4, 5].map((at) => letters[at]).join('');
        expect(chain).toMatch(/^k*[RCA]*$/);
        expect(letters.slice(7)).toBe('RR');
      }),
    );
  });
});

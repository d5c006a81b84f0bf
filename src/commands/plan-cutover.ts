import { CUTOVER_STEPS, type CutoverStep, type CutoverStepState } from '../store/cutover-state.js';

/** Values of `--flip`, which tell what the user knows of a flip that was started: run it again, it is done, it was undone. */
export const FLIP_ANSWERS = ['again', 'done', 'undone'] as const;
export type FlipAnswer = (typeof FLIP_ANSWERS)[number];

/** How the application is flipped: by a program, by a file it looks for, or by a person. */
export type FlipKind = 'exec' | 'flag' | 'hand';

/** What decides which steps of a cutover will be run. */
export interface CutoverFacts {
  /** Steps that were started. */
  readonly steps: Readonly<Partial<Record<CutoverStep, Pick<CutoverStepState, 'state'>>>>;
  /** Steps that this cutover does not have, and why. */
  readonly skipped: Readonly<Partial<Record<CutoverStep, string>>>;
  /** Steps that must be repeated although they are done, and what changed. */
  readonly outdated: Readonly<Partial<Record<CutoverStep, string>>>;
  /** Whether the flip was started with the `--flag` that is given now: the file tells whether it is done. */
  readonly isSameFlag: boolean;
  readonly flipAnswer: FlipAnswer | null;
  readonly restart: boolean;
}

/**
 * `run`: for the first time. `resume`: it was interrupted. `again`: it failed, or what it depends on changed. `keep`: it
 * is done. `settle`: the user says that it is done. `ask`: only the user knows whether it is.
 */
export type StepAction = 'run' | 'resume' | 'again' | 'keep' | 'skip' | 'settle' | 'ask';

/** One step of a cutover, and what to do with it. */
export interface PlannedStep {
  readonly name: CutoverStep;
  readonly action: StepAction;
  /** Why, where the action alone does not say it. */
  readonly because: string | null;
}

export interface CutoverPlan {
  readonly steps: readonly PlannedStep[];
  /** Why the options do not go with the state of the cutover; null if they do. */
  readonly refusal: { readonly sentence: string; readonly hint: string } | null;
}

/** The steps whose repetition makes a step necessary again. `flip` never is: it is repeated only if the user says so. */
const DEPENDS_ON: Readonly<Partial<Record<CutoverStep, readonly CutoverStep[]>>> = {
  remap: ['export_v3', 'export_v4'],
  check: ['remap'],
  apply: ['check'],
  verify_targets: ['apply'],
  verify_pairs: ['remap'],
};

/**
 * Decides what each step of a cutover does now. Once the flip has begun, the steps before it are never repeated: the
 * application may write V4 ids by then, which `apply --again` would take for V3 ids.
 */
export function planCutover(facts: CutoverFacts): CutoverPlan {
  const isBegun = facts.steps.flip !== undefined && facts.flipAnswer !== 'undone';
  const refusal = findRefusal(facts, isBegun);
  if (isBegun && !(facts.restart && refusal === null)) return { refusal, steps: planAfterFlip(facts) };
  const { flip: _flip, recheck: _recheck, ...before } = facts.steps;
  return { refusal, steps: planBeforeFlip({ ...facts, steps: facts.restart ? {} : before }) };
}

function findRefusal({ steps, flipAnswer, restart }: CutoverFacts, isBegun: boolean): CutoverPlan['refusal'] {
  const isDone = steps.flip?.state === 'done' && steps.recheck?.state === 'done';
  if (restart && isBegun) {
    return {
      sentence: `The flip of the last cutover ${steps.flip?.state === 'done' ? 'is done' : 'was started'}: the application may write V4 ids, which a new cutover would take for V3 ids.`,
      hint: 'If the application is back on V3 ids, add --flip undone.',
    };
  }
  if (flipAnswer === null || flipAnswer === 'undone') return null;
  if (steps.flip === undefined || restart) {
    return {
      sentence: `--flip ${flipAnswer} is about a flip that was started; none was.`,
      hint: 'Leave it out.',
    };
  }
  if (flipAnswer === 'done' || steps.flip.state !== 'done') return null;
  return {
    sentence: 'The flip is done already, so it is not run again.',
    hint: isDone
      ? 'The cutover is finished.'
      : 'Leave out --flip to go on, or say --flip undone if it was taken back.',
  };
}

function planBeforeFlip({ steps, skipped, outdated }: CutoverFacts): PlannedStep[] {
  const repeated = new Set<CutoverStep>();
  return CUTOVER_STEPS.map((name) => {
    const plan = (action: StepAction, because: string | null = null): PlannedStep => {
      if (action !== 'keep' && action !== 'skip') repeated.add(name);
      return { name, action, because };
    };
    const why = skipped[name];
    if (why !== undefined) return plan('skip', why);
    const { action, because } = actionOf(steps[name]?.state);
    if (action !== 'keep') return plan(action, because);
    const cause = DEPENDS_ON[name]?.find((other) => repeated.has(other));
    if (cause !== undefined) return plan('again', `step ${numberOf(cause)} is repeated`);
    const change = outdated[name];
    return change === undefined ? plan('keep') : plan('again', change);
  });
}

/** What to do with a step by its stored state alone. */
function actionOf(state: CutoverStepState['state'] | undefined): Omit<PlannedStep, 'name'> {
  if (state === undefined) return { action: 'run', because: null };
  if (state === 'running') return { action: 'resume', because: 'it was interrupted' };
  if (state === 'failed') return { action: 'again', because: 'it failed' };
  return { action: 'keep', because: null };
}

function planAfterFlip(facts: CutoverFacts): PlannedStep[] {
  const { steps, skipped } = facts;
  const flip = planFlip(facts);
  return CUTOVER_STEPS.map((name): PlannedStep => {
    if (name === 'flip') return flip;
    if (name === 'recheck')
      return { name, ...actionOf(flip.action === 'keep' ? steps[name]?.state : undefined) };
    const why = steps[name] === undefined ? (skipped[name] ?? 'as before the flip') : null;
    return { name, action: why === null ? 'keep' : 'skip', because: why };
  });
}

function planFlip({ steps, isSameFlag, flipAnswer }: CutoverFacts): PlannedStep {
  const name = 'flip';
  const state = steps.flip?.state;
  if (state === 'done') return { name, action: 'keep', because: null };
  if (flipAnswer === 'done') return { name, action: 'settle', because: 'you reported it done' };
  if (flipAnswer === 'again' || isSameFlag)
    return { name, action: 'again', because: flipAnswer === null ? 'it was interrupted' : null };
  const because = state === 'failed' ? 'it failed' : 'it is not known whether it was finished';
  return { name, action: 'ask', because };
}

/** The number of a step, from 1. */
export function numberOf(step: CutoverStep): number {
  return CUTOVER_STEPS.indexOf(step) + 1;
}

/** Whether the step will be run. */
export function isToDo({ action }: PlannedStep): boolean {
  return action !== 'keep' && action !== 'skip';
}

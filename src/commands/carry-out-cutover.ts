import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { runName } from '../apply/write-plan.js';
import { SvcError } from '../errors.js';
import { realPath } from '../runtime/output-targets.js';
import { throwIfInterrupted } from '../runtime/pause.js';
import { onFile } from '../runtime/write-output.js';
import { type Cutover, type CutoverStep, type CutoverStepState, saveCutover } from '../store/cutover.js';
import { takeLock } from '../store/open.js';
import type { Given } from './command.js';
import { resumeCommand } from './cutover-options.js';
import {
  assertJudged,
  findAfterwards,
  findWayBack,
  STEP_WORK,
  type StepOutcome,
  type StepTask,
} from './cutover-steps.js';
import { withDatabase, withLockOwner, withOwnerNote } from './database.js';
import { type CutoverPlan, isToDo, type PlannedStep } from './plan-cutover.js';
import {
  ASK,
  type CutoverResult,
  type CutoverStop,
  describeBegin,
  describeKept,
  describeOutcome,
} from './render-cutover.js';
import { exitCodeAfter } from './with-outputs.js';

/** A call of `cutover`. */
export interface CutoverScene extends Omit<StepTask, 'cutover'> {
  /** Shows what is done. */
  readonly say: (lines: readonly string[]) => Promise<void>;
}

/** The stored cutover, null if none was begun, and what is to be done. */
export interface CutoverStanding {
  readonly cutover: Cutover | null;
  readonly plan: CutoverPlan;
}

/**
 * Carries out the steps of a cutover, up to the first that fails. No other cutover of the database runs meanwhile; each
 * step locks the database itself, as its command does.
 *
 * @throws SvcError `locked`, `usage` if only the user knows whether the flip is done, and as `readStanding` does
 */
export async function carryOut(
  scene: CutoverScene,
  readStanding: () => Promise<CutoverStanding>,
): Promise<CutoverResult> {
  const { config, io } = scene;
  const file = `${realPath(config.database)}-cutover`;
  const lock = withLockOwner(file, () => takeLock(file));
  try {
    const hold = { file, command: 'cutover', nowMs: io.clock.now() };
    return await withOwnerNote(hold, async () => doSteps(scene, await readStanding()));
  } finally {
    lock.close();
  }
}

async function doSteps(
  scene: CutoverScene,
  { cutover: stored, plan }: CutoverStanding,
): Promise<CutoverResult> {
  const { given, options, io, say } = scene;
  if (plan.steps.some(({ action }) => action === 'ask')) {
    throw new SvcError(
      'usage',
      'The flip was begun, and it is not known whether the application is flipped.',
      {
        hint: ASK,
      },
    );
  }
  const state = new CutoverFile(
    stored === null || options.restart ? newCutover(io.clock.now()) : stored,
    scene,
  );
  if (options.word === 'undone') {
    await state.saveStep('recheck', undefined);
    await state.saveStep('flip', undefined);
  }
  // A report of an earlier cutover must not survive where this one fails before it.
  if (plan.steps.some((step) => step.name === 'check' && isToDo(step)))
    onFile(options.report, () => rmSync(options.report, { force: true }));
  let stop: CutoverStop | null = null;
  for (const step of plan.steps) {
    if (isToDo(step)) stop = await doStep(step, state, scene);
    else await say(describeKept(step, state.now));
    if (stop !== null) break;
  }
  const resume = resumeCommand(given, '--yes');
  const next = stop === null ? await findAfterwards(scene) : nextOfStop(stop, given, resume);
  const undo = await findWayBack(scene, state.now);
  const ended = { exitCode: stop?.outcome.exitCode ?? 0, applyPlan: null, undo, next, resume };
  return { plan, options, cutover: state.now, stop, ...ended };
}

function newCutover(nowMs: number): Cutover {
  const id = runName(nowMs, randomBytes(2).toString('hex'));
  const startedAt = new Date(nowMs).toISOString();
  return {
    version: 1,
    id,
    startedAt,
    steps: {},
    judged: null,
    verified: null,
    report: null,
    flag: null,
    runs: [],
  };
}

/** The state of the cutover, which is stored at each change. */
class CutoverFile {
  now: Cutover;
  readonly #scene: CutoverScene;

  constructor(now: Cutover, scene: CutoverScene) {
    this.now = now;
    this.#scene = scene;
  }

  async saveStep(
    name: CutoverStep,
    step: CutoverStepState | undefined,
    more: Partial<Cutover> = {},
  ): Promise<void> {
    const { [name]: _, ...others } = this.now.steps;
    this.now = { ...this.now, ...more, steps: step === undefined ? others : { ...others, [name]: step } };
    const { config, io } = this.#scene;
    const hold = {
      file: config.database,
      mode: 'create',
      command: 'cutover',
      nowMs: io.clock.now(),
    } as const;
    await withDatabase(hold, async (db) => saveCutover(db, this.now));
  }
}

/** Does one step and stores what came of it; returns why the cutover stops here, or null. */
async function doStep(
  step: PlannedStep,
  state: CutoverFile,
  scene: CutoverScene,
): Promise<CutoverStop | null> {
  const { name } = step;
  const { io, say } = scene;
  const startedMs = io.clock.now();
  const timeOf = (ms: number) => new Date(ms).toISOString();
  const before = state.now.steps[name];
  const begun = {
    state: 'running',
    startedAt: timeOf(startedMs),
    endedAt: null,
    exitCode: null,
    note: '',
  } as const;
  let outcome = await attempt(step, scene, state, begun);
  const { exitCode, note, saved, left } = outcome;
  const ended = { endedAt: timeOf(io.clock.now()), exitCode, note };
  const isDone = exitCode === 0;
  try {
    if (left === 'not_begun') await state.saveStep(name, before);
    if (left === undefined)
      await state.saveStep(name, { ...begun, state: isDone ? 'done' : 'failed', ...ended }, saved);
  } catch (error) {
    // What the step did must be said all the same: the application may be flipped.
    if (!(error instanceof SvcError)) throw error;
    const unsaved = `${note}. This could not be stored: ${error.message}`;
    outcome = { ...outcome, exitCode: isDone ? error.exitCode : exitCode, note: unsaved };
  }
  if (left !== 'interrupted') await say(describeOutcome(outcome, io.clock.now() - startedMs));
  return outcome.exitCode === 0 ? null : { step: name, outcome };
}

async function attempt(
  step: PlannedStep,
  scene: CutoverScene,
  state: CutoverFile,
  begun: CutoverStepState,
): Promise<StepOutcome> {
  const { name, action } = step;
  try {
    await throwIfInterrupted(scene.io.signal);
    await scene.say([describeBegin(step, scene.options)]);
    if (action === 'settle') return { exitCode: 0, note: 'done, as you say' };
    const task = { ...scene, cutover: state.now };
    if (name === 'apply' || (name === 'flip' && action === 'run')) await assertJudged(task);
    const { flip, flipPlace } = scene.options;
    const flag = flip === 'flag' ? flipPlace : null;
    await state.saveStep(name, begun, name === 'flip' ? { flag } : {});
    return await STEP_WORK[name](task);
  } catch (error) {
    if (!(error instanceof SvcError) || error.code === 'internal') throw error;
    const { message, hint, code } = error;
    // A flip throws before it has begun, unless it is interrupted.
    const left = code === 'interrupted' ? 'interrupted' : name === 'flip' ? 'not_begun' : null;
    return {
      exitCode: exitCodeAfter(error, scene.io.signal),
      note: message,
      ...(hint === undefined ? {} : { details: `→ ${hint}` }),
      ...(left === null ? {} : { left }),
    };
  }
}

function nextOfStop({ step, outcome: { next, left } }: CutoverStop, given: Given, resume: string): string {
  if (step !== 'flip' || left === 'not_begun') return next ?? resume;
  if (left === 'by_hand') return resumeCommand(given, '--yes', '--flip', 'done');
  // Without --yes: it shows what would be done, and changes nothing.
  return resumeCommand(given, '--flip', 'again');
}

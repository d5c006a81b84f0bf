import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { runName } from '../apply/write-plan.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { judgeAge, readAge } from '../report/gate.js';
import { realPath } from '../runtime/output-targets.js';
import { throwIfInterrupted } from '../runtime/pause.js';
import { onFile, writeText } from '../runtime/write-output.js';
import {
  type Cutover,
  type CutoverStep,
  type CutoverStepState,
  readCutover,
  saveCutover,
} from '../store/cutover-state.js';
import { type Db, takeLock } from '../store/open.js';
import { findOpenLists, isRemapStale, readReadiness } from '../store/readiness.js';
import { EVERYTHING } from '../store/remap-rows.js';
import { escapeLines } from '../text/escape.js';
import type { CommandLine, Io } from './command.js';
import { type CutoverOptions, parseCutoverOptions, resumeCommand } from './cutover-options.js';
import {
  applyNow,
  assertApplied,
  assertJudged,
  findCommandAfter,
  isOwnFlag,
  listUndoCommands,
  STEP_WORK,
  type StepOutcome,
  type StepTask,
} from './cutover-steps.js';
import { readDatabase, withDatabase, withLockOwner, withOwnerNote } from './database.js';
import { configWithMaxWait } from './option-values.js';
import { isToDo, type PlannedStep, planCutover } from './plan-cutover.js';
import {
  ASK,
  type CutoverResult,
  describeBegin,
  describeKept,
  describeOutcome,
  renderCutoverEnd,
  renderCutoverJson,
  renderSteps,
} from './render-cutover.js';
import { exitCodeAfter, withJson, writeResult } from './with-outputs.js';

interface CutoverContext extends Omit<StepTask, 'cutover'> {
  /** Shows what is done. */
  readonly print: (lines: readonly string[]) => Promise<void>;
}

/**
 * `cutover`: shows the steps of a cutover, or with `--yes` carries them out from the first that is not done. Exits with
 * 0 if all are done, otherwise with the code of the step that stopped it.
 */
export async function runCutover(given: CommandLine, io: Io): Promise<number> {
  return withJson(given, io, async (_, target, within) => {
    const config = await configWithMaxWait(given);
    const options = await parseCutoverOptions(given, config, within);
    const print: CutoverContext['print'] = async (lines) => {
      if (target !== '-') await writeText(within.stdout, [renderSteps(lines, within.width)]);
      else for (const text of lines) within.onProgress({ kind: 'note', level: 'info', text });
    };
    const context: CutoverContext = { given, config, options, io: within, print };
    const result = await (options.yes ? carryOut(context) : showPlan(context));
    const text = () => renderCutoverEnd(result, within);
    // A signal that stopped a step must not stop its result as well.
    const { signal } = new AbortController();
    await writeResult(target, { json: () => renderCutoverJson(result), text }, { ...within, signal });
    return result.exitCode;
  });
}

/** The stored cutover, null if none was started, and the plan of its steps. */
async function readPlan(context: CutoverContext): Promise<Pick<CutoverResult, 'cutover' | 'plan'>> {
  const { config, options, io } = context;
  const { flip, flipPlace: file, flipAnswer, restart } = options;
  const { cutover, outdated } = existsSync(config.database)
    ? await readDatabase(config, async (db) => readOutdated(db, config, options, io.clock.now()))
    : { cutover: null, outdated: {} };
  const noTargets = 'no targets are configured';
  const skipped = {
    ...(config.apply.targets.length > 0 ? {} : { apply: noTargets, verify_targets: noTargets }),
    ...(options.sample === null ? { verify_pairs: '--sample was not given' } : {}),
  };
  const isSameFlag = flip === 'flag' && cutover?.flag === file;
  const steps = cutover?.steps ?? {};
  const plan = planCutover({ steps, skipped, outdated, isSameFlag, flipAnswer, restart });
  if (plan.refusal !== null) throw new SvcError('usage', plan.refusal.sentence, { hint: plan.refusal.hint });
  const action = plan.steps.find(({ name }) => name === 'flip')?.action;
  // Before the flip, even its own flag is refused: the database was restored from a backup that is older than the flag.
  const isOwn = () => action === 'again' && isOwnFlag(file, cutover?.id ?? '');
  if (flip === 'flag' && (action === 'run' || action === 'again') && existsSync(file) && !isOwn())
    throw new SvcError('usage', `${file} exists already: the application may be flipped.`, {
      hint: 'Remove it, or name another file.',
    });
  if (cutover !== null && (action === 'again' || action === 'settle')) await assertApplied(context, cutover);
  return { cutover, plan };
}

/** The steps that must be repeated although they are done, and why. */
function readOutdated(db: Db, config: Config, { settings, report, sample }: CutoverOptions, nowMs: number) {
  const cutover = readCutover(db);
  const facts = readReadiness(db, config, EVERYTHING);
  const lists = facts.groups.filter(({ isCompanyList }) => !isCompanyList);
  const isOld = !judgeAge(readAge(lists, nowMs).ms, config.maxAgeMs).pass;
  const open = findOpenLists(facts);
  const isOpen = (generation: string) => isOld || open.some(({ next }) => next.endsWith(generation));
  const sha256 = facts.lastRun?.sha256 ?? '';
  // Rows may have been added whose records are newer than the exports.
  const isNew = cutover?.steps.apply?.exitCode === 1;
  const changes: readonly (readonly [CutoverStep, boolean, string])[] = [
    ['export_v3', isOpen('v3'), 'its data are incomplete or too old'],
    ['export_v4', isOpen('v4'), 'its data are incomplete or too old'],
    ['export_v3', isNew, 'apply found ids without a V4 id'],
    ['export_v4', isNew, 'apply found ids without a V4 id'],
    ['remap', sha256 === '' || isRemapStale(facts), 'the exported data or its input files changed'],
    ['check', cutover?.judged?.remap !== sha256, 'another remap was built'],
    ['check', cutover?.judged?.settings !== settings, 'the limits changed'],
    ['check', cutover?.report !== report || !existsSync(report), 'its report is missing'],
    ['apply', true, 'rows may have been added since'],
    ['verify_pairs', cutover?.verified !== `${sha256} ${sample}`, 'other pairs are to be read'],
  ];
  const outdated: Partial<Record<CutoverStep, string>> = {};
  for (const [step, isChanged, why] of changes) if (isChanged) outdated[step] ??= why;
  return { cutover, outdated };
}

async function showPlan(context: CutoverContext): Promise<CutoverResult> {
  const { given, options, print } = context;
  const { cutover, plan } = await readPlan(context);
  let planned: ApplyOutlook = { exitCode: 0, applyPlan: null, next: null };
  for (const step of plan.steps) {
    await print(isToDo(step) ? [describeBegin(step, options)] : describeKept(step, cutover));
    if (step.name === 'apply' && isToDo(step)) planned = await planApply(context);
  }
  const answer = options.flipAnswer === null ? [] : ['--flip', options.flipAnswer];
  const resume = resumeCommand(given, '--yes', ...answer, ...(options.restart ? ['--restart'] : []));
  const asks = plan.steps.some(({ action }) => action === 'ask');
  const ready = asks ? resumeCommand(given, '--flip', 'done') : resume;
  const next = planned.next ?? (plan.steps.some(isToDo) ? ready : await findCommandAfter(context));
  const undo = await listUndoCommands(context, cutover);
  return { plan, options, cutover, stop: null, undo, ...planned, next, resume };
}

type ApplyOutlook = Pick<CutoverResult, 'exitCode' | 'applyPlan'> & { readonly next: string | null };

async function planApply(context: CutoverContext): Promise<ApplyOutlook> {
  try {
    const { text, json, exitCode, next } = await applyNow(context, { yes: false, again: true });
    const lines = escapeLines(text).trimEnd().split('\n');
    await context.print(lines.map((line) => (line === '' ? '' : `     ${line}`)));
    return { exitCode, next: exitCode === 0 ? null : next, applyPlan: json };
  } catch (error) {
    if (!(error instanceof SvcError) || error.code === 'interrupted' || error.code === 'internal')
      throw error;
    await context.print([`     The plan is not known yet. ${error.message}`]);
    // The steps before it may still create what is missing.
    const isEarly = error.code === 'incomplete' || !existsSync(context.config.database);
    return { exitCode: isEarly ? 0 : error.exitCode, next: null, applyPlan: null };
  }
}

/**
 * Carries out the steps, up to the first that fails. No other cutover of the database runs meanwhile; each step locks
 * the database itself, as its command does.
 */
async function carryOut(context: CutoverContext): Promise<CutoverResult> {
  const file = `${realPath(context.config.database)}-cutover`;
  const lock = withLockOwner(file, () => takeLock(file));
  try {
    const hold = { file, command: 'cutover', nowMs: context.io.clock.now() };
    return await withOwnerNote(hold, () => doSteps(context));
  } finally {
    lock.close();
  }
}

async function doSteps(context: CutoverContext): Promise<CutoverResult> {
  const { cutover: stored, plan } = await readPlan(context);
  const { given, options, config, io, print } = context;
  if (plan.steps.some(({ action }) => action === 'ask'))
    throw new SvcError(
      'usage',
      'The flip was started, and it is not known whether the application is flipped.',
      { hint: ASK },
    );
  const begun = stored === null || options.restart ? newCutover(io.clock.now()) : stored;
  const state: State = {
    cutover: begun,
    save: async (name, step, more) => {
      const { [name]: _, ...others } = state.cutover.steps;
      const steps = step === undefined ? others : { ...others, [name]: step };
      state.cutover = { ...state.cutover, ...more, steps };
      const hold = { file: config.database, mode: 'create', command: 'cutover' } as const;
      await withDatabase({ ...hold, nowMs: io.clock.now() }, async (db) => saveCutover(db, state.cutover));
    },
  };
  if (options.flipAnswer === 'undone')
    for (const name of ['recheck', 'flip'] as const) await state.save(name);
  // A report of an earlier cutover must not survive where this one fails before it.
  if (plan.steps.some((step) => step.name === 'check' && isToDo(step)))
    onFile(options.report, () => rmSync(options.report, { force: true }));
  let stop: CutoverResult['stop'] = null;
  for (const step of plan.steps) {
    if (isToDo(step)) stop = await doStep(step, state, context);
    else await print(describeKept(step, state.cutover));
    if (stop !== null) break;
  }
  const resume = resumeCommand(given, '--yes');
  const next = stop === null ? await findCommandAfter(context) : nextOfStop(stop, given, resume);
  const undo = await listUndoCommands(context, state.cutover);
  const ended = { exitCode: stop?.outcome.exitCode ?? 0, applyPlan: null, undo, next, resume };
  return { plan, options, cutover: state.cutover, stop, ...ended };
}

function newCutover(nowMs: number): Cutover {
  const nothing = { steps: {}, judged: null, verified: null, report: null, flag: null, runs: [] };
  const id = runName(nowMs, randomBytes(2).toString('hex'));
  return { version: 1, id, startedAt: new Date(nowMs).toISOString(), ...nothing };
}

interface State {
  cutover: Cutover;
  /** Stores the state of a step (without `step`: removes it) and other changes of the cutover. */
  readonly save: (name: CutoverStep, step?: CutoverStepState, more?: Partial<Cutover>) => Promise<void>;
}

/** Runs one step and stores its result. Returns the step and its result if the cutover stops here, else null. */
async function doStep(
  step: PlannedStep,
  state: State,
  context: CutoverContext,
): Promise<CutoverResult['stop']> {
  const { name } = step;
  const { io, print } = context;
  const startedMs = io.clock.now();
  const before = state.cutover.steps[name];
  const startedAt = new Date(startedMs).toISOString();
  const begun = { state: 'running', startedAt, endedAt: null, exitCode: null, note: '' } as const;
  let outcome = await attempt(step, context, state, begun);
  const { exitCode, note, saved, unended } = outcome;
  const isDone = exitCode === 0;
  const ended = { endedAt: new Date(io.clock.now()).toISOString(), exitCode, note };
  try {
    if (unended === 'not_begun') await state.save(name, before);
    if (unended === undefined)
      await state.save(name, { ...begun, state: isDone ? 'done' : 'failed', ...ended }, saved);
  } catch (error) {
    // The result must be printed even if it cannot be stored: the application may be flipped.
    if (!(error instanceof SvcError)) throw error;
    const unsaved = `${note}. This could not be stored: ${error.message}`;
    outcome = { ...outcome, exitCode: isDone ? error.exitCode : exitCode, note: unsaved };
  }
  if (unended !== 'interrupted') await print(describeOutcome(outcome, io.clock.now() - startedMs));
  return outcome.exitCode === 0 ? null : { step: name, outcome };
}

async function attempt(
  step: PlannedStep,
  context: CutoverContext,
  state: State,
  begun: CutoverStepState,
): Promise<StepOutcome> {
  const { name, action } = step;
  const { options, io } = context;
  try {
    await throwIfInterrupted(io.signal);
    await context.print([describeBegin(step, options)]);
    if (action === 'settle') return { exitCode: 0, note: 'you reported it with --flip done' };
    const task = { ...context, cutover: state.cutover };
    if (name === 'apply' || (name === 'flip' && action === 'run'))
      await assertJudged(context.config, task.cutover.judged);
    const flag = options.flip === 'flag' ? options.flipPlace : null;
    await state.save(name, begun, name === 'flip' ? { flag } : {});
    return await STEP_WORK[name](task);
  } catch (error) {
    if (!(error instanceof SvcError) || error.code === 'internal') throw error;
    const { message, hint, code } = error;
    // A flip throws before it has begun, unless it is interrupted.
    const unended = code === 'interrupted' ? code : name === 'flip' ? 'not_begun' : undefined;
    const details = hint === undefined ? '' : `→ ${hint}`;
    return { exitCode: exitCodeAfter(error, io.signal), note: message, details, unended };
  }
}

function nextOfStop(
  { step, outcome: { next, unended } }: NonNullable<CutoverResult['stop']>,
  given: CommandLine,
  resume: string,
): string {
  if (step !== 'flip' || unended === 'not_begun') return next ?? resume;
  if (unended === 'by_hand') return resumeCommand(given, '--yes', '--flip', 'done');
  // Without --yes: it shows what would be done, and changes nothing.
  return resumeCommand(given, '--flip', 'again');
}

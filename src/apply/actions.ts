import { type ApplyTarget, MODEL_REF } from '../config/apply-targets.js';
import type { Outcome, ReportLimit } from '../domain.js';
import { SvcError } from '../errors.js';
import { sha256Of } from '../runtime/sha256.js';
import { shellLine } from '../text/escape.js';
import { wrapLines } from '../text/text-layout.js';
import type { ApplyContext, RunFacts, WriteResult } from './context.js';
import { isIdText } from './ids/model-ids.js';
import { comparePlans, isMissing, judgeCheck, judgePlan, type PlanVerdict } from './judge-plan.js';
import { type Plan, type Policy, renderPlan, type TargetPlan } from './plan.js';
import {
  describeIds,
  type PlanStyle,
  renderEnd,
  renderLeft,
  renderPlanText,
  renderUnmapped,
  renderUnmappedIds,
  renderWritten,
} from './render.js';
import { listRuns, type OpenStore, survey } from './stores.js';
import { type ColumnUnmapped, listUnmapped, type OnUnmapped } from './unmapped.js';

/** A command of `apply` that a result suggests. */
export type NextAction = 'plan' | 'write' | 'verify' | 'find' | 'undo' | 'runs';

/** The result of an apply action. */
export interface ApplyResult {
  readonly exitCode: number;
  /** For people. */
  readonly text: string;
  /** For programs. */
  readonly json: Readonly<Record<string, unknown>>;
  /** The suggested next step, usually a command. */
  readonly next: string;
  /** What `apply plan` made. */
  readonly plan?: Plan;
  /** Whether the plan cannot be carried out. */
  readonly isBlocked?: boolean;
}

/** The input of every action. */
export interface ApplyTask extends PlanStyle {
  readonly context: ApplyContext;
  readonly stores: readonly OpenStore[];
  readonly targets: readonly ApplyTarget[];
  /** Called for every value that is left without a V4 id. */
  readonly onUnmapped?: OnUnmapped;
  /** Formats a command line for these targets. `change`: differences to the policy of this one. */
  readonly formatCommand: (
    action: NextAction,
    change?: Partial<Policy>,
    ...words: readonly string[]
  ) => string;
}

/** Surveys the targets and reports what a write would do. `outcome`: what `check` says of the remap. */
export async function makePlan(task: ApplyTask, outcome: Outcome): Promise<ApplyResult> {
  const { width, formatCommand } = task;
  const plan = await surveyTargets(task);
  const verdict = judgePlan(plan);
  const left = listUnmapped(plan);
  const isDone = plan.targets.every(({ earlier, changes }) => earlier.state !== 'none' && changes === 0);
  const nextCommand = formatCommand(isDone ? 'verify' : 'write');
  return {
    exitCode: verdict.exitCode !== 0 ? verdict.exitCode : hasUnaccepted(left) ? 1 : 0,
    text: renderPlanText(plan, `${renderGate(outcome, width)}${renderVerdict(verdict, task)}`, task),
    json: { action: 'plan', gate: { outcome }, ...verdictJson(plan, verdict), left, targets: plan.targets },
    isBlocked: verdict.exitCode !== 0,
    next:
      verdict.exitCode === 0
        ? (nextOfUnmapped(left, plan, formatCommand) ?? nextCommand)
        : nextOfBlocks(verdict, plan, formatCommand),
    plan,
  };
}

function surveyTargets(task: ApplyTask, isAfterRun = false): Promise<Plan> {
  const { context, stores, targets, onUnmapped } = task;
  return survey(context, stores, targets, { isAfterRun, onUnmapped });
}

/** Checks whether the stored ids pass the gate. */
export async function checkIds(task: ApplyTask, age: ReportLimit): Promise<ApplyResult> {
  const { width, formatCommand } = task;
  const plan = await surveyTargets(task);
  const verdict = judgeCheck(plan, age);
  const isPass = verdict.exitCode === 0;
  const sentence = `${isPass ? 'PASS' : 'FAIL'}: ${describeIds(verdict.ids)}`;
  // Where nothing is left to write, the plan leads on to the verification.
  const next = formatCommand(verdict.ids.stored === 0 ? 'verify' : 'plan');
  return {
    exitCode: verdict.exitCode,
    text: `${renderUnmappedIds(plan, width)}${renderEnd(sentence, verdict.blocks, task)}`,
    json: { action: 'check', ...verdictJson(plan, verdict), left: listUnmapped(plan), targets: plan.targets },
    next: isPass ? next : nextOfBlocks(verdict, plan, formatCommand),
  };
}

/**
 * Carries out the agreed plan or, without one, a plan made now.
 *
 * @throws SvcError `bad_input` if the data changed since the plan, and as `writePlan` does
 */
export async function write(task: ApplyTask, agreed: Plan | null, newRun: string): Promise<ApplyResult> {
  const { context, stores, targets } = task;
  const now = await survey(context, stores, targets);
  const plan = agreed === null ? now : await confirmPlan(stores, agreed, now);
  const verdict = judgePlan(plan);
  if (verdict.exitCode !== 0) return describeBlocked('write', task, plan, verdict);
  const sha256 = planSha256(agreed ?? now);
  const run = (await findUnfinished(stores, plan, agreed === null ? null : sha256)) ?? newRun;
  const written = await writePlan(stores, plan, { run, planSha256: sha256, isExact: agreed !== null });
  return describeRun({ plan, verdict, written, after: await surveyAfterRun(task) }, task);
}

/** The result if a plan cannot be carried out. */
export async function describeBlocked(
  action: 'write' | 'sql',
  task: ApplyTask,
  plan: Plan,
  verdict: PlanVerdict,
): Promise<ApplyResult> {
  const { onUnmapped, formatCommand } = task;
  if (onUnmapped !== undefined) await surveyTargets(task);
  return {
    exitCode: verdict.exitCode,
    text: renderPlanText(plan, `Nothing was written.\n${renderVerdict(verdict, task)}`, task),
    json: { action, ...verdictJson(plan, verdict), left: listUnmapped(plan), written: [] },
    next: nextOfBlocks(verdict, plan, formatCommand),
  };
}

/** @throws SvcError if the targets cannot be read after the run, which is finished */
async function surveyAfterRun(task: ApplyTask): Promise<Plan> {
  try {
    return await surveyTargets(task, true);
  } catch (error) {
    if (!(error instanceof SvcError) || error.code === 'interrupted') throw error;
    const text = `The run is finished, but the ids left over could not be counted: ${error.message}`;
    throw new SvcError(error.code, text, {
      hint: 'Run the same command again: it counts what is left and rewrites nothing twice.',
      facts: error.facts,
      cause: error,
    });
  }
}

interface FinishedRun {
  readonly plan: Plan;
  readonly verdict: PlanVerdict;
  readonly written: readonly WriteResult[];
  /** The targets after the run. */
  readonly after: Plan;
}

function describeRun(finished: FinishedRun, { width, isVerbose, formatCommand }: ApplyTask): ApplyResult {
  const { plan, verdict, after } = finished;
  const { policy } = plan;
  const left = listUnmapped(after, true);
  const written = finished.written.map((one) => ({
    ...one,
    alreadyDone: one.alreadyDone || cellsBefore(one, plan) === one.changed,
  }));
  const fresh = written.filter((one) => !one.alreadyDone);
  const shown = written.map((one) => ({ ...one, before: cellsBefore(one, plan) ?? 0 }));
  const runs = [...new Set((fresh.length === 0 ? written : fresh).map(({ run }) => run))];
  const title = fresh.length === 0 ? 'Nothing was left to do.' : `Done: run ${runs.join(', ')}.`;
  const undoCommands = runs.toReversed().map((run) => formatCommand('undo', {}, run));
  const undo = undoCommands.map((command) => `To undo it: ${command}\n`).join('');
  const isSkipped = policy.others === 'fail' && fresh.some(({ skippedCount }) => skippedCount > 0);
  const skipped = isSkipped
    ? `Look at the rows that other programs changed meanwhile.${policy.mode === 'in_place' ? ' --again rewrites those that hold V3 ids.' : ''}\n`
    : '';
  const next = isSkipped
    ? formatCommand('plan', policy.mode === 'in_place' ? { again: true } : {})
    : (nextOfUnmapped(left, after, formatCommand) ?? formatCommand('verify'));
  return {
    exitCode: isSkipped || hasUnaccepted(left) ? 1 : 0,
    text: `${title}\n${renderWritten(shown, width)}${renderLeft(left, width)}${renderUnmapped(left, { width, isVerbose })}${skipped}${undo}`,
    json: { action: 'write', ...verdictJson(plan, verdict), runs, written, left },
    next,
  };
}

/** Cells of new columns that a run had filled before this write; undefined if it is not an earlier one. */
function cellsBefore({ target, run }: WriteResult, { policy, targets }: Plan): number | undefined {
  const earlier = targets.find(({ name }) => name === target)?.earlier;
  return policy.mode === 'new' && earlier?.run === run ? earlier.done : undefined;
}

function hasUnaccepted(left: readonly ColumnUnmapped[]): boolean {
  return left.some(({ isAccepted }) => !isAccepted);
}

/** The next step for values left without a V4 id that the policy does not accept; null if there are none. */
function nextOfUnmapped(
  left: readonly ColumnUnmapped[],
  { policy }: Plan,
  formatCommand: ApplyTask['formatCommand'],
): string | null {
  const kinds = new Set(left.filter(({ isAccepted }) => !isAccepted).map(({ kind }) => kind));
  if (kinds.has('came_since')) {
    return policy.mode === 'new'
      ? formatCommand('write')
      : formatCommand('plan', { again: true, mode: 'in_place' });
  }
  if (kinds.has('kept')) return formatCommand('plan', { missing: 'keep' });
  if (kinds.has('left_alone')) return formatCommand('plan', { unknown: 'keep' });
  return kinds.has('changed_since') ? formatCommand('plan', { others: 'keep' }) : null;
}

/** A warning where the remap is not one that `check` lets pass. */
function renderGate(outcome: Outcome, width: number): string {
  const text = `Warning: the gate of this remap is red (${outcome}); svc-migrate check says why.`;
  return outcome === 'pass' ? '' : wrapLines([text], width);
}

function verdictJson(plan: Plan, { ids, blocks }: PlanVerdict): object {
  return { remap: plan.remap, policy: plan.policy, ids, blocks };
}

function renderVerdict({ ids, blocks }: PlanVerdict, style: PlanStyle): string {
  // If nothing could be read, there are no counts to report.
  const isRead = blocks.length === 0 || ids.stored + ids.done > 0;
  return renderEnd(isRead ? describeIds(ids) : '', blocks, style);
}

/** Notes that an earlier run is in the way: the same plan would be blocked again. */
const ABOUT_RUNS = ['unfinished', 'other_run', 'known_output', 'changed_output', 'other_output'] as const;

function nextOfBlocks(
  { blocks, exitCode }: PlanVerdict,
  plan: Plan,
  formatCommand: ApplyTask['formatCommand'],
): string {
  const codes = new Set(blocks.map(({ note }) => note.code));
  if (ABOUT_RUNS.some((code) => codes.has(code))) return formatCommand('runs');
  if (codes.has('max_age')) return 'svc-migrate run';
  // New columns need no key, and need not be unique.
  const change = codes.has('collision') || codes.has('no_key') ? { mode: 'new' as const, again: false } : {};
  if (exitCode === 6 || !(codes.has('missing') || codes.has('unknown'))) return formatCommand('plan', change);
  const samples = plan.targets.flatMap(({ columns }) =>
    columns.flatMap(({ model, counts }) =>
      counts.filter(isMissing).map((count) => ({ model, id: count.samples[0] })),
    ),
  );
  const named = samples.find(({ model, id = '' }) => MODEL_REF.test(model) && isIdText(id));
  if (named === undefined || codes.has('unknown'))
    return formatCommand('plan', {}, '--unmapped', 'unmapped.ndjson');
  return shellLine(['svc-migrate', 'explain', named.model.split('#')[0] ?? '', named.id ?? '']);
}

const NAMED_CHANGES = 10;

/** The SHA-256 by which the ledger identifies a plan. The number of changes is no part of it: it depends on options that a later command may change. */
export function planSha256(plan: Plan): string {
  const targets = plan.targets.map((target) => ({ ...target, changes: 0 }));
  return sha256Of(renderPlan({ ...plan, targets }));
}

/**
 * Compares the agreed plan with a plan made now. Targets that a run of the agreed plan has already started are not
 * compared, and take their current plan.
 *
 * @throws SvcError `bad_input`, listing the changes
 */
export async function confirmPlan(stores: readonly OpenStore[], agreed: Plan, now: Plan): Promise<Plan> {
  const started = new Set((await runsOfPlan(stores, planSha256(agreed))).map(({ target }) => target));
  const others = ({ name }: TargetPlan): boolean => !started.has(name);
  const changes = comparePlans(
    { ...agreed, targets: agreed.targets.filter(others) },
    { ...now, targets: now.targets.filter(others) },
  );
  if (changes.length === 0) {
    const current = (target: TargetPlan) => now.targets.find(({ name }) => name === target.name);
    const targets = agreed.targets.map((one) => (started.has(one.name) ? (current(one) ?? one) : one));
    return { ...agreed, targets };
  }
  const more = changes.length - NAMED_CHANGES;
  const lines = [...changes.slice(0, NAMED_CHANGES), ...(more > 0 ? [`… and ${more} more`] : [])];
  const text = `The data changed since the plan; nothing was written.\n${lines.map((line) => `  ${line}`).join('\n')}`;
  throw new SvcError('bad_input', text, { hint: 'Look at a new plan: `svc-migrate apply plan`.' });
}

/** Unfinished and finished runs of a plan. */
async function runsOfPlan(stores: readonly OpenStore[], sha256: string) {
  return (await listRuns(stores)).filter(
    ({ planSha256: own, state }) => own === sha256 && (state === 'working' || state === 'done'),
  );
}

/**
 * The run to continue: one that carries out the agreed plan, or one that left a table unfinished. The rest is written under
 * the same name, so that one undo covers all of it. `sha256`: the agreed plan's; null if there is none.
 */
async function findUnfinished(
  stores: readonly OpenStore[],
  plan: Plan,
  sha256: string | null,
): Promise<string | null> {
  const [own] = sha256 === null ? [] : await runsOfPlan(stores, sha256);
  if (own !== undefined) return own.run;
  if (plan.policy.mode === 'new') return null;
  return plan.targets.find(({ earlier }) => earlier.state === 'unfinished')?.earlier.run ?? null;
}

/**
 * Carries out a plan, store by store.
 *
 * @throws SvcError `apply_stopped` if it stopped part-way, `interrupted`; other errors if nothing was written
 */
async function writePlan(stores: readonly OpenStore[], plan: Plan, facts: RunFacts): Promise<WriteResult[]> {
  const written: WriteResult[] = [];
  for (const store of stores) {
    const own = plan.targets.filter(({ name }) => store.targets.includes(name));
    try {
      written.push(...(await store.write(own, facts)));
    } catch (error) {
      const carriedOn = own.flatMap(({ earlier: { state, run } }) =>
        state === 'unfinished' && run !== null ? [run] : [],
      );
      throw await describeStop(error, store, [facts.run, ...carriedOn], written);
    }
  }
  return written;
}

/** Turns an error into `apply_stopped` if the ledger records anything, or cannot be read; otherwise returns it unchanged. */
async function describeStop(
  error: unknown,
  store: OpenStore,
  runs: readonly string[],
  written: readonly WriteResult[],
): Promise<unknown> {
  if (!(error instanceof SvcError) || error.code === 'interrupted' || error.code === 'internal') return error;
  // Another process holds the file, so this one has not begun.
  if (error.facts['lock'] !== undefined && written.every(({ alreadyDone }) => alreadyDone)) return error;
  const started = await startedRuns(store, runs);
  const done = written.filter((one) => !one.alreadyDone && one.changed > 0).map(({ run }) => run);
  if (started?.length === 0 && done.length === 0) return error;
  const names = [...new Set([...done, ...(started ?? [])])];
  const undo = (names.length === 0 ? runs.slice(0, 1) : names.toReversed())
    .map((name) => `\`svc-migrate apply undo ${name}\``)
    .join(', then ');
  const where =
    started === null
      ? 'The ledger could not be read for its progress.'
      : `The ledger records it as run ${names.join(', ')}.`;
  return new SvcError('apply_stopped', `Stopped part-way: ${error.message} ${where}`, {
    hint: `${error.hint ?? 'Fix what stopped it.'} Then run the same command again to continue, or ${undo}.`,
    facts: error.facts,
    cause: error,
  });
}

/** Which of these runs the ledger records: the first in any state, others if unfinished. Null if it cannot be read. */
async function startedRuns(store: OpenStore, runs: readonly string[]): Promise<string[] | null> {
  try {
    const begun = (await store.runs()).filter(
      ({ run, state }) =>
        runs.includes(run) && (state === 'working' || (run === runs[0] && state === 'done')),
    );
    return begun.map(({ run }) => run);
  } catch {
    return null;
  }
}

/** A name for a run that people can read, such as `20261120-141000-3f9a`. */
export function runName(ms: number, suffix: string): string {
  const time = new Date(ms).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  return `${time}-${suffix}`;
}

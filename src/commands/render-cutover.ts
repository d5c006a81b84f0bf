import {
  CUTOVER_STEPS,
  type Cutover,
  type CutoverStep,
  flippedState,
  STEP_TITLES,
} from '../store/cutover-state.js';
import { addFlags, escapeUnseen, renderJson } from '../text/escape.js';
import { formatDuration, formatTime } from '../text/numbers.js';
import { wrapLines } from '../text/text-layout.js';
import type { Io } from './command.js';
import type { CutoverOptions } from './cutover-options.js';
import { DETAIL_INDENT, type StepOutcome } from './cutover-steps.js';
import { type CutoverPlan, isToDo, numberOf, type PlannedStep } from './plan-cutover.js';

/** The result of a call of `cutover`. */
export interface CutoverResult {
  readonly plan: CutoverPlan;
  readonly options: CutoverOptions;
  /** Null if none was ever started. */
  readonly cutover: Cutover | null;
  /** Where it stopped, and why. */
  readonly stop: { readonly step: CutoverStep; readonly outcome: StepOutcome } | null;
  readonly exitCode: number;
  /** The JSON of the plan of `apply`; null if it was not made. */
  readonly applyPlan: object | null;
  /** The commands that take back what the cutover applied, the last run first. */
  readonly undo: readonly string[];
  readonly next: string;
  /** The command that goes on with the cutover. */
  readonly resume: string;
}

const FLIPS = { exec: 'run ', flag: 'create ', hand: 'stop, so that you can flip the application' } as const;

const WHAT: Readonly<Record<CutoverStep, (options: CutoverOptions) => string>> = {
  export_v3: () => 'read what is new in V3',
  export_v4: () => 'read V4',
  remap: () => 'join the two',
  check: ({ report }) => `judge the remap by the limits, and write ${report}`,
  apply: () => 'rewrite the V3 ids added since to the configured targets',
  verify_targets: () => 'check what was written',
  verify_pairs: ({ sample }) => `read ${sample ?? 'some'} mapped pairs from both APIs again`,
  flip: ({ flip, flipPlace }) => `${FLIPS[flip]}${flipPlace}`,
  recheck: () => 'read open findings again',
};

/** `4/9 check: judge the remap by the limits, …`, with why it is done again. */
export function describeBegin({ name, action, because }: PlannedStep, options: CutoverOptions): string {
  if (action === 'ask') return `${headOf(name)}: it was started, and ${because}`;
  const why = because === null ? '' : ` (${because})`;
  return `${headOf(name)}: ${WHAT[name](options)}${why}`;
}

/** The lines for a step that will not be run. */
export function describeKept({ name, action, because }: PlannedStep, cutover: Cutover | null): string[] {
  if (action === 'skip') return [`${headOf(name)}: skipped, ${because}`];
  const step = cutover?.steps[name];
  const at = step === undefined ? '' : ` at ${formatTime(step.endedAt ?? step.startedAt)}`;
  return [`${headOf(name)}: done${at}`, ...(step?.note === undefined ? [] : [`    ${step.note}`])];
}

/** The result of a step, and how long it took. */
export function describeOutcome({ exitCode, note, details = '' }: StepOutcome, tookMs: number): string[] {
  const how = exitCode === 0 ? 'done in' : `exit code ${exitCode} after`;
  const more = details.split('\n').filter((line) => line.trim() !== '');
  return [`    ${how} ${formatDuration(tookMs)}: ${note}`, ...more.map((line) => `${DETAIL_INDENT}${line}`)];
}

function headOf(name: CutoverStep): string {
  return `${numberOf(name)}/${CUTOVER_STEPS.length} ${STEP_TITLES[name]}`;
}

/** Lines on steps, wrapped; a step that takes several lines is indented from the second. */
export function renderSteps(lines: readonly string[], width: number): string {
  return lines
    .map((line) =>
      /^\d/.test(line) ? wrapLines([`${HANGING}${line}`], width).trimStart() : wrapLines([line], width),
    )
    .join('');
}

const HANGING = '    ';

/** The end of the text: the way back, the verdict and the next command. */
export function renderCutoverEnd(
  result: CutoverResult,
  { width, flags = '' }: Pick<Io, 'width' | 'flags'>,
): string {
  const { next, resume, stop, options } = result;
  const flipped = flippedState(result.cutover);
  const isOther = options.yes && stop !== null && next !== resume && flipped !== 'unknown';
  const back =
    flipped === 'no'
      ? 'The way back, if you give up this cutover:'
      : 'The way back, once the application is back on V3 ids:';
  const undo = stop === null ? [] : result.undo.map((command) => `  ${addFlags(command, flags)}`);
  const lines = [
    '',
    ...(undo.length === 0 ? [] : [back, ...undo]),
    verdictOf(result),
    ...(isOther ? [`To continue: ${addFlags(resume, flags)}`] : []),
  ];
  // Commands are not wrapped: they are to be copied.
  const laid = lines.map((line) =>
    /^ {2}svc-migrate |^To continue: /.test(line) ? `${escapeUnseen(line)}\n` : wrapLines([line], width),
  );
  return `${laid.join('')}${escapeUnseen(`Next: ${next}`)}\n`;
}

function verdictOf({ plan, options, cutover, stop, applyPlan, exitCode }: CutoverResult): string {
  const flipped = flippedState(cutover);
  if (stop !== null) {
    const { exitCode: code, note, unended } = stop.outcome;
    const at = `step ${numberOf(stop.step)} of ${CUTOVER_STEPS.length} (${STEP_TITLES[stop.step]})`;
    const how =
      unended === 'interrupted'
        ? `Interrupted in ${at}${stop.step === 'flip' ? `: ${note}` : '.'}`
        : `Stopped at ${at}, exit code ${code}: ${note}`;
    const ask = flipped === 'unknown' ? `${how.endsWith('.') ? '' : '.'} ${ASK}` : '';
    return unended === 'by_hand' ? `${STANDINGS.no} ${note}` : `${STANDINGS[flipped]} ${how}${ask}`;
  }
  if (options.yes) {
    const isDone = !plan.steps.some(isToDo);
    const at = formatTime(cutover?.steps.flip?.endedAt ?? '');
    return `CUT OVER: the application was flipped at ${at}.${isDone ? ' Nothing is left to do.' : ''}`;
  }
  const unknown = plan.steps.some(({ action }) => action === 'ask') ? ` ${ASK}` : '';
  const planned = applyPlan !== null && exitCode !== 0 ? ' Something is in the way of apply, see above.' : '';
  const standing = options.flipAnswer === 'undone' ? 'no' : flipped;
  return `DRY RUN: nothing was changed. ${STANDINGS[standing]}${unknown}${planned}`;
}

const STANDINGS = {
  no: 'NOT CUT OVER: the application was not flipped.',
  unknown: 'NOT KNOWN WHETHER IT IS CUT OVER: the flip was started and may be done.',
  yes: 'CUT OVER: the application is flipped already.',
} as const;

/** What to do if it is not known whether the flip is done. */
export const ASK =
  'If a program flips the application, wait until it has ended. Then check whether the application reads V4 ids: if it does, say --flip done; to run the flip again, --flip again; if everything is as before the flip, --flip undone.';

/** The result for programs. */
export function renderCutoverJson(result: CutoverResult): string {
  const { plan, options, cutover, stop, exitCode, applyPlan, undo, next } = result;
  const isFinished = cutover?.steps.recheck?.state === 'done';
  return renderJson({
    schemaVersion: 1,
    exitCode,
    outcome: stop !== null ? 'stopped' : options.yes || isFinished ? 'done' : 'planned',
    isDryRun: !options.yes,
    flipped: flippedState(cutover),
    id: cutover?.id ?? null,
    startedAt: cutover?.startedAt ?? null,
    stoppedAt: stop?.step ?? null,
    steps: plan.steps.map((step) => describeStep(step, result)),
    applyPlan,
    report: cutover?.report ?? null,
    undo,
    next,
  });
}

function describeStep({ name, action, because }: PlannedStep, { cutover, options }: CutoverResult) {
  const none = { state: 'none', startedAt: null, endedAt: null, exitCode: null, note: null };
  const what = WHAT[name](options);
  return { number: numberOf(name), name, what, action, because, ...none, ...cutover?.steps[name] };
}

import { readFileSync } from 'node:fs';
import { Writable } from 'node:stream';
import type { ApplyResult, ListedRun } from '../apply/actions.js';
import type { Config } from '../config/config.js';
import type { Generation } from '../domain.js';
import { describeFileError, EXIT_BY_CODE, errorCodeOf, SvcError } from '../errors.js';
import { judgeRecheck } from '../inspect/recheck/recheck-rounds.js';
import { renderVerify } from '../inspect/verify/render-verify.js';
import { judgeVerify } from '../inspect/verify/verify-remap.js';
import { buildVerdict } from '../report/build-verdict.js';
import type { Report } from '../report/report-schema.js';
import { runHook } from '../runtime/programs.js';
import { createFile, onFile } from '../runtime/write-output.js';
import type { Cutover, CutoverStep } from '../store/cutover-state.js';
import { readRemapRuns } from '../store/remap-tables.js';
import { escapeLines, escapeUnseen, shellLine } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import { applyInThread } from './apply.js';
import { parseApplyRequest, parseUndoRequest } from './apply-request.js';
import { judgeRemap } from './check.js';
import type { CommandLine, Io } from './command.js';
import type { CutoverOptions } from './cutover-options.js';
import { readDatabase } from './database.js';
import { exportInThread, exportOptions, throwWorst } from './export.js';
import { withValues } from './option-values.js';
import { DEFAULT_PAUSE_MS, recheckOpen } from './recheck.js';
import { rebuildRemap } from './remap.js';
import { verifyPairs } from './verify.js';

/** What a step works on. */
export interface StepTask {
  readonly given: CommandLine;
  readonly config: Config;
  readonly options: CutoverOptions;
  readonly cutover: Cutover;
  readonly io: Io;
}

/** Indentation of the lines that a step prints below its heading. */
export const DETAIL_INDENT = '       ';

/** The result of a step. It succeeded if the exit code is 0. */
export interface StepOutcome {
  readonly exitCode: number;
  readonly note: string;
  /** More lines for people. */
  readonly details?: string;
  /** The command to run next. */
  readonly next?: string;
  /** What to store besides the state of the step. */
  readonly saved?: Partial<Pick<Cutover, 'judged' | 'verified' | 'report' | 'runs'>>;
  /** Set if the step is stored neither as done nor as failed: it is left running or, if `not_begun`, as it was before. */
  readonly unended?: 'by_hand' | 'interrupted' | 'not_begun' | undefined;
}

/** The work of each step; each throws what its command throws. */
export const STEP_WORK: Readonly<Record<CutoverStep, (task: StepTask) => Promise<StepOutcome>>> = {
  export_v3: (task) => exportOne('v3', task),
  export_v4: (task) => exportOne('v4', task),
  remap: async ({ config, io }) => {
    const { rows, sha256 } = await rebuildRemap(config, io);
    return { exitCode: 0, note: `${countOf(rows, 'row')}, sha256 ${sha256.slice(0, 12)}` };
  },
  check,
  apply: async (task) => {
    const synced = await listSynced(task);
    // After a new remap, the triggers need a new crosswalk.
    const refreshed = synced.length === 0 ? null : await applyNow(task, { yes: true, sync: 'on' }, synced);
    if (refreshed !== null && refreshed.exitCode !== 0) return outcomeOf(refreshed);
    const result = await applyNow(task, { yes: true, again: true });
    const runs = [...new Set([...task.cutover.runs, ...(result.changedBy ?? [])])];
    return { ...outcomeOf(result), saved: { runs } };
  },
  verify_targets: async (task) => outcomeOf(await applyNow(task, { yes: false, verify: true })),
  verify_pairs: async ({ config, options: { sample }, io }) => {
    const result = await verifyPairs(config, { sample, seed: null }, io);
    const code = judgeVerify(result);
    const text = renderVerify(result, io.width - DETAIL_INDENT.length, true).replace(/^Next: .*\n/m, '');
    const note = countOf(result.agree, 'pair agrees', 'pairs agree');
    if (code !== 0) return { exitCode: code, note, details: text };
    return { exitCode: code, note, saved: { verified: `${result.remap.sha256} ${sample}` } };
  },
  flip: async (task) => {
    if (task.options.flip === 'exec') return runProgramOf(task);
    if (task.options.flip === 'flag') return createFlag(task);
    return { exitCode: EXIT_BY_CODE.incomplete, note: 'Flip the application now.', unended: 'by_hand' };
  },
  recheck: async ({ config, io }) => {
    const result = await recheckOpen(config, { times: 1, everyMs: DEFAULT_PAUSE_MS }, io);
    const sum = (counts: Readonly<Record<string, number>>) =>
      Object.values(counts).reduce((total, n) => total + n, 0);
    const code = judgeRecheck(result);
    const error = code === 0 ? '' : ` Some could not be read: ${result.rounds.at(-1)?.firstError ?? ''}`;
    const open = `${countOf(result.open, 'open finding')}, ${sum(result.persisted)} of them still open`;
    return { exitCode: code, note: `${open}, ${sum(result.appeared)} new.${error}` };
  },
};

async function exportOne(generation: Generation, { given, io }: StepTask): Promise<StepOutcome> {
  // `--restart` restarts the cutover, not the export.
  const options = await exportOptions(withValues(given, { restart: false }));
  const ended = await exportInThread([generation], `export ${generation}`, options, io);
  await throwWorst(ended, io);
  const streams = ended.flatMap(({ summary }) => summary?.streams ?? []);
  const records = streams.reduce((sum, { uniqueRecords }) => sum + uniqueRecords, 0);
  return { exitCode: 0, note: `${countOf(records, 'record')} in ${countOf(streams.length, 'list')}` };
}

async function check({ config, options, io }: StepTask): Promise<StepOutcome> {
  const { report: json, settings } = options;
  let report: Report | undefined;
  const onReport = async (written: Report) => {
    report = written;
  };
  // The verdict is printed once, at the end of the cutover.
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done() });
  const code = await judgeRemap({ config, outputs: { json }, onReport }, { ...io, stdout });
  if (report === undefined) throw new Error('check made no report');
  const { title, sentence, obstacles, next } = buildVerdict(report);
  const [first] = obstacles;
  const blocker = first === undefined ? '' : `Biggest blocker: ${first.name} ${first.numbers}`.trimEnd();
  const note = `${title}: ${sentence}`;
  if (code !== 0) return { exitCode: code, note, details: blocker, next };
  const judged = { remap: report.evidence.remap?.sha256 ?? '', settings };
  return { exitCode: code, note, saved: { judged, report: json } };
}

async function runProgramOf({ options, cutover, io }: StepTask): Promise<StepOutcome> {
  const { flipPlace: program } = options;
  const report = cutover.report ?? options.report;
  // Ends the progress line before the program prints.
  io.stderr.write('');
  const env = { ...io.env, SVC_MIGRATE_REPORT: report };
  const end = await runHook(program, [report], { env, signal: io.signal });
  const note = `${program} ended ${typeof end === 'number' ? `with exit code ${end}` : `by ${end}`}`;
  return { exitCode: end === 0 ? 0 : EXIT_BY_CODE.apply_stopped, note };
}

function createFlag({ options: { flipPlace: file }, cutover, io }: StepTask): StepOutcome {
  const at = new Date(io.clock.now()).toISOString();
  const text = `${JSON.stringify({ cutover: cutover.id, at, report: cutover.report })}\n`;
  try {
    onFile(file, () => createFile(file, text, { replace: false }));
  } catch (cause) {
    if (!(cause instanceof SvcError) || cause.facts['error'] !== 'EEXIST') throw cause;
    // It may be the flag of this cutover, if that was killed right after creating it.
    if (!isOwnFlag(file, cutover.id))
      throw new SvcError('bad_input', `${file} exists already; it was not changed.`, {
        hint: 'If the application is flipped by it, remove it before the cutover, or name another file.',
        cause,
      });
  }
  return { exitCode: 0, note: `${file} is there` };
}

/** Whether the file is the flag of this cutover. */
export function isOwnFlag(file: string, id: string): boolean {
  try {
    return readFileSync(file, 'utf8').startsWith(`{"cutover":${JSON.stringify(id)},`);
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return false;
    throw new SvcError('bad_input', `${escapeUnseen(file)} cannot be read: ${describeFileError(error)}.`);
  }
}

/** @throws SvcError `incomplete` if another command rebuilt the remap since `check` judged it */
export async function assertJudged(config: Config, judged: Cutover['judged']): Promise<void> {
  const [last] = await readDatabase(config, async (db) => readRemapRuns(db, 1));
  if (last?.sha256 === judged?.remap) return;
  throw new SvcError('incomplete', 'Another command rebuilt the remap since it was checked.', {
    hint: 'Run the same command again: it checks the new one first.',
  });
}

type ApplyContext = Pick<StepTask, 'given' | 'config' | 'io'>;
/** Options of `apply` that are not those of the cutover. */
type ApplyMode = Readonly<Record<string, boolean | string>>;

/** Plans, writes or verifies configured targets. */
export function applyNow(
  { given, config, io }: ApplyContext,
  mode: ApplyMode,
  targets: readonly string[] = [],
): Promise<ApplyResult> {
  const request = parseApplyRequest(applyCommandLine(given, mode, targets), config);
  io.onProgress({ kind: 'stage', name: request.action === 'write' ? 'apply' : request.action });
  const width = io.width - DETAIL_INDENT.length;
  return applyInThread({ kind: 'apply', config, request, agreed: null }, { ...io, width });
}

/** The command line of `apply` with the options of a cutover. */
export function applyCommandLine(
  given: CommandLine,
  mode: ApplyMode,
  targets: readonly string[] = [],
): CommandLine {
  return withValues(given, { json: undefined, header: true, ...mode }, targets);
}

/** The targets whose new columns are filled by triggers. */
async function listSynced(task: ApplyContext): Promise<readonly string[]> {
  const { given, config } = task;
  if (config.apply.targets.length === 0 || given.isSet('inPlace')) return [];
  return (await applyNow(task, { yes: false, sync: 'off' })).synced ?? [];
}

/** The command to run after a cutover. It removes the triggers of `apply --sync` if targets that can be read have any. */
export async function findCommandAfter(task: ApplyContext): Promise<string> {
  const synced = await listSynced(task).catch((error: unknown) => {
    if (error instanceof SvcError) return [];
    throw error;
  });
  if (synced.length === 0) return 'svc-migrate check';
  const named = synced.length === task.config.apply.targets.length ? [] : synced;
  return shellLine(['svc-migrate', 'apply', '--sync', 'off', ...named]);
}

/** The runs in the ledgers of the configured targets, oldest first. */
async function listRuns({ given, config, io }: ApplyContext): Promise<readonly ListedRun[]> {
  if (config.apply.targets.length === 0) return [];
  const request = parseUndoRequest(applyCommandLine(given, {}), config);
  return (await applyInThread({ kind: 'undo', config, request }, io)).runs ?? [];
}

/** @throws SvcError `usage` if a run of the cutover was undone: the ids are V3 ids again */
export async function assertApplied(task: ApplyContext, { runs }: Cutover): Promise<void> {
  if (runs.length === 0) return;
  const undone = (await listRuns(task)).find(
    ({ run, state }) => runs.includes(run) && (state === 'undone' || state === 'undoing'),
  );
  if (undone === undefined) return;
  throw new SvcError('usage', `Run ${undone.run} of this cutover was undone: your data hold V3 ids.`, {
    hint: 'Flip the application back to V3 ids if need be, and say --flip undone: the ids are then rewritten before the flip.',
  });
}

/** The commands that take back what a cutover applied, the last run first. */
export async function listUndoCommands(
  task: ApplyContext,
  cutover: Cutover | null,
): Promise<readonly string[]> {
  if (cutover?.steps.apply === undefined) return [];
  // After a signal there is no time to read ledgers.
  if (task.io.signal.aborted) return ['svc-migrate undo'];
  try {
    const runs = await listRuns(task);
    const isOwn = ({ run, state, startedAt }: ListedRun) =>
      state !== 'undone' && (cutover.runs.includes(run) || startedAt >= cutover.startedAt);
    const names = new Set(runs.filter(isOwn).map(({ run }) => run));
    return [...names].toReversed().map((run) => shellLine(['svc-migrate', 'undo', run]));
  } catch (error) {
    if (!(error instanceof SvcError)) throw error;
    // Without the name of a run, `undo` lists the runs of all targets that can be read.
    return ['svc-migrate undo'];
  }
}

function outcomeOf({ exitCode, text, next }: ApplyResult): StepOutcome {
  const lines = escapeLines(text)
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('To undo it: '));
  const isBlocked = lines.includes('Blocked by:');
  const [note = '', ...details] = isBlocked ? ['its plan is blocked, see there', ...lines] : lines;
  const command = exitCode !== 0 && next.startsWith('svc-migrate ') ? { next } : {};
  return { exitCode, note: note.replace(/^Done: /, ''), details: details.join('\n'), ...command };
}

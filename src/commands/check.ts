import { existsSync } from 'node:fs';
import type { Config } from '../config/config.js';
import { parseDuration } from '../config/values.js';
import { SvcError } from '../errors.js';
import { readBaseline, renderBaseline, rowsOverLimits } from '../report/baseline.js';
import type { RenderSource } from '../report/renderers.js';
import type { Report } from '../report/report-schema.js';
import { alreadyThere } from '../runtime/output-targets.js';
import { writeText } from '../runtime/write-output.js';
import { readRecordGroups } from '../store/scoped-streams.js';
import { escapeUnseen } from '../text/escape.js';
import { countOf } from '../text/numbers.js';
import type { CommandLine, Io } from './command.js';
import { readDatabase } from './database.js';
import { assertListsExist } from './export-result.js';
import { withGitHubActions } from './github-actions.js';
import { narrowingOf, needsOption, notTogether, outputsOf } from './option-values.js';
import { assertOutputs, type ExtraOutput, type ReportOptions, writeReport } from './report.js';
import { withOutputs } from './with-outputs.js';

interface NewBaseline {
  readonly file: string;
  readonly expiresMs: number;
  /** Replace an existing file. */
  readonly force: boolean;
}

export interface CheckOptions extends Omit<ReportOptions, 'baseline' | 'extra'> {
  /** The file of accepted findings. */
  readonly baselineFile?: string | undefined;
  readonly writeBaseline?: NewBaseline | undefined;
  /** Gets the report before the command ends. */
  readonly onReport?: ((report: Report) => Promise<void>) | undefined;
}

const MAX_ENTRIES = 20;
const EXPIRES_MS = 30 * 86_400_000;

/**
 * `check`: writes the report and judges it. Exits with 0 if it passed, 1 if limits are exceeded, 4 if data are
 * incomplete, 5 if there is nothing to compare. The findings of a baseline are not counted; a baseline never hides
 * incomplete data.
 */
export async function runCheck(given: CommandLine, io: Io): Promise<number> {
  const outputs = outputsOf(given);
  const inputs = [given.text('baseline'), given.text('writeBaseline')].filter((file) => file !== undefined);
  return withGitHubActions(given, io, (onReport) =>
    withOutputs(given, io, { outputs, inputs }, (config, within) => {
      const options = { config, ...narrowingOf(given, config), outputs, ...baselineOptions(given) };
      return judgeRemap({ ...options, onReport }, within);
    }),
  );
}

/** `check`, after the options are parsed. */
export async function judgeRemap(options: CheckOptions, io: Io): Promise<number> {
  const { baselineFile, writeBaseline } = options;
  assertOutputs(options, baselineFile ?? null);
  if (writeBaseline !== undefined) assertWritable(writeBaseline);
  const baseline = baselineFile === undefined ? undefined : readBaseline(baselineFile);
  const extra = writeBaseline === undefined ? undefined : baselineOutput(writeBaseline, io.clock.now());
  await assertBothExist(options.config);
  return writeReport({ ...options, baseline, extra, verdict: 'print' }, io, async (report) => {
    await writeText(io.stderr, describeProblems(report));
    if (writeBaseline !== undefined) await writeText(io.stderr, describeWritten(report, writeBaseline.file));
    await options.onReport?.(report);
    return report.exitCode;
  });
}

/** @throws SvcError `config` if V3 or V4 has none of the configured lists; as `readDatabase` does */
async function assertBothExist(config: Config): Promise<void> {
  const groups = await readDatabase(config, async (db) => readRecordGroups(db));
  for (const generation of ['v3', 'v4'] as const) assertListsExist(generation, groups, config);
}

/**
 * Checks the files that `check` will need before hours of reading.
 *
 * @throws SvcError `usage` for outputs that share or overwrite a file, `bad_input` for the baseline
 */
export function assertCheckable(options: CheckOptions): void {
  assertOutputs(options, options.baselineFile ?? null);
  if (options.baselineFile !== undefined) readBaseline(options.baselineFile);
}

function baselineOptions(given: CommandLine): Pick<CheckOptions, 'baselineFile' | 'writeBaseline'> {
  const [baselineFile, file, expires] = ['baseline', 'writeBaseline', 'expires'].map(given.text);
  const force = given.isSet('force');
  if (baselineFile !== undefined && file !== undefined) {
    throw notTogether('--baseline', '--write-baseline', 'Write one first, then check with it.');
  }
  if (file === undefined) {
    if (expires === undefined && !force) return { baselineFile };
    throw needsOption(force ? '--force' : '--expires', '--write-baseline');
  }
  const expiresMs = expires === undefined ? EXPIRES_MS : parseDuration(expires);
  if (expiresMs !== null) return { writeBaseline: { file, expiresMs, force } };
  throw new SvcError('usage', `--expires takes a duration such as 14d or 12h, not "${expires}".`);
}

function assertWritable({ file, force }: NewBaseline): void {
  if (file === '-') {
    throw new SvcError('usage', 'A baseline is written to a file, not to stdout.');
  }
  if (force || !existsSync(file)) return;
  throw alreadyThere(file);
}

/** Renders nothing from incomplete data: records not read yet would be accepted as findings. */
function baselineOutput({ file, expiresMs }: NewBaseline, nowMs: number): ExtraOutput {
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  const note = `written by check --write-baseline on ${dayOf(nowMs)}: say here why it is accepted`;
  const render = ({ report, findings }: RenderSource) =>
    isJudged(report)
      ? renderBaseline(rowsOverLimits(report, findings()), dayOf(nowMs + expiresMs), note)
      : null;
  return { target: file, render };
}

function isJudged({ outcome }: Report): boolean {
  return outcome === 'pass' || outcome === 'fail';
}

function describeWritten(report: Report, file: string): string[] {
  if (!isJudged(report)) return ['No baseline was written: the data cannot be judged yet.\n'];
  const failed = report.gate.limits.filter((limit) => !limit.pass);
  const isRow = ({ unit, contributors }: (typeof failed)[number]) =>
    unit === 'rows' && contributors.some(({ key }) => key.includes('/'));
  const count = failed.filter(isRow).reduce((sum, limit) => sum + (limit.actual ?? 0), 0);
  const others = failed.filter((limit) => !isRow(limit)).map(({ name }) => name);
  const rest =
    others.length === 0
      ? ''
      : ` A baseline lists rows, so these are not in it: ${[...new Set(others)].join(', ')}.`;
  return [`Wrote ${file}: ${countOf(count, 'finding')}.${rest}\n`];
}

function describeProblems({ baseline }: Report): string[] {
  if (baseline === null) return [];
  const { file, expired, unused, ambiguous } = baseline;
  const entries = [...expired, ...ambiguous, ...unused];
  const lines = entries.slice(0, MAX_ENTRIES).map((one) => {
    const name = one.v3_svc_id ?? one.v4_svc_id ?? one.platform_id ?? '';
    return `Warning: ${file}, entry ${one.entry} (${one.model} ${name}, ${one.reason}): ${one.problem}.`;
  });
  const more = entries.length - lines.length;
  if (more > 0)
    lines.push(
      `Warning: ${file}: ${countOf(more, 'more entry accepts', 'more entries accept')} nothing, see --json.`,
    );
  return lines.map((line) => `${escapeUnseen(line)}\n`);
}

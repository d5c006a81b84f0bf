import { appendFileSync } from 'node:fs';
import { exitCodeOf, expectedError } from '../errors.js';
import { renderAnnotation, renderAnnotations, renderJobOutputs } from '../report/render-actions.js';
import { renderMarkdown } from '../report/render-markdown.js';
import type { Report } from '../report/report-schema.js';
import { realPath } from '../runtime/output-targets.js';
import { writeText } from '../runtime/write-output.js';
import type { Io } from './command.js';

/** What is not announced, and a file that gets the Markdown as well. */
export interface ActionsOptions {
  readonly noAnnotations: boolean;
  readonly noJobSummary: boolean;
  readonly noJobOutputs: boolean;
  readonly markdown?: string | undefined;
}

/** What a job of GitHub Actions is told about a result. */
export interface Announcement {
  readonly annotations: string;
  /** Lines of `name=value`. */
  readonly outputs: string;
  /** Markdown for the job summary. */
  readonly summary: string;
}

/**
 * Runs `check`, `run` or `scan`. In a job of GitHub Actions the result, or the error that ended the command, is also written as
 * annotations (on stderr), to the job summary and to the outputs of the step. An option switches off each of these.
 */
export async function withGitHubActions<Result>(
  options: ActionsOptions,
  io: Io,
  describe: (result: Result) => Announcement,
  work: (onReport: (result: Result) => Promise<void>) => Promise<number>,
): Promise<number> {
  if (io.env['GITHUB_ACTIONS'] !== 'true') return work(async () => {});
  try {
    return await work((result) => announce(describe(result), options, io));
  } catch (thrown) {
    const error = expectedError(thrown);
    const message = [error?.message ?? 'This is a bug.', error?.hint ?? ''].join(' ').trim();
    if (!options.noAnnotations) {
      await writeText(io.stderr, [renderAnnotation('error', 'No result', message)]);
    }
    if (!options.noJobOutputs) {
      await append(io, 'GITHUB_OUTPUT', `outcome=error\nexit-code=${exitCodeOf(thrown)}\n`);
    }
    throw thrown;
  }
}

/** The announcement of a report. */
export function announceReport(report: Report): Announcement {
  return {
    annotations: renderAnnotations(report),
    outputs: renderJobOutputs(report),
    summary: [...renderMarkdown(report)].join(''),
  };
}

async function announce(
  { annotations, outputs, summary: text }: Announcement,
  options: ActionsOptions,
  io: Io,
): Promise<void> {
  if (!options.noAnnotations) await writeText(io.stderr, [annotations]);
  if (!options.noJobOutputs) await append(io, 'GITHUB_OUTPUT', outputs);
  const summary = io.env['GITHUB_STEP_SUMMARY'] ?? '';
  const { markdown } = options;
  const isThere = markdown !== undefined && markdown !== '-' && realPath(markdown) === realPath(summary);
  if (!options.noJobSummary && !isThere) {
    await append(io, 'GITHUB_STEP_SUMMARY', text);
  }
}

/** Adds to a file that the runner names. A failure is only a warning: it must not hide the verdict. */
async function append(io: Io, name: string, text: string): Promise<void> {
  const file = io.env[name] ?? '';
  if (file === '') return;
  try {
    appendFileSync(file, text);
  } catch (error) {
    await writeText(io.stderr, [`Warning: cannot write ${name}: ${String(error)}\n`]);
  }
}

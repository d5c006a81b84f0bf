import type { Config } from '../config/config.js';
import type { Report } from '../report/report-schema.js';
import { readRecordGroups } from '../store/scoped-streams.js';
import type { Io } from './command.js';
import { readDatabase } from './database.js';
import type { Given } from './define-command.js';
import { assertListsExist } from './export-result.js';
import { type ActionsOptions, announceReport, withGitHubActions } from './github-actions.js';
import { type NarrowingOptions, narrowingOf } from './option-values.js';
import { outputsOf, type ReportOptions, type ReportOutputs, writeReport } from './report.js';

export interface CheckOptions extends ReportOptions {
  /** Gets the report before the command ends. */
  readonly onReport?: ((report: Report) => Promise<void>) | undefined;
}

interface CheckCommandOptions extends NarrowingOptions, ReportOutputs, ActionsOptions {}

/**
 * `check`: writes the report and judges it. Exits with 0 if it passed, 1 if limits are exceeded, 4 if data are
 * incomplete, 5 if there is nothing to compare.
 */
export async function runCheck(given: Given<CheckCommandOptions>, io: Io): Promise<number> {
  const { options } = given;
  return withGitHubActions(options, io, announceReport, async (onReport) => {
    const config = await given.config();
    return judgeRemap({ config, ...narrowingOf(options, config), outputs: outputsOf(options), onReport }, io);
  });
}

/** `check`, after the options are parsed. */
export async function judgeRemap(options: CheckOptions, io: Io): Promise<number> {
  await assertBothExist(options.config);
  return writeReport({ ...options, verdict: 'print' }, io, async (report) => {
    await options.onReport?.(report);
    return report.exitCode;
  });
}

/** @throws SvcError `config` if V3 or V4 has none of the configured lists; as `readDatabase` does */
async function assertBothExist(config: Config): Promise<void> {
  const groups = await readDatabase(config, async (db) => readRecordGroups(db));
  for (const generation of ['v3', 'v4'] as const) assertListsExist(generation, groups, config);
}

import type { Io } from './io.js';
import { type ReportOptions, writeReport } from './report.js';

/**
 * `check`: the report, judged. 0 passed, 1 limits exceeded, 4 incomplete, 5 nothing to compare.
 *
 * @throws SvcError as `runReport` does
 */
export async function runCheck(options: ReportOptions, io: Io): Promise<number> {
  const report = await writeReport(options, io);
  return report.exitCode;
}

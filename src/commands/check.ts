import type { Config } from '../config/config.js';
import { GENERATIONS } from '../domain.js';
import type { Scope } from '../store/remap.js';
import type { DefineCommand, Io, Result } from './command.js';
import { narrowingOf } from './options.js';
import { defineReporting, printReport, REPORT_OUTPUTS, readReport } from './report.js';

export const checkCommand: DefineCommand = (run) =>
  defineReporting('check')
    .summary('the gate for CI: the report and the limits, as an exit code')
    .description(
      'Judges the last remap: 0 passed, 1 limits exceeded, 4 data incomplete or remap outdated, 5 nothing to compare, 6 remap changed since it was built.',
    )
    .addHelpText('after', '\nExample:\n  svc-migrate check --junit check.xml')
    .action((options, command) =>
      run(command, REPORT_OUTPUTS, async (io) => {
        const config = await io.config();
        return judgeRemap(io, config, narrowingOf(options, config));
      }),
    );

/** @throws SvcError `config` if a generation or region answered 404 to every list, `corrupt_database` if the remap was changed */
export async function judgeRemap(io: Io, config: Config, scope: Required<Scope>): Promise<Result> {
  const { verifyRemap } = await import('../store/integrity.js');
  const { assertListsExist } = await import('../store/readiness.js');
  const report = await readReport(io, config, scope, (db) => {
    for (const generation of GENERATIONS) assertListsExist(db, config, generation);
    verifyRemap(db);
  });
  return printReport(report, config, scope);
}

import { GENERATIONS } from '../domain.js';
import { EXIT_BY_CODE } from '../errors.js';
import type { GenerationExport } from '../export/run-export.js';
import { judgeRemap } from './check.js';
import type { DefineCommand, Io } from './command.js';
import { exportGenerations, requestOf, SETTLE, WAIT, WAIT_TIMEOUT } from './export.js';
import { readAnswers, rebuildRemap } from './remap.js';
import { defineReporting, REPORT_OUTPUTS } from './report.js';

export const runCommand: DefineCommand = (run) =>
  defineReporting('run')
    .summary('export V3 and V4, remap, check')
    .description(
      'The whole migration up to the report. After an incomplete export it continues, so that the report shows what is known, and exits with 4.',
    )
    .option('--restart', 'read everything again from the start')
    .addOption(WAIT)
    .addOption(SETTLE)
    .addOption(WAIT_TIMEOUT)
    .addHelpText('after', '\nExample:\n  svc-migrate run --html report.html')
    .action((options, command) =>
      run(command, REPORT_OUTPUTS, async (io) => {
        const config = await io.config();
        const request = requestOf(options, config, GENERATIONS);
        // A mistake in these files shows before hours of reading.
        const answers = await readAnswers(config);
        warnOrThrow(await exportGenerations(request, config, io), io);
        await rebuildRemap(config, answers, io);
        return judgeRemap(io, config, request);
      }),
    );

/** The errors of incomplete exports are warnings, since the report names what is missing; others are thrown. */
function warnOrThrow(exported: readonly GenerationExport[], io: Io): void {
  for (const { generation, error } of exported) {
    if (error === null) continue;
    if (error.exitCode !== EXIT_BY_CODE.incomplete) throw error;
    const text = `${generation.toUpperCase()} was not read in full. ${error.message}`;
    io.onProgress({ kind: 'note', level: 'warning', text });
  }
}

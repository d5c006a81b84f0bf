import { loadKeys } from '../config/api-keys.js';
import type { Generation } from '../domain.js';
import { EXIT_BY_CODE, SvcError } from '../errors.js';
import { writeText } from '../runtime/write-output.js';
import { assertCheckable, type CheckOptions, judgeRemap } from './check.js';
import type { CommandLine, Io } from './command.js';
import { type ExportCommandOptions, exportGeneration, exportOptions } from './export.js';
import { type Exporter, holdInThread } from './export-in-thread.js';
import { withGitHubActions } from './github-actions.js';
import { outputsOf } from './option-values.js';
import { loadRemapInputs, rebuildRemap } from './remap.js';
import { withHostWaits } from './with-api.js';
import { withOutputs } from './with-outputs.js';

/** Exit code of errors that leave an export incomplete but do not stop `run`. */
const INCOMPLETE = EXIT_BY_CODE.incomplete;

/**
 * `run`: export v3, export v4, remap and check. Continues after an incomplete export, so that the report shows what is
 * known.
 */
export async function runRun(given: CommandLine, io: Io): Promise<number> {
  const baselineFile = given.text('baseline');
  const outputs = outputsOf(given);
  const inputs = baselineFile === undefined ? [] : [baselineFile];
  const work = (onReport: CheckOptions['onReport']) =>
    withOutputs(given, io, { outputs, inputs }, async (_, within) => {
      const options = { ...(await exportOptions(given)), outputs, baselineFile, onReport };
      loadKeys(options.config, io.env);
      assertCheckable(options);
      loadRemapInputs(options.config);
      await runExports(options, within);
      await rebuildRemap(options.config, within);
      return judgeRemap(options, within);
    });
  return withGitHubActions(given, io, work);
}

/** Exports both generations. Lists that cannot be read are warnings, and appear in the report. */
export async function runExports(options: ExportCommandOptions, io: Io): Promise<void> {
  const hold = {
    file: options.config.database,
    mode: 'create',
    command: 'run',
    nowMs: io.clock.now(),
  } as const;
  const exportBoth = async (exporter: Exporter, within: Io): Promise<void> => {
    for (const generation of ['v3', 'v4'] as const) {
      try {
        const { complete, firstError } = await exportGeneration(generation, exporter, options, within);
        if (!complete) await warn(io, generation, firstError);
      } catch (error) {
        if (!(error instanceof SvcError) || error.exitCode !== INCOMPLETE) throw error;
        await warn(io, generation, error);
      }
    }
  };
  await withHostWaits(options.config.database, io, () => holdInThread(hold, io, exportBoth));
}

async function warn(io: Io, generation: Generation, error: SvcError | null): Promise<void> {
  const why = error === null ? '' : ` ${error.message}`;
  await writeText(io.stderr, [`Warning: ${generation.toUpperCase()} was not read in full.${why}\n`]);
}

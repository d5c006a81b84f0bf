import { loadKeys } from '../config/api-keys.js';
import { EXIT_BY_CODE } from '../errors.js';
import { renderAnnotations } from '../report/render-ci.js';
import type { run as definition } from './catalogue/run-commands.js';
import type { GivenTo, Io } from './command.js';
import {
  type ExportCommandOptions,
  type Exported,
  exportInThread,
  exportOptions,
  throwWorst,
  warn,
} from './export.js';
import { withAnnotations } from './github-actions.js';
import { loadRemapInputs, rebuildRemap } from './rebuild-remap.js';
import { judgeRemap, outputsOf } from './report.js';

export { reportSchema as schema } from '../report/report-schema.js';

/** Exit code of errors that leave an export incomplete but do not stop `run`. */
const INCOMPLETE = EXIT_BY_CODE.incomplete;

/**
 * `run`: export of both generations, remap and check. Continues after an incomplete export, so that the report shows what is
 * known.
 */
export async function run(given: GivenTo<typeof definition>, io: Io): Promise<number> {
  return withAnnotations(io, renderAnnotations, async (onReport) => {
    const read = exportOptions(given.options, await given.config());
    const options = { ...read, outputs: outputsOf(given.options), onReport };
    loadKeys(options.config, io.env);
    loadRemapInputs(options.config);
    await runExports(options, io);
    await rebuildRemap(options.config, io);
    return judgeRemap(options, io);
  });
}

/**
 * Exports both generations at the same time. Lists that cannot be read are warnings, and appear in the report.
 *
 * @throws SvcError for anything but an incomplete export
 */
export async function runExports(options: ExportCommandOptions, io: Io): Promise<void> {
  // The report that follows knows the companies of both, and refuses one that neither has.
  const ended = await exportInThread(['v3', 'v4'], 'run', { ...options, mayBeEmpty: true }, io);
  const isIncomplete = ({ error }: Exported) => error?.exitCode === INCOMPLETE;
  for (const one of ended.filter(isIncomplete)) await warn(one, io);
  await throwWorst(
    ended.filter((one) => !isIncomplete(one)),
    io,
  );
}

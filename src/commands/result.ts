import type { Config } from '../config/config.js';
import { assertStdout, writeOutput, writeText } from '../runtime/write-output.js';
import type { Given, Io } from './command.js';
import { withOutputs } from './with-outputs.js';

/**
 * Runs a command that takes `--json`, as `withOutputs` does. `work` gets the target of the option.
 *
 * @throws SvcError `usage` if the file is an input, `output` if stdout is needed and closed
 */
export function withJson(
  given: Given,
  io: Io,
  work: (config: Config, target: string | undefined, io: Io) => Promise<number>,
): Promise<number> {
  const target = given.text('json');
  return withOutputs(given, io, { outputs: { json: target } }, async (config, within) => {
    if (target === undefined || target === '-') assertStdout();
    return work(config, target, within);
  });
}

/**
 * Writes a result as JSON to `target`, and as text to stdout unless JSON goes there.
 *
 * @throws SvcError `output`, `interrupted`
 */
export async function writeResult(
  target: string | undefined,
  { json, text }: { readonly json: () => string; readonly text: () => string },
  io: Io,
): Promise<void> {
  if (target !== undefined) await writeOutput({ target, chunks: () => [json()] }, io);
  if (target !== '-') await writeText(io.stdout, [text()]);
}

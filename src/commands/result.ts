import { rmSync, statSync } from 'node:fs';
import type { Config } from '../config/config.js';
import { assertStdout, assertTargets, realPath, writeOutput, writeText } from '../runtime/write-output.js';
import type { Given } from './command.js';
import type { Io } from './io.js';
import { ownFilesOf } from './with-outputs.js';

/**
 * The target of `--json`, before the work begins: the result of an earlier run is removed.
 *
 * @throws SvcError `usage` if the file is an input, `output` if stdout is needed and closed
 */
export function jsonTarget(given: Given, config: Config | null): string | undefined {
  const target = given.text('json');
  assertTargets(target === undefined ? [] : [target], config === null ? [] : ownFilesOf(config));
  if (target === undefined || target === '-') assertStdout();
  else if (config !== null && statSync(target, { throwIfNoEntry: false })?.isFile()) rmSync(realPath(target));
  return target;
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

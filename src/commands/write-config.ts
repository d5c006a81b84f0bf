import { existsSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { applyEdits, findNodeAtLocation, type JSONPath, modify, parseTree } from 'jsonc-parser';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import type { Correction } from '../inspect/doctor/corrections.js';
import { assertTargets } from '../runtime/output-targets.js';
import { writeOutput, writeText } from '../runtime/write-output.js';
import { countOf } from '../text/numbers.js';
import type { Io } from './command.js';
import { ownFilesOf } from './with-outputs.js';

/**
 * Checks the target of `doctor --write-config` before anything is sent.
 *
 * @throws SvcError `usage`
 */
export function assertNewConfig(target: string, config: Config, force: boolean): void {
  if (target === '-') throw new SvcError('usage', '--write-config writes a file, not stdout.');
  assertTargets([target], ownFilesOf(config));
  if (dirname(resolve(target)) !== dirname(config.file)) {
    const hint = 'Paths in a configuration are relative to it.';
    throw new SvcError('usage', `Name a file in ${dirname(config.file)}.`, { hint });
  }
  if (force || !existsSync(target)) return;
  throw new SvcError('usage', `${target} exists already; it was not changed.`, {
    hint: 'Name another file, or replace this one with --force.',
  });
}

/**
 * Writes the configuration with the corrections; comments and other settings stay.
 *
 * @throws SvcError `output`
 */
export async function writeConfig(
  target: string,
  config: Config,
  corrections: readonly Correction[],
  io: Io,
): Promise<void> {
  const text = correctText(readFileSync(config.file, 'utf8'), config, corrections);
  await writeOutput({ target, chunks: () => [text] }, io);
  const lines = corrections.map((one) => `  ${one.text}\n`);
  const count = corrections.length === 0 ? 'no setting' : countOf(corrections.length, 'setting');
  await writeText(io.stderr, [`Wrote ${relative('', target)}: ${count} changed.\n`, ...lines]);
}

function correctText(text: string, config: Config, corrections: readonly Correction[]): string {
  const change = (before: string, path: JSONPath, value: unknown) =>
    applyEdits(
      before,
      modify(before, path, value, { formattingOptions: { insertSpaces: true, tabSize: 2 } }),
    );
  const hasModels =
    findNodeAtLocation(parseTree(text) ?? { type: 'null', offset: 0, length: 0 }, ['models']) !== undefined;
  const models = config.models.map(({ v3, v4, expand, children }) => ({ v3, v4, expand, children }));
  const isNamed = corrections.some(({ path }) => path[0] === 'models');
  const begun = hasModels || !isNamed ? text : change(text, ['models'], models);
  return corrections.reduce((before, { path, value }) => change(before, [...path], value), begun);
}

import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { loadKeys } from '../config/api-keys.js';
import type { Config } from '../config/config.js';
import { SvcError } from '../errors.js';
import { assertTargets } from '../runtime/output-targets.js';
import { findProgram } from '../runtime/programs.js';
import { sha256Of } from '../runtime/sha256.js';
import { shellLine } from '../text/escape.js';
import { filesOfTargets } from './apply.js';
import { parseApplyRequest } from './apply-request.js';
import { CUTOVER_OPTIONS } from './catalogue/apply-commands.js';
import type { CommandLine, Io } from './command.js';
import { applyCommandLine } from './cutover-steps.js';
import { exportOptions } from './export.js';
import { nameOfOption, notTogether, wholeNumberOption, withValues } from './option-values.js';
import { FLIP_ANSWERS, type FlipAnswer, type FlipKind } from './plan-cutover.js';
import { loadRemapInputs } from './remap.js';
import { assertOutputs } from './report.js';
import { ownFilesOf } from './with-outputs.js';

/** A parsed command line of `cutover`. */
export interface CutoverOptions {
  readonly yes: boolean;
  readonly restart: boolean;
  readonly flipAnswer: FlipAnswer | null;
  readonly flip: FlipKind;
  /** Path of the program or of the flag file; '' if a person flips. */
  readonly flipPlace: string;
  /** Absolute path. */
  readonly report: string;
  readonly sample: number | null;
  /** SHA-256 of what `check` judges by. */
  readonly settings: string;
}

/** Parses the command line of `cutover`, and checks options, keys and files that its steps will need. */
export async function parseCutoverOptions(
  given: CommandLine,
  config: Config,
  io: Io,
): Promise<CutoverOptions> {
  const report = resolve(given.text('report') ?? 'cutover-report.json');
  assertFiles(given, config, report);
  await exportOptions(withValues(given, { restart: false }));
  parseApplyRequest(applyCommandLine(given, { yes: true, again: true }), config);
  loadKeys(config, io.env);
  loadRemapInputs(config);
  assertOutputs({ config, outputs: { json: report } });
  return {
    yes: given.isSet('yes'),
    restart: given.isSet('restart'),
    flipAnswer: FLIP_ANSWERS.find((answer) => answer === given.text('flip')) ?? null,
    ...parseFlip(given, io.env),
    report,
    sample: wholeNumberOption(given, 'sample', 1) ?? null,
    settings: digestSettings(config),
  };
}

function parseFlip(given: CommandLine, env: Io['env']): Pick<CutoverOptions, 'flip' | 'flipPlace'> {
  const [exec, flag] = [given.text('exec'), given.text('flag')];
  if (exec !== undefined && flag !== undefined) throw notTogether('--exec', '--flag');
  if (flag !== undefined) return { flip: 'flag', flipPlace: resolve(flag) };
  if (exec === undefined) return { flip: 'hand', flipPlace: '' };
  const program = findProgram(exec, env['PATH']);
  if (program !== null) return { flip: 'exec', flipPlace: program };
  throw new SvcError('usage', `--exec: "${exec}" is not an executable file.`, {
    hint: 'Name a program of PATH or a path such as ./flip.sh, without arguments: it runs without a shell. Put what else is needed into a script.',
  });
}

function assertFiles(given: CommandLine, config: Config, report: string): void {
  const outputs = [given.text('flag'), report, given.text('json')].filter((file) => file !== undefined);
  const { targets } = config.apply;
  const inputs = [given.text('exec')].filter((file) => file !== undefined);
  const own = [...ownFilesOf(config), ...inputs, ...filesOfTargets(targets)];
  if (given.text('flag') === '-' || given.text('report') === '-')
    throw new SvcError('usage', '--flag and --report take a file, not -.');
  assertTargets(outputs, own);
  for (const file of outputs.filter((name) => name !== '-')) {
    const why = whyNotCreated(file);
    if (why !== null)
      throw new SvcError('usage', `${file} cannot be created: ${why}.`, { hint: 'Name another file.' });
  }
}

function whyNotCreated(file: string): string | null {
  const folder = dirname(resolve(file));
  if (!existsSync(folder)) return 'there is no such folder';
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) return 'it is a folder';
  try {
    accessSync(folder, constants.W_OK);
    return null;
  } catch {
    return 'its folder cannot be written to';
  }
}

function digestSettings({ limits, drift, maxAgeMs }: Config): string {
  return sha256Of(JSON.stringify({ limits, drift, maxAgeMs }));
}

/** The command that continues this cutover: `more`, then the options of this call. */
export function resumeCommand(given: CommandLine, ...more: readonly string[]): string {
  const notRepeated = new Set(['yes', 'restart', 'flip', 'json']);
  const words = Object.keys(CUTOVER_OPTIONS).flatMap((flags) => {
    const name = nameOfOption(flags);
    if (notRepeated.has(name)) return [];
    const [flag = ''] = flags.split(' ');
    const value = given.text(name);
    if (value !== undefined) return [flag, value];
    return given.isSet(name) ? [flag] : [];
  });
  return shellLine(['svc-migrate', 'cutover', ...more, ...words]);
}

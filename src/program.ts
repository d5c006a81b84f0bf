import { existsSync, readFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { cwd } from 'node:process';
import type { Readable } from 'node:stream';
import { Command, CommanderError, type CommandUnknownOpts, Help } from '@commander-js/extra-typings';
import { applyCommand } from './commands/apply.js';
import { checkCommand } from './commands/check.js';
import type { DefineCommand, Io, Result, Run } from './commands/command.js';
import { demoCommand } from './commands/demo.js';
import { doctorCommand } from './commands/doctor.js';
import { dumpCommand } from './commands/dump.js';
import { explainCommand } from './commands/explain.js';
import { exportCommand } from './commands/export.js';
import { findingsCommand } from './commands/findings.js';
import { helpCommand } from './commands/help.js';
import { initCommand } from './commands/init.js';
import { lookupCommand } from './commands/lookup.js';
import { remapCommand } from './commands/remap.js';
import { reportCommand } from './commands/report.js';
import { runCommand } from './commands/run.js';
import { sandboxCommand } from './commands/sandbox.js';
import { statusCommand } from './commands/status.js';
import { verifyCommand } from './commands/verify.js';
import type { Config } from './config/config.js';
import { exitCodeOf, expectedError, orError, SvcError } from './errors.js';
import type { Progress } from './progress.js';
import { must } from './text/at.js';

/** Width of text that is not written to a terminal, in columns. */
const PLAIN_WIDTH = 100;
const CLOCK = { now: Date.now };

/** All commands, by the headings of the overview. */
const GROUPS: Readonly<Record<string, readonly DefineCommand[]>> = {
  'Start:': [initCommand, doctorCommand, demoCommand, sandboxCommand],
  'Look:': [runCommand, exportCommand, remapCommand, reportCommand, checkCommand, statusCommand],
  'Decide:': [findingsCommand, explainCommand, verifyCommand],
  'Use:': [lookupCommand, dumpCommand, applyCommand, helpCommand],
};

export interface ProgramHost extends Pick<Io, 'env' | 'signal' | 'runUninterruptible'> {
  readonly stdout: Io['stdout'] & { readonly columns?: number };
  readonly stderr: Io['stderr'] & { readonly columns?: number };
  readonly openInput: () => Readable & { readonly isTTY?: boolean };
}

/** Parses a command line, runs its command, and prints its error, if any; returns the exit code. */
export async function runProgram(words: readonly string[], host: ProgramHost): Promise<number> {
  let exitCode = 0;
  const program = defineProgram(host);
  const commands = buildCommands(async (command, outputs, work) => {
    exitCode = await runWork(program.opts(), outputsOf(command.opts(), outputs), work, host);
  });
  for (const command of commands) {
    inheritSettings(command, program);
    program.addCommand(command);
  }
  try {
    await program.parseAsync(words.length === 0 ? ['--help'] : [...words], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    return reportError(
      withHelp(error, nameCommand(program, words)),
      words.includes('--verbose'),
      host.stderr,
    );
  }
}

export function buildCommands(run: Run): CommandUnknownOpts[] {
  return Object.entries(GROUPS).flatMap(([heading, commands]) =>
    commands.map((define) => define(run).helpGroup(heading)),
  );
}

function defineProgram(host: ProgramHost) {
  return new Command('svc-migrate')
    .version(readVersion(), '-V, --version', 'print the version')
    .option('--config <file>', 'configuration file (SVC_MIGRATE_CONFIG)')
    .option('--db <file>', 'database file (SVC_MIGRATE_DB)')
    .option('--quiet', 'print warnings and results only')
    .option('--verbose', 'print more: every list, every row')
    .option('--no-color', 'print without colors (NO_COLOR)')
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .usage('COMMAND [options]')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true, formatHelp: (command, helper) => formatHelp(command, helper) })
    .configureOutput({
      writeOut: (text) => host.stdout.write(text),
      writeErr: () => {},
      getOutHelpWidth: () => widthOf(host),
      getErrHelpWidth: () => widthOf(host),
    });
}

type CommonOptions = ReturnType<ReturnType<typeof defineProgram>['opts']>;

/** commander copies settings only to commands that it creates itself. */
function inheritSettings(command: CommandUnknownOpts, parent: CommandUnknownOpts): void {
  command.copyInheritedSettings(parent).helpCommand(false);
  for (const child of command.commands) inheritSettings(child, command);
}

/** The overview takes one screen: without blank lines, and its options on one line. */
function formatHelp(command: CommandUnknownOpts, helper: Help): string {
  const isOverview = command.parent === null;
  if (!isOverview) return Help.prototype.formatHelp.call(helper, command, helper);
  helper.visibleOptions = () => [];
  helper.subcommandTerm = (child) => child.name();
  const text = Help.prototype.formatHelp.call(helper, command, helper).replaceAll('\n\n', '\n');
  return `${text}Options of every command: --config --db --quiet --verbose --no-color --help\n`;
}

/** The package's version. Checked by hand: `--version` should not load a validator. */
function readVersion(): string {
  const content: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  if (typeof content === 'object' && content !== null && 'version' in content) return String(content.version);
  throw new Error('package.json names no version.');
}

/** An output by the name of its option, such as `json`; `-` is stdout. */
type NamedOutput = readonly [name: string, target: string];

function outputsOf(options: Readonly<Record<string, unknown>>, names: readonly string[]): NamedOutput[] {
  return names.flatMap((name): NamedOutput[] => {
    const target = options[name];
    return typeof target === 'string' ? [[name, target]] : [];
  });
}

/**
 * Runs a command's work. Requested files never hold the result of an earlier run: they are removed before it starts, and
 * `--json` holds its error if it fails.
 */
async function runWork(
  options: CommonOptions,
  outputs: readonly NamedOutput[],
  work: (io: Io) => Promise<Result>,
  host: ProgramHost,
): Promise<number> {
  assertFolder();
  const progress = await createProgressOf(options, host);
  const io = buildIo(options, host, progress);
  const { assertTargets, removeOutput } = await import('./runtime/write-output.js');
  if (outputs.length > 0) {
    await assertTargets(
      outputs.map(([, target]) => target),
      await listProtectedFiles(options, io),
    );
    for (const [, target] of outputs) await removeOutput(target);
  }
  try {
    const result = await work(io);
    progress.stop('done');
    await writeResult(result, outputs, io);
    return result.exitCode;
  } catch (error) {
    progress.stop('failed');
    await writeErrorDocument(error, outputs, io);
    throw error;
  }
}

/** @throws SvcError `bad_input` if the working folder was removed */
function assertFolder(): void {
  try {
    cwd();
  } catch (cause) {
    throw new SvcError('bad_input', 'The working folder no longer exists.', {
      hint: 'Change to another folder.',
      cause,
    });
  }
}

async function createProgressOf(options: CommonOptions, { stderr, env }: ProgramHost): Promise<Progress> {
  const { createProgress } = await import('./progress.js');
  const isTty = stderr.isTTY === true;
  return createProgress({
    stream: stderr,
    isTty,
    width: () => stderr.columns ?? PLAIN_WIDTH,
    color: isTty && isColored(options, env),
    quiet: options.quiet === true,
    verbose: options.verbose === true,
    clock: CLOCK,
  });
}

function buildIo(options: CommonOptions, host: ProgramHost, progress: Progress): Io {
  const { stdout, stderr, env, signal, runUninterruptible } = host;
  let config: Promise<Config> | undefined;
  const load = async () => {
    const { loadConfig } = await import('./config/load-config.js');
    return loadConfig({ env, flags: options, nowMs: CLOCK.now() });
  };
  return {
    get stdin() {
      return host.openInput();
    },
    stdout: progress.clearBefore(stdout),
    stderr: progress.clearBefore(stderr),
    env,
    clock: CLOCK,
    version: readVersion(),
    style: {
      width: widthOf(host),
      color: stdout.isTTY === true && isColored(options, env),
      verbose: options.verbose === true,
    },
    signal,
    onProgress: progress.onProgress,
    runUninterruptible,
    config: () => {
      config ??= load();
      return config;
    },
  };
}

/** The files that outputs must not replace, as far as they are known. */
async function listProtectedFiles(options: CommonOptions, io: Io): Promise<string[]> {
  const { DEFAULT_CONFIG_FILES, findConfigFile } = await import('./config/load-config.js');
  const { listInputFiles } = await import('./config/config.js');
  const config = await orError(() => io.config());
  if (config instanceof SvcError) {
    const database = options.db ?? io.env['SVC_MIGRATE_DB'] ?? 'svc-migrate.db';
    const files = [...DEFAULT_CONFIG_FILES, findConfigFile(io.env, options.config)];
    // `sandbox --config-out` may write the first configuration.
    return [...files.filter((file) => existsSync(file)), database];
  }
  const keyFiles = [...config.v3.regions, config.v4].map(({ keySource }) => keySource).filter(isAbsolute);
  const targets = config.apply.targets.flatMap((target) => ('file' in target ? [target.file] : []));
  const inputs = Object.values(listInputFiles(config)).map((file) => must(file));
  return [config.database, config.file, ...inputs, ...keyFiles, ...targets].map((file) => resolve(file));
}

/** Writes a result in every requested format, and as text unless an output goes to stdout. */
async function writeResult(result: Result, outputs: readonly NamedOutput[], io: Io): Promise<void> {
  const { isStdout, writeOutput } = await import('./runtime/write-output.js');
  const { renderJson } = await import('./text/escape.js');
  const { json, outputs: contents = {} } = result;
  for (const [name, target] of outputs) {
    const isJson = name === 'json' && json !== undefined;
    const chunks = isJson ? [renderJson(json)] : contents[name]?.(io.style);
    if (chunks !== undefined) await writeOutput(target, chunks, io);
  }
  const text = outputs.some(([, target]) => isStdout(target)) ? undefined : result.text?.(io.style);
  if (text !== undefined && text !== '') await writeOutput('-', [text], io);
}

async function writeErrorDocument(thrown: unknown, outputs: readonly NamedOutput[], io: Io): Promise<void> {
  const { removeOutput, writeOutput } = await import('./runtime/write-output.js');
  const { renderJson } = await import('./text/escape.js');
  const {
    code,
    message,
    hint = null,
  } = expectedError(thrown) ?? new SvcError('internal', `This is a bug: ${String(thrown)}`);
  const text = renderJson({ outcome: 'error', code, message, hint, exitCode: exitCodeOf(thrown) });
  // The signal that stopped the command must not stop this write.
  const { signal } = new AbortController();
  for (const [name, target] of outputs) {
    // The error that stopped the command is reported, not that its file cannot be written either.
    await orError(() =>
      name === 'json' ? writeOutput(target, [text], { stdout: io.stdout, signal }) : removeOutput(target),
    );
  }
}

/** A pipe mostly ends on the terminal that shows stderr, as in `| less`. */
function widthOf({ stdout, stderr }: Pick<ProgramHost, 'stdout' | 'stderr'>): number {
  return stdout.columns ?? Math.min(PLAIN_WIDTH, stderr.columns ?? PLAIN_WIDTH);
}

/** Whether neither `--no-color`, NO_COLOR (https://no-color.org) nor the terminal rules out color. */
function isColored({ color }: CommonOptions, { NO_COLOR = '', TERM }: Io['env']): boolean {
  return color && NO_COLOR === '' && TERM !== 'dumb';
}

async function reportError(
  error: unknown,
  isVerbose: boolean,
  stderr: ProgramHost['stderr'],
): Promise<number> {
  const isPipe = error instanceof SvcError && error.code === 'output' && error.facts['error'] === 'EPIPE';
  if (!isPipe) {
    const { describeError } = await import('./text/describe-error.js');
    const { wrapLines } = await import('./text/wrap.js');
    const text = describeError(error, isVerbose);
    const { columns } = stderr;
    await write(stderr, columns === undefined ? text : wrapLines(text.trimEnd().split('\n'), columns));
  }
  return exitCodeOf(error);
}

/** An error as it is shown: one of usage names the help of its command unless it has a hint. */
/** The words that name a command, such as `apply plan`; none if there is no such command. */
function nameCommand({ commands }: CommandUnknownOpts, words: readonly string[]): readonly string[] {
  const byName = new Map(commands.map((command) => [command.name(), command]));
  const at = words.findIndex((word) => byName.has(word));
  const command = byName.get(words[at] ?? '');
  return command === undefined ? [] : [command.name(), ...nameCommand(command, words.slice(at + 1))];
}

function withHelp(error: unknown, command: readonly string[]): unknown {
  if (error instanceof CommanderError) return usageError(error, command);
  if (!(error instanceof SvcError) || error.code !== 'usage' || error.hint !== undefined) return error;
  const { message, facts } = error;
  return new SvcError('usage', message, { hint: helpHint(command), facts, cause: error });
}

function usageError(error: CommanderError, command: readonly string[]): SvcError {
  const help = helpHint(command);
  if (error.code === 'commander.help') {
    return new SvcError('usage', `\`${command.join(' ')}\` is not complete.`, { hint: help });
  }
  const [sentence = error.message, suggestion] = error.message.replace(/^error: /, '').split('\n');
  const hint = suggestion?.replace(/^\((.*)\)$/, '$1') ?? help;
  return new SvcError('usage', `${sentence.replace(/\.$/, '')}.`, { hint });
}

function helpHint(command: readonly string[]): string {
  return `Run \`${['svc-migrate', ...command, '--help'].join(' ')}\`.`;
}

export function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise((done) => {
    stream.write(text, () => done());
  });
}

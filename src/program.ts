import type { Writable } from 'node:stream';
import { Command as CommanderCommand, CommanderError, Option } from 'commander';
import {
  COMMANDS,
  helpHint,
  incompleteCommand,
  isIncomplete,
  renderOverview,
  renderTopics,
} from './commands/catalogue/all.js';
import { COMMON_OPTIONS } from './commands/catalogue/options.js';
import {
  argumentsOf,
  type Command,
  configFlags,
  type Io,
  optionsOf,
  type RawOptions,
  sentenceOf,
  type Unparsed,
} from './commands/command.js';
import { describeOption, type ListedOption, listOptions } from './commands/option.js';
import type { Config } from './config/config.js';
import { readTopic } from './docs/topics.js';
import { exitCodeOf, SvcError } from './errors.js';
import type { Progress } from './progress.js';
import { readVersion } from './runtime/version.js';
import { addFlags, shellLine } from './text/escape.js';
import { wrapMessage } from './text/text-layout.js';

/** Width of text that is not written to a terminal, in columns. */
const PLAIN_WIDTH = 100;
/** Least width that `COLUMNS` may ask for. */
const MIN_WIDTH = 40;

/** What a command line uses of its process. */
export interface ProgramHost extends Pick<Io, 'env' | 'signal' | 'runUninterruptible'> {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly openInput: Unparsed['openInput'];
}

type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Parses a command line, runs its command, and prints its error, if any; returns the exit code. */
export async function runProgram(words: readonly string[], host: ProgramHost): Promise<number> {
  let code = 0;
  const program = buildProgram(host, async (command, given) => {
    code = await runWithProgress(command, given, host);
  });
  try {
    await program.parseAsync([...words], { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError && error.code === 'commander.help' && !isIncomplete(words)) {
      await write(host.stdout, renderOverview());
      return 0;
    }
    return reportError(error, words, host.stderr);
  }
}

type Runner = (command: Command, given: Unparsed) => Promise<void>;

interface Parser {
  readonly program: CommanderCommand;
  readonly host: ProgramHost;
  readonly runner: Runner;
}

function buildProgram(host: ProgramHost, runner: Runner): CommanderCommand {
  const program = configure(new CommanderCommand('svc-migrate'), host)
    .version(readVersion(), '-V, --version', 'print the version')
    .helpCommand(false)
    .configureHelp({ formatHelp: renderOverview });
  for (const option of listOptions(COMMON_OPTIONS)) program.addOption(buildOption(option));
  for (const command of COMMANDS) addCommand({ program, host, runner }, command);
  return program;
}

function configure(command: CommanderCommand, host: ProgramHost): CommanderCommand {
  return command
    .exitOverride()
    .helpOption('-h, --help', 'show this help')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => host.stdout.write(text),
      writeErr: () => {},
      getOutHelpWidth: () => widthOf(host),
    });
}

function addCommand(parser: Parser, command: Command): void {
  const { program, host, runner } = parser;
  const { name, summary, more, examples } = command;
  const [first = '', second] = name.split(' ');
  const parent = second === undefined ? program : groupOf(parser, first);
  const parsed = configure(parent.command(`${second ?? first} ${argumentsOf(command)}`.trim()), host);
  const lines = Object.entries(examples).map(([line, does]) => `  # ${does}\n  ${line}\n`);
  parsed.description([sentenceOf(summary), more ?? []].flat().join('\n\n')).summary(summary);
  for (const option of optionsOf(command)) parsed.addOption(buildOption(option));
  parsed.addHelpText('after', `\nExamples:\n${lines.join('')}`.trimEnd());
  parsed.action(async () => {
    const given = givenOf(parsed, command, host);
    if (name === 'help') await showHelp(parser, parsed.args, () => runner(command, given));
    else await runner(command, given);
  });
}

/** Prints the page of a topic, the options of a command, or both if they share a name. */
async function showHelp(
  { program, host }: Parser,
  names: readonly string[],
  printPage: () => Promise<void>,
): Promise<void> {
  if (names.length === 0) return write(host.stdout, `${renderOverview()}\n${renderTopics(widthOf(host))}`);
  const command = findCommand(program, names);
  const isTopic = readTopic(names.join(' ')) !== null;
  if (isTopic || command === undefined) await printPage();
  if (isTopic && command !== undefined) await write(host.stdout, '\n');
  command?.outputHelp();
}

/** Finds a command by its words. */
function findCommand(program: CommanderCommand, names: readonly string[]): CommanderCommand | undefined {
  return names.reduce<CommanderCommand | undefined>(
    (parent, name) => parent?.commands.find((command) => command.name() === name),
    program,
  );
}

/** The command that groups others, such as `apply`. */
function groupOf({ program, host }: Parser, name: string): CommanderCommand {
  const known = program.commands.find((command) => command.name() === name);
  if (known !== undefined) return known;
  const names = COMMANDS.flatMap((command) => (command.name.startsWith(`${name} `) ? [command.name] : []));
  return configure(program.command(name), host).description(names.join(', '));
}

function buildOption(listed: ListedOption): Option {
  const option = new Option(listed.flags, describeOption(listed));
  return listed.isList ? option.argParser<string[]>((value, before) => [...(before ?? []), value]) : option;
}

function givenOf(parsed: CommanderCommand, command: Command, host: ProgramHost): Unparsed {
  const { options, runsWithoutTargets = false } = command;
  const raw = rawOptions(parsed, [...options, ...listOptions(COMMON_OPTIONS)]);
  const flags = configFlags(raw);
  let config: Promise<Config> | undefined;
  const load = async () => {
    const { loadConfig } = await import('./config/load-config.js');
    return loadConfig({ env: host.env, flags, nowMs: Date.now(), isWithoutTargets: runsWithoutTargets });
  };
  return {
    raw,
    commands: COMMANDS,
    openInput: host.openInput,
    config: () => {
      config ??= load();
      return config;
    },
  };
}

/** What was typed. Commander keeps `--no-color` as `color: false`, and arguments apart from options. */
function rawOptions(parsed: CommanderCommand, options: readonly ListedOption[]): RawOptions {
  const values: Readonly<Record<string, unknown>> = parsed.optsWithGlobals();
  const places = options.filter(({ role }) => role === 'argument');
  const raw = options.map(({ name, role, flags, value }) => {
    if (role === 'argument')
      return [name, parsed.processedArgs[places.findIndex((one) => one.name === name)]];
    if (value !== null || !flags.startsWith('--no-')) return [name, values[name]];
    return [name, values[name.charAt(2).toLowerCase() + name.slice(3)] === false];
  });
  return Object.fromEntries(raw);
}

/** Runs a command, with its output files replaced as `runWithOutputs` says. */
export async function runCommand(command: Command, given: Unparsed, io: Io): Promise<number> {
  const writesFiles = command.options.some(
    ({ role, name }) => role === 'output' && given.raw[name] !== undefined,
  );
  if (!writesFiles) return command.run(given, io);
  const { runWithOutputs } = await import('./commands/with-outputs.js');
  return runWithOutputs(command, given, io);
}

async function runWithProgress(command: Command, given: Unparsed, host: ProgramHost): Promise<number> {
  const { createProgress } = await import('./progress.js');
  const { stderr, env } = host;
  const { quiet, verbose } = given.raw;
  const isTty = stderr.isTTY === true;
  const isColored = !isColorOff(given.raw, env);
  const progress: Progress = await createProgress({
    stream: stderr,
    isTty,
    width: () => stderr.columns ?? PLAIN_WIDTH,
    color: isColored && isTty,
    quiet: quiet === true,
    verbose: verbose === true,
    clock: { now: Date.now },
  });
  try {
    const code = await runCommand(command, given, buildIo(given.raw, host, isColored, progress));
    progress.stop('done');
    return code;
  } catch (error) {
    progress.stop('failed');
    throw withFlags(error, flagsOf(given.raw));
  }
}

/** The error with `flags` added to the commands in its hint. */
function withFlags(error: unknown, flags: string): unknown {
  if (!(error instanceof SvcError) || error.hint === undefined || flags === '') return error;
  const { code, message, facts, cause } = error;
  return new SvcError(code, message, { hint: addFlags(error.hint, flags), facts, cause });
}

function buildIo(raw: RawOptions, host: ProgramHost, isColored: boolean, progress: Progress): Io {
  const { stdout, stderr, env, signal, runUninterruptible } = host;
  const isTty = stdout.isTTY === true;
  return {
    stdout: progress.clearBefore(stdout),
    stderr: progress.clearBefore(stderr, (text) => wrapFor(stderr, text)),
    env,
    clock: { now: Date.now },
    isTty,
    width: widthOf(host),
    color: isTty && isColored,
    signal,
    onProgress: progress.onProgress,
    runUninterruptible,
    flags: flagsOf(raw),
    verbose: raw['verbose'] === true,
  };
}

/**
 * Width of what goes to stdout. A pipe mostly ends on the terminal that shows stderr, as in `| less`, and otherwise on one
 * that `COLUMNS` describes.
 */
function widthOf({ stdout, stderr, env }: Pick<ProgramHost, 'stdout' | 'stderr' | 'env'>): number {
  const [columns = '0'] = /^\d{1,5}$/.exec(env['COLUMNS'] ?? '') ?? [];
  const own = Number(columns) >= MIN_WIDTH ? Number(columns) : PLAIN_WIDTH;
  return stdout.columns ?? Math.min(PLAIN_WIDTH, stderr.columns ?? own);
}

/** A message as a terminal shows it; elsewhere lines stay whole, for programs that read them. */
function wrapFor({ isTTY, columns }: Output, text: string): string {
  return isTTY === true && columns !== undefined ? wrapMessage(text, columns) : text;
}

/** The options that a printed command needs to concern the same configuration and database. */
function flagsOf(raw: RawOptions): string {
  const words = Object.entries(configFlags(raw)).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  return words.length === 0 ? '' : ` ${shellLine(words)}`;
}

/** Whether `--no-color`, NO_COLOR (https://no-color.org) or the terminal rules out color. */
function isColorOff({ noColor }: RawOptions, { NO_COLOR = '', TERM }: Io['env']): boolean {
  return noColor === true || NO_COLOR !== '' || TERM === 'dumb';
}

/** Prints an error, once; returns its exit code. */
async function reportError(error: unknown, words: readonly string[], stderr: Output): Promise<number> {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? 0 : reportError(usageError(error, words), words, stderr);
  }
  if (error instanceof SvcError && error.code === 'usage' && error.hint === undefined) {
    const { message, facts } = error;
    const hinted = new SvcError('usage', message, { hint: helpHint(words), facts, cause: error });
    return reportError(hinted, words, stderr);
  }
  const isPipe = error instanceof SvcError && error.code === 'output' && error.facts['error'] === 'EPIPE';
  if (!isPipe) {
    const { describeError } = await import('./text/describe-error.js');
    await write(stderr, wrapFor(stderr, describeError(error, words.includes('--verbose'))));
  }
  return exitCodeOf(error);
}

/** Turns an error of the parser into an SvcError, with its suggestion as the hint. */
function usageError(error: CommanderError, words: readonly string[]): SvcError {
  if (error.code === 'commander.help') return incompleteCommand(words);
  const [, sentence = error.message] = /^(?:error: )?(.*)/.exec(error.message) ?? [];
  const meant = /\(Did you mean (?:one of )?(.*)\?\)/.exec(error.message)?.[1];
  const hint = meant === undefined ? helpHint(words) : `Did you mean "${meant.replaceAll(', ', '" or "')}"?`;
  return new SvcError('usage', `${sentence.replace(/\.$/, '')}.`, { hint });
}

/** Writes text, and waits until it is written. */
export function write(stream: Writable, text: string): Promise<void> {
  return new Promise((done) => {
    stream.write(text, () => done());
  });
}

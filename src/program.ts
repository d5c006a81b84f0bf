import type { Writable } from 'node:stream';
import { Command, CommanderError, Option } from 'commander';
import { HostLimits } from './api/limiter.js';
import { COMMANDS, helpHint, noCommand } from './commands/catalogue/all.js';
import { COMMON_OPTIONS } from './commands/catalogue/options.js';
import {
  type CommandLine,
  type CommandSpec,
  type Io,
  type ListedOption,
  listOptions,
  sentenceOf,
} from './commands/command.js';
import { readTopic, TOPICS } from './docs/topics.js';
import { exitCodeOf, SvcError } from './errors.js';
import type { Progress } from './progress.js';
import { readVersion } from './runtime/version.js';
import { addFlags, shellLine } from './text/escape.js';
import { wrapMessage } from './text/text-layout.js';

/** Width of text that is not written to a terminal, in columns. */
const PLAIN_WIDTH = 100;

/** What a command line uses of its process. */
export interface ProgramHost extends Pick<Io, 'env' | 'signal' | 'runUninterruptible'> {
  readonly stdout: Output;
  readonly stderr: Output;
  /** Opens standard input. Not every command reads it. */
  readonly openInput: () => CommandLine['input'];
}

type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Parses a command line, runs its command, and prints its error, if any; returns the exit code. */
export async function runProgram(words: readonly string[], host: ProgramHost): Promise<number> {
  let code = 0;
  const program = buildProgram(host, async (spec, given) => {
    code = await runCommand(spec, given, host);
  });
  try {
    await program.parseAsync([...words], { from: 'user' });
    return code;
  } catch (error) {
    return reportError(error, words, host.stderr);
  }
}

type Runner = (spec: CommandSpec, given: CommandLine) => Promise<void>;

interface Parser {
  readonly program: Command;
  readonly groups: Map<string, Command>;
  readonly host: ProgramHost;
  readonly runner: Runner;
}

function buildProgram(host: ProgramHost, runner: Runner): Command {
  const program = configure(new Command('svc-migrate'), host);
  program
    .description('Remap stored V3 svc_ids to V4, report every gap with its reason, gate the cutover.')
    .version(readVersion(), '-V, --version', 'print the version')
    .helpCommand(false)
    .addHelpText('after', `\n${describeTopics()}`);
  for (const option of listOptions(COMMON_OPTIONS)) program.addOption(buildOption(option));
  const groups = new Map<string, Command>();
  for (const spec of COMMANDS) addCommand({ program, groups, host, runner }, spec);
  return program;
}

function describeTopics(): string {
  const pages = TOPICS.map(({ name, summary }) => `  ${name.padEnd(12)}  ${summary}`);
  const hint = 'Run `svc-migrate help COMMAND` for the options and examples of a command.';
  return ['Topics (svc-migrate help TOPIC):', ...pages, '', hint].join('\n');
}

function configure(command: Command, { stdout, stderr }: ProgramHost): Command {
  return command
    .exitOverride()
    .helpOption('-h, --help', 'show this help')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: () => {},
      getOutHelpWidth: () => widthOf(stdout, stderr),
    });
}

function addCommand(parser: Parser, spec: CommandSpec): void {
  const { program, host, runner } = parser;
  const [first = '', second] = spec.name.split(' ');
  const parent = second === undefined ? program : groupOf(parser, first);
  const command = configure(parent.command(`${second ?? first} ${spec.args ?? ''}`.trim()), host);
  const examples = Object.entries(spec.examples).map(([line, does]) => `  # ${does}\n  ${line}`);
  const sentence = sentenceOf(spec.summary);
  const described = spec.more === undefined ? sentence : `${sentence}\n\n${spec.more}`;
  const ahead = spec.examplesFirst ? `\n\nExamples:\n${examples.join('\n')}` : '';
  command.description(described + ahead).summary(spec.summary);
  for (const option of listOptions(spec.options)) command.addOption(buildOption(option));
  if (ahead === '') command.addHelpText('after', `\nExamples:\n${examples.join('\n')}`);
  command.action(async () => {
    const given = givenOf(command, host);
    if (spec.name === 'help') await showHelp(parser, command.args, () => runner(spec, given));
    else await runner(spec, given);
  });
}

/** Prints the page of a topic, the options of a command, or both if they share a name. */
async function showHelp(
  { program, host }: Parser,
  names: readonly string[],
  printPage: () => Promise<void>,
): Promise<void> {
  const command = findCommand(program, names);
  const isTopic = readTopic(names.join(' ')) !== null;
  if (isTopic || command === undefined) await printPage();
  if (isTopic && command !== undefined) await write(host.stdout, '\n');
  command?.outputHelp();
}

/** Finds a command by its words; without words, the program itself. */
function findCommand(program: Command, names: readonly string[]): Command | undefined {
  return names.reduce<Command | undefined>(
    (parent, name) => parent?.commands.find((command) => command.name() === name),
    program,
  );
}

/** The command that groups others, such as `export`. */
function groupOf({ program, groups, host }: Parser, name: string): Command {
  const known = groups.get(name);
  if (known !== undefined) return known;
  const names = COMMANDS.filter((spec) => spec.name.startsWith(`${name} `)).map((spec) => spec.name);
  const group = configure(program.command(name), host).description(names.join(', '));
  groups.set(name, group);
  return group;
}

function buildOption({ flags, summary, repeatable, choices, group }: ListedOption): Option {
  const option = new Option(flags, summary);
  if (group !== undefined) option.helpGroup(`${group}:`);
  if (choices !== undefined) option.choices(choices);
  return repeatable === undefined
    ? option
    : option.argParser<string[]>((value, before) => [...(before ?? []), value]);
}

function givenOf(command: Command, { env, openInput }: ProgramHost): CommandLine {
  const values: Readonly<Record<string, unknown>> = command.optsWithGlobals();
  const text = (name: string) => (typeof values[name] === 'string' ? values[name] : undefined);
  return {
    args: command.args,
    text,
    texts: (name) => (Array.isArray(values[name]) ? values[name].map(String) : []),
    isSet: (name) => values[name] === true,
    get input() {
      return openInput();
    },
    config: async () => {
      const { loadConfig } = await import('./config/load-config.js');
      const flags = { config: text('config'), db: text('db') };
      return loadConfig({ env, flags, nowMs: Date.now() });
    },
  };
}

async function runCommand(spec: CommandSpec, given: CommandLine, host: ProgramHost): Promise<number> {
  const { createProgress } = await import('./progress.js');
  const { stderr, env } = host;
  const isTty = stderr.isTTY === true;
  const isColored = !isColorOff(given, env);
  const progress: Progress = await createProgress({
    stream: stderr,
    isTty,
    width: () => stderr.columns ?? PLAIN_WIDTH,
    color: isColored && isTty,
    quiet: given.isSet('quiet'),
    verbose: given.isSet('verbose'),
    clock: { now: Date.now },
  });
  try {
    const run = await spec.load();
    const code = await run(given, buildIo(given, host, isColored, progress));
    progress.stop('done');
    return code;
  } catch (error) {
    progress.stop('failed');
    throw withFlags(error, flagsOf(given));
  }
}

/** The error with `flags` added to the commands in its hint. */
function withFlags(error: unknown, flags: string): unknown {
  if (!(error instanceof SvcError) || error.hint === undefined || flags === '') return error;
  const { code, message, facts, cause } = error;
  return new SvcError(code, message, { hint: addFlags(error.hint, flags), facts, cause });
}

function buildIo(given: CommandLine, host: ProgramHost, isColored: boolean, progress: Progress): Io {
  const { stdout, stderr, env, signal, runUninterruptible } = host;
  const isTty = stdout.isTTY === true;
  return {
    stdout: progress.clearBefore(stdout),
    stderr: progress.clearBefore(stderr, (text) => wrapFor(stderr, text)),
    env,
    clock: { now: Date.now },
    isTty,
    width: widthOf(stdout, stderr),
    color: isTty && isColored,
    signal,
    onProgress: progress.onProgress,
    hostLimits: new HostLimits(),
    runUninterruptible,
    flags: flagsOf(given),
    verbose: given.isSet('verbose'),
  };
}

/** Width of what goes to stdout. A pipe mostly ends on the terminal that shows stderr, as in `| less`. */
function widthOf(stdout: Output, stderr: Output): number {
  return stdout.columns ?? Math.min(PLAIN_WIDTH, stderr.columns ?? PLAIN_WIDTH);
}

/** A message as a terminal shows it; elsewhere lines stay whole, for programs that read them. */
function wrapFor({ isTTY, columns }: Output, text: string): string {
  return isTTY === true && columns !== undefined ? wrapMessage(text, columns) : text;
}

/** The options that a printed command needs to concern the same configuration and database. */
function flagsOf(given: CommandLine): string {
  const words = ['config', 'db'].flatMap((name) => {
    const value = given.text(name);
    return value === undefined ? [] : [`--${name}`, value];
  });
  return words.length === 0 ? '' : ` ${shellLine(words)}`;
}

/** Whether `--no-color`, NO_COLOR (https://no-color.org) or the terminal rules out color. */
function isColorOff(given: CommandLine, { NO_COLOR = '', TERM }: Io['env']): boolean {
  return !given.isSet('color') || NO_COLOR !== '' || TERM === 'dumb';
}

/** Prints an error, once; returns its exit code. */
async function reportError(error: unknown, words: readonly string[], stderr: Output): Promise<number> {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    return reportError(usageError(error, words), words, stderr);
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
  if (error.code === 'commander.help') return noCommand(words);
  const [, sentence = error.message] = /^(?:error: )?(.*)/.exec(error.message) ?? [];
  const meant = /\(Did you mean (.*)\?\)/.exec(error.message)?.[1];
  const hint = meant === undefined ? helpHint(words) : `Did you mean ${meant}?`;
  return new SvcError('usage', `${sentence.replace(/\.$/, '')}.`, { hint });
}

/** Writes text, and waits until it is written. */
export function write(stream: Writable, text: string): Promise<void> {
  return new Promise((done) => {
    stream.write(text, () => done());
  });
}

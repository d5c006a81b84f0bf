import process from 'node:process';
import { Command, CommanderError, Option } from 'commander';
import { HostLimits } from './api/limiter.js';
import { COMMANDS } from './commands/catalogue/all.js';
import { COMMON_OPTIONS } from './commands/catalogue/options.js';
import { type CommandSpec, type Given, type ListedOption, listOptions } from './commands/command.js';
import type { Io } from './commands/io.js';
import { helpHint, noCommand } from './commands/usage-hints.js';
import { readTopic, TOPICS } from './docs/topics.js';
import { errorCodeOf, exitCodeOf, SvcError } from './errors.js';
import type { Progress } from './progress.js';
import { throwIfInterrupted } from './runtime/pause.js';
import { readVersion } from './version.js';

/** Exit codes of the signals that stop a command: 128 + their number. */
const EXIT_BY_SIGNAL = { SIGINT: 130, SIGTERM: 143 } as const;
type StopSignal = keyof typeof EXIT_BY_SIGNAL;

/** Longest time for work to stop, ms, so that a signal ends the process within two seconds. */
const STOP_WITHIN_MS = 1500;

/** Width of text that is not written to a terminal, in columns. */
const PLAIN_WIDTH = 100;

/** The stop that signals request; `signal` is the first one received. */
interface Stop {
  readonly controller: AbortController;
  signal: StopSignal | null;
  runUninterruptible: Io['runUninterruptible'];
}

process.exitCode = await main(process.argv.slice(2));
process.exit();

async function main(words: readonly string[]): Promise<number> {
  let exitCode = 0;
  const stop: Stop = {
    controller: new AbortController(),
    signal: null,
    runUninterruptible: async (work) => work(),
  };
  watchSignals(stop);
  watchPipes();
  const program = buildProgram(async (spec, given) => {
    exitCode = await runCommand(spec, given, stop);
  });
  try {
    await program.parseAsync([...words], { from: 'user' });
  } catch (error) {
    exitCode = await reportError(error, words);
  }
  await flush();
  return stop.signal === null ? exitCode : EXIT_BY_SIGNAL[stop.signal];
}

type Runner = (spec: CommandSpec, given: Given) => Promise<void>;

function buildProgram(runner: Runner): Command {
  const program = configure(new Command('svc-migrate'));
  program
    .description('Remap stored V3 svc_ids to V4, report every gap with its reason, gate the cutover.')
    .version(readVersion(), '-V, --version', 'print the version')
    .helpCommand(false)
    .addHelpText('after', `\n${describeTopics()}`);
  for (const option of listOptions(COMMON_OPTIONS)) program.addOption(buildOption(option));
  const groups = new Map<string, Command>();
  for (const spec of COMMANDS) addCommand(program, groups, spec, runner);
  return program;
}

function describeTopics(): string {
  const pages = TOPICS.map(({ name, summary }) => `  ${name.padEnd(12)}  ${summary}`);
  const hint = 'Run `svc-migrate help COMMAND` for the options and examples of a command.';
  return ['Topics (svc-migrate help TOPIC):', ...pages, '', hint].join('\n');
}

function configure(command: Command): Command {
  return command
    .exitOverride()
    .helpOption('-h, --help', 'show this help')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeErr: () => {}, getOutHelpWidth: () => process.stdout.columns ?? PLAIN_WIDTH });
}

function addCommand(program: Command, groups: Map<string, Command>, spec: CommandSpec, runner: Runner): void {
  const [first = '', second] = spec.name.split(' ');
  const parent = second === undefined ? program : groupOf(program, groups, first);
  const command = configure(parent.command(`${second ?? first} ${spec.args ?? ''}`.trim()));
  command
    .description(spec.more === undefined ? spec.summary : `${spec.summary}\n\n${spec.more}`)
    .summary(spec.summary);
  for (const option of listOptions(spec.options)) command.addOption(buildOption(option));
  const examples = Object.entries(spec.examples).map(([line, does]) => `  # ${does}\n  ${line}`);
  command.addHelpText('after', `\nExamples:\n${examples.join('\n')}`);
  command.action(async () => {
    if (spec.name === 'help') await showHelp(program, command.args, () => runner(spec, givenOf(command)));
    else await runner(spec, givenOf(command));
  });
}

/** Prints the page of a topic, the options of a command, or both if they share a name. */
async function showHelp(
  program: Command,
  names: readonly string[],
  printPage: () => Promise<void>,
): Promise<void> {
  const command = findCommand(program, names);
  const isTopic = readTopic(names.join(' ')) !== null;
  if (isTopic || command === undefined) await printPage();
  if (isTopic && command !== undefined) await write(process.stdout, '\n');
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
function groupOf(program: Command, groups: Map<string, Command>, name: string): Command {
  const known = groups.get(name);
  if (known !== undefined) return known;
  const names = COMMANDS.filter((spec) => spec.name.startsWith(`${name} `)).map((spec) => spec.name);
  const group = configure(program.command(name)).description(names.join(', '));
  groups.set(name, group);
  return group;
}

function buildOption({ flags, summary, repeatable, choices }: ListedOption): Option {
  const option = new Option(flags, summary);
  if (choices !== undefined) option.choices(choices);
  return repeatable === undefined
    ? option
    : option.argParser<string[]>((value, before) => [...(before ?? []), value]);
}

function givenOf(command: Command): Given {
  const values: Readonly<Record<string, unknown>> = command.optsWithGlobals();
  const text = (name: string) => (typeof values[name] === 'string' ? values[name] : undefined);
  return {
    args: command.args,
    text,
    texts: (name) => (Array.isArray(values[name]) ? values[name].map(String) : []),
    isSet: (name) => values[name] === true,
    // Opened on first use: not every command reads it.
    get input() {
      return process.stdin;
    },
    config: async () => {
      const { loadConfig } = await import('./config/load-config.js');
      const flags = { config: text('config'), db: text('db') };
      return loadConfig({ env: process.env, flags, nowMs: Date.now() });
    },
  };
}

async function runCommand(spec: CommandSpec, given: Given, stop: Stop): Promise<number> {
  const { createProgress } = await import('./progress.js');
  const isColored = !isColorOff(given);
  const progress: Progress = await createProgress({
    stream: process.stderr,
    isTty: process.stderr.isTTY,
    width: () => process.stderr.columns ?? PLAIN_WIDTH,
    color: isColored && process.stderr.isTTY,
    quiet: given.isSet('quiet'),
    verbose: given.isSet('verbose'),
    clock: { now: Date.now },
  });
  try {
    const run = await spec.load();
    const exitCode = await run(given, buildIo(stop, isColored, progress));
    progress.stop('done');
    return exitCode;
  } catch (error) {
    progress.stop('failed');
    throw error;
  }
}

function buildIo(stop: Stop, isColored: boolean, progress: Progress): Io {
  const isTty = process.stdout.isTTY;
  return {
    stdout: isTty ? progress.makeRoomFor(process.stdout) : process.stdout,
    stderr: progress.makeRoomFor(process.stderr),
    env: process.env,
    clock: { now: Date.now },
    isTty,
    width: process.stdout.columns ?? PLAIN_WIDTH,
    color: isTty && isColored,
    signal: stop.controller.signal,
    onProgress: progress.onProgress,
    hostLimits: new HostLimits(),
    runUninterruptible: (work) => stop.runUninterruptible(work),
  };
}

/** Whether `--no-color`, NO_COLOR (https://no-color.org) or the terminal rules out color. */
function isColorOff(given: Given): boolean {
  const { NO_COLOR = '', TERM } = process.env;
  return !given.isSet('color') || NO_COLOR !== '' || TERM === 'dumb';
}

/** Prints an error, once; returns its exit code. */
async function reportError(error: unknown, words: readonly string[]): Promise<number> {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    return reportError(usageError(error, words), words);
  }
  if (error instanceof SvcError && error.code === 'usage' && error.hint === undefined) {
    const { message, facts } = error;
    return reportError(new SvcError('usage', message, { hint: helpHint(words), facts, cause: error }), words);
  }
  const isPipe = error instanceof SvcError && error.code === 'output' && error.facts['error'] === 'EPIPE';
  if (!isPipe) {
    const { describeError } = await import('./text/describe-error.js');
    await write(process.stderr, describeError(error, words.includes('--verbose')));
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

/** The first signal asks the work to stop, and ends the process if it does not stop in time; the second ends it at once. */
function watchSignals(stop: Stop): void {
  const onSignal = (signal: StopSignal) => {
    if (stop.signal !== null) leaveAtOnce(signal);
    stop.signal = signal;
    process.stderr.write('\nStopping; press Ctrl-C again to leave at once.\n');
    setTimeout(() => leaveAtOnce(signal), STOP_WITHIN_MS).unref();
    // The name is that of the default reason; the message says which signal it was.
    stop.controller.abort(new DOMException(signal, 'AbortError'));
  };
  const listen = () => {
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  };
  listen();
  // Without a listener, a signal ends the process even while the thread is busy.
  stop.runUninterruptible = async (work) => {
    // Node.js delivers signals once per turn of the event loop. A signal still pending when its listener is removed
    // would be lost.
    await throwIfInterrupted(stop.controller.signal);
    await throwIfInterrupted(stop.controller.signal);
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
    try {
      return work();
    } finally {
      listen();
    }
  };
}

/**
 * Ends the process by the signal itself: `process.exit` would wait for a thread inside a long SQLite statement. A
 * shell sees 130 or 143 either way.
 */
function leaveAtOnce(signal: StopSignal): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** Handles a closed pipe, as with `| head`, without a stack trace: the exit code tells that output was cut off. */
function watchPipes(): void {
  process.stdout.on('error', (error) => {
    if (errorCodeOf(error) !== 'EPIPE') {
      process.stderr.write(`svc-migrate: cannot write stdout: ${error.message}\n`);
    }
    process.exit(exitCodeOf(new SvcError('output', 'stdout was cut')));
  });
  process.stderr.on('error', () => {});
}

/** Waits until all text is written, and lets `watchPipes` handle a closed pipe. */
async function flush(): Promise<void> {
  await write(process.stdout, '');
  await write(process.stderr, '');
  await new Promise((done) => setImmediate(done));
}

function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((done) => {
    stream.write(text, () => done());
  });
}

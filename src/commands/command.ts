import type { Readable, Writable } from 'node:stream';
import type { Config } from '../config/config.js';
import type { Env, OnProgress, RunUninterruptible } from '../domain.js';
import { SvcError } from '../errors.js';
import { didYouMean } from '../text/suggest.js';
import type * as z from '../zod.js';
import { flagOf, type ListedOption, listOptions } from './option.js';

/** Limits a command to configured models and company ids; empty: no limit. */
export interface Narrowing {
  readonly models: readonly string[];
  readonly companies: readonly bigint[];
}

/** Input and output of a command, created by `program.ts` and by tests. */
export interface Io {
  /** Results. */
  readonly stdout: Writable;
  /** Progress and warnings. Errors are printed by `program.ts`. */
  readonly stderr: Writable;
  readonly env: Env;
  /** ms since 1970. */
  readonly clock: { readonly now: () => number };
  /** Whether stdout is a terminal. */
  readonly isTty: boolean;
  /** Columns of the longest line of text. */
  readonly width: number;
  readonly color: boolean;
  /** Aborted by SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
  readonly runUninterruptible: RunUninterruptible;
  /** `--config` and `--db` as they were given. Commands that are printed for the user to run repeat them. */
  readonly flags?: string;
  /** Print everything that is known, not only the most important. */
  readonly verbose?: boolean;
}

/** The part of `Io` that work in another thread gets. */
export interface WorkIo extends Pick<Io, 'env' | 'clock' | 'width' | 'signal' | 'onProgress'> {
  /** When the command began, ms since 1970. */
  readonly startMs: number;
}

/** Standard input. */
export type Input = Readable & { readonly isTTY?: boolean };

/** A command line after parsing. */
export interface Given<Options> {
  readonly options: Options;
  /** What was typed. */
  readonly raw: RawOptions;
  /** All commands, for those that explain them. */
  readonly commands: readonly Command[];
  /** Standard input, which not every command reads. */
  openInput(): Input;
  /**
   * The configuration, from file, environment and flags.
   *
   * @throws SvcError `config`
   */
  config(): Promise<Config>;
}

/** What is typed, by the names of the options; a flag is `true`. */
export type RawOptions = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** Everything there is to know about a command; parsing, help, completion and the reference follow from it. */
export interface CommandDefinition<Options extends z.ZodObject> {
  /** One or two words, such as `export v3`. */
  readonly name: string;
  /** The start of a sentence, such as `list the runs`. */
  readonly summary: string;
  /** Further text for its help. */
  readonly more?: string;
  /** Arguments in their order, and options: made by the functions of `option.ts`. */
  readonly options: Options;
  /** Pairs of options of which only one can be given. */
  readonly conflicts?: readonly (readonly [one: keyof Options['shape'], other: keyof Options['shape']])[];
  /** Options that mean nothing without another one. */
  readonly needs?: readonly (readonly [one: keyof Options['shape'], needed: keyof Options['shape']])[];
  /** Whether it is run without a valid configuration, too: `config` of its command line is then rejected. */
  readonly runsWithoutConfig?: true;
  /** Whether it needs neither limits nor targets: mistakes in these parts of the configuration do not stop it. */
  readonly runsWithoutTargets?: true;
  /** Command lines, each with its explanation. */
  readonly examples: Readonly<Record<string, string>>;
}

/** The types that the values of a command's options have. */
export type OptionsOf<Definition extends { readonly options: z.ZodObject }> = z.output<Definition['options']>;

/** A command line of the command with this definition. */
export type GivenTo<Definition extends { readonly options: z.ZodObject }> = Given<OptionsOf<Definition>>;

/** A command, whatever the types of its options are. */
export interface Command
  extends Pick<
    CommandDefinition<z.ZodObject>,
    'name' | 'summary' | 'more' | 'examples' | 'runsWithoutConfig' | 'runsWithoutTargets'
  > {
  readonly options: readonly ListedOption[];
  /**
   * Parses the options and runs the command.
   *
   * @throws SvcError `usage` for a value that an option does not take, and options that do not go together
   */
  readonly run: (given: Unparsed, io: Io) => Promise<number>;
  readonly load: () => Promise<Omit<CommandModule<never>, 'run'>>;
}

/** What a command runs, and what else only it knows: a module that help does not need. */
export interface CommandModule<Options> {
  readonly run: (given: Given<Options>, io: Io) => Promise<number>;
  /** The schema of its JSON, or of a line of it. */
  readonly schema?: z.ZodType;
  /**
   * Names further files that no output may replace, besides those of the configuration and `input` options. It may throw, too: no
   * output has been touched by then. Without a valid configuration it gets null.
   */
  readonly listInputs?: (raw: RawOptions, config: Config | null) => readonly string[];
}

/** A command line whose options are not parsed yet. */
export type Unparsed = Omit<Given<unknown>, 'options'>;

export function defineCommand<Options extends z.ZodObject>(
  definition: CommandDefinition<Options>,
): CommandDefinition<Options> {
  return definition;
}

/** A command with what it runs. */
export function runs<Options extends z.ZodObject>(
  definition: CommandDefinition<Options>,
  load: () => Promise<CommandModule<z.output<Options>>>,
): Command {
  return {
    ...definition,
    load,
    options: listOptions(definition.options),
    run: async (given, io) => {
      const options = parseOptions(definition, given.raw);
      return (await load()).run({ ...given, options }, io);
    },
  };
}

/** `--config` and `--db`, which every command has. */
export function configFlags({ config, db }: RawOptions): {
  readonly config: string | undefined;
  readonly db: string | undefined;
} {
  const textOf = (value: RawOptions[string]) => (typeof value === 'string' ? value : undefined);
  return { config: textOf(config), db: textOf(db) };
}

/** The typed values of what was given on a command line. */
export function parseOptions<Options extends z.ZodObject>(
  {
    options,
    conflicts = [],
    needs = [],
  }: Pick<CommandDefinition<Options>, 'options' | 'conflicts' | 'needs'>,
  raw: RawOptions,
): z.output<Options> {
  const given = Object.fromEntries(Object.entries(raw).filter(([, value]) => value !== undefined));
  const isGiven = (name: PropertyKey) => Object.hasOwn(given, name) && given[String(name)] !== false;
  for (const [one, other] of conflicts) {
    if (!isGiven(one) || !isGiven(other)) continue;
    throw new SvcError('usage', `${flagOf(String(one))} cannot be combined with ${flagOf(String(other))}.`);
  }
  for (const [one, needed] of needs) {
    if (!isGiven(one) || isGiven(needed)) continue;
    throw new SvcError('usage', `${flagOf(String(one))} needs ${flagOf(String(needed))}.`);
  }
  const { data, error } = options.safeParse(given);
  if (error === undefined) return data;
  const [issue] = error.issues;
  const named = listOptions(options).find(({ name }) => name === issue?.path[0]);
  if (issue === undefined || named === undefined) throw error;
  throw wrongValue(named, valueAt(given, issue.path), issue.message);
}

function valueAt(given: RawOptions, [name = '', at = 0]: readonly PropertyKey[]): string {
  const value = given[String(name)];
  return String(typeof value === 'object' ? value[Number(at)] : value);
}

function wrongValue({ flags, role, choices }: ListedOption, value: string, takes: string): SvcError {
  const what = role === 'argument' ? flags.replace(/\W+/g, '') : flags.replace(/ .*/, '');
  const isChoice = choices.length > 0;
  const sentence = isChoice ? `"${value}" is no value for ${what}.` : `${what} ${takes}, not "${value}".`;
  return new SvcError('usage', sentence, {
    hint: isChoice ? (didYouMean(value, choices) ?? undefined) : undefined,
  });
}

/** The arguments of a command as its usage shows them: `<model> [ids...]`. */
export function argumentsOf({ options }: Pick<Command, 'options'>): string {
  return options.flatMap(({ role, flags }) => (role === 'argument' ? [flags] : [])).join(' ');
}

/** A summary as a sentence: `list the runs` → `List the runs.` */
export function sentenceOf(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}

/** The options of a command, without its arguments. */
export function optionsOf({ options }: Pick<Command, 'options'>): ListedOption[] {
  return options.filter(({ role }) => role !== 'argument');
}

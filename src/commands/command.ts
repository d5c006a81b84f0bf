import type { Config } from '../config/config.js';
import type { Io } from './io.js';

/** Options by their flags as the parser takes them, such as `--json <file>`: what an option does, or more about it. */
export type OptionSpecs = Readonly<Record<string, string | OptionSpec>>;

interface OptionSpec {
  readonly says: string;
  /** May be given several times; each time adds a value. */
  readonly repeatable?: true;
  readonly choices?: readonly string[];
}

export interface ListedOption extends OptionSpec {
  readonly flags: string;
}

export function listOptions(options: OptionSpecs): ListedOption[] {
  return Object.entries(options).map(([flags, spec]) =>
    typeof spec === 'string' ? { flags, says: spec } : { flags, ...spec },
  );
}

/** Does what a command is for; returns the exit code. */
export type RunCommand = (given: Given, io: Io) => Promise<number>;

/** A command as users see it. */
export interface CommandSpec {
  /** One or two words, such as `export v3`. */
  readonly name: string;
  /** As the parser takes it, such as `<model> [ids...]`. */
  readonly args?: string;
  readonly says: string;
  /** More than one line's worth, for `--help`. */
  readonly more?: string;
  readonly options: OptionSpecs;
  /** Command lines, and what each does. */
  readonly examples: Readonly<Record<string, string>>;
  /** Loads what the command needs: help does without. */
  readonly load: () => Promise<RunCommand>;
}

/** The command line after parsing. */
export interface Given {
  readonly args: readonly string[];
  /** Value of an option such as `json`; undefined where it was not given. */
  text(name: string): string | undefined;
  /** All values of a repeatable option. */
  texts(name: string): readonly string[];
  isSet(name: string): boolean;
  /** What is piped or typed in. */
  readonly input: NodeJS.ReadStream;
  /**
   * The configuration, from file, environment and flags.
   *
   * @throws SvcError `config`
   */
  config(): Promise<Config>;
}

/** What narrows a command: configured model names and company ids; empty is everything. */
export interface Narrowing {
  readonly models: readonly string[];
  readonly companies: readonly bigint[];
}

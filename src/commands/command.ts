import type { Readable, Writable } from 'node:stream';
import type { HostLimits } from '../api/limiter.js';
import type { Config } from '../config/config.js';
import type { Env, OnProgress, RunUninterruptible } from '../domain.js';

/** Options by their flags in the syntax of Commander, such as `--json <file>`: their help text, or a full spec. */
export type OptionSpecs = Readonly<Record<string, string | OptionSpec>>;

interface OptionSpec {
  readonly summary: string;
  /** Whether it may be given several times, each adding a value. */
  readonly repeatable?: true;
  readonly choices?: readonly string[];
  /** The heading that help lists it under; `Options` without one. */
  readonly group?: string;
}

export interface ListedOption extends OptionSpec {
  readonly flags: string;
}

export function listOptions(options: OptionSpecs): ListedOption[] {
  return Object.entries(options).map(([flags, spec]) =>
    typeof spec === 'string' ? { flags, summary: spec } : { flags, ...spec },
  );
}

/** Options under a heading of their own in the help. */
export function groupOptions(group: string, options: OptionSpecs): OptionSpecs {
  const grouped = listOptions(options).map(({ flags, ...spec }) => [flags, { ...spec, group }] as const);
  return Object.fromEntries(grouped);
}

/** A summary as a sentence: `list the runs` → `List the runs.` */
export function sentenceOf(summary: string): string {
  return `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
}

type RunCommand = (given: CommandLine, io: Io) => Promise<number>;

/** What Commander and the help need to know of a command. */
export interface CommandSpec {
  /** One or two words, such as `export v3`. */
  readonly name: string;
  /** In the syntax of Commander, such as `<model> [ids...]`. */
  readonly args?: string;
  readonly summary: string;
  /** Further text for `--help`. */
  readonly more?: string;
  readonly options: OptionSpecs;
  /** Whether help shows the examples before the options, because there are many options. */
  readonly examplesFirst?: true;
  /** Command lines, each with its explanation. */
  readonly examples: Readonly<Record<string, string>>;
  /** Imports the command's module, which help does not need. */
  readonly load: () => Promise<RunCommand>;
}

/** The command line after parsing. */
export interface CommandLine {
  readonly args: readonly string[];
  /** The value of an option such as `json`; undefined if it was not given. */
  text(name: string): string | undefined;
  /** All values of a repeatable option. */
  texts(name: string): readonly string[];
  isSet(name: string): boolean;
  /** Standard input. */
  readonly input: Readable & { readonly isTTY?: boolean };
  /**
   * The configuration, from file, environment and flags.
   *
   * @throws SvcError `config`
   */
  config(): Promise<Config>;
}

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
  /** Request limits by host, shared by all API clients of the process. */
  readonly hostLimits: HostLimits;
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

import type { Readable, Writable } from 'node:stream';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Config } from '../config/config.js';
import type { Clock, Env, OnProgress, RunUninterruptible } from '../domain.js';

export interface Style {
  readonly width: number;
  readonly color: boolean;
  readonly verbose: boolean;
}

export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Results, for commands that stream them; most return theirs instead. */
  readonly stdout: Writable & { readonly isTTY?: boolean };
  /** Prompts. Progress and warnings go through `onProgress`, errors are thrown. */
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly env: Env;
  readonly clock: Clock;
  readonly version: string;
  readonly style: Style;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
  readonly runUninterruptible: RunUninterruptible;
  /** Loads the configuration once. @throws SvcError `config` */
  readonly config: () => Promise<Config>;
}

/** What a command did. Text and JSON are made from one object. */
export interface Result {
  readonly exitCode: number;
  readonly json?: unknown;
  /** Text for stdout, unless an output goes to stdout. */
  readonly text?: (style: Style) => string;
  /** Contents of the other output options, by option name (`markdown`, `html`, `ndjson`, `junit`). */
  readonly outputs?: Readonly<Record<string, (style: Style) => Iterable<string>>>;
}

/**
 * Runs a command's work. The host removes the requested output files, shows progress, writes the result in every
 * requested format, and turns an error into a message, an error document and an exit code.
 * @param outputs options that name output files, such as `json`
 */
export type Run = (
  command: Pick<CommandUnknownOpts, 'opts'>,
  outputs: readonly string[],
  work: (io: Io) => Promise<Result>,
) => Promise<void>;

/** A command: its definition for commander, whose action calls `run`. Heavy imports go inside the work. */
export type DefineCommand = (run: Run) => CommandUnknownOpts;

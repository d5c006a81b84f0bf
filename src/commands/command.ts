import type { Writable } from 'node:stream';
import type { HostLimits } from '../api/limiter.js';
import type { Env, OnProgress, RunUninterruptible } from '../domain.js';

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

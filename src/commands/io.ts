import type { Writable } from 'node:stream';
import type { HostLimits } from '../api/limiter.js';
import type { OnProgress } from '../domain.js';

/** What a command may use of the process it runs in; `cli.ts` makes it, tests make their own. */
export interface Io {
  /** The product. */
  readonly stdout: Writable;
  /** Progress and warnings. Errors are printed by `cli.ts`. */
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** ms since 1970. */
  readonly clock: { readonly now: () => number };
  /** Whether stdout is a terminal. */
  readonly isTty: boolean;
  /** Columns that text may take. */
  readonly width: number;
  readonly color: boolean;
  /** Aborted by SIGINT and SIGTERM. */
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
  /** Shared by all clients of the process. */
  readonly hostLimits: HostLimits;
  readonly runUninterruptible: RunUninterruptible;
}

/**
 * Runs work that cannot look at the signal before it ends, such as a long statement: a signal then ends the process at
 * once instead of asking it to stop. For work that may be cut off anywhere.
 *
 * @throws SvcError `interrupted` where a signal came before
 */
export type RunUninterruptible = <T>(work: () => T) => Promise<T>;

/** What work in another thread may use of the process: everything but its streams. */
export interface WorkIo extends Pick<Io, 'env' | 'clock' | 'width' | 'signal' | 'onProgress'> {
  /** When the command began, ms since 1970. */
  readonly startMs: number;
}

import type { Writable } from 'node:stream';
import type { HostLimits } from '../api/limiter.js';
import type { OnProgress } from '../domain.js';

/** What a command may use of its process; created by `program.ts` and by tests. */
export interface Io {
  /** Results. */
  readonly stdout: Writable;
  /** Progress and warnings. Errors are printed by `program.ts`. */
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
  /** `--config` and `--db` as they were given, to add to commands that are printed. */
  readonly flags?: string;
  /** Print everything that is known, not only the most important. */
  readonly verbose?: boolean;
}

/**
 * Runs work that cannot check the signal, such as a long statement. Meanwhile a signal ends the process at once instead
 * of asking it to stop, so the work must be safe to cut off anywhere.
 *
 * @throws SvcError `interrupted` if a signal came before
 */
export type RunUninterruptible = <T>(work: () => T) => Promise<T>;

/** What work in another thread may use of its process. */
export interface WorkIo extends Pick<Io, 'env' | 'clock' | 'width' | 'signal' | 'onProgress'> {
  /** When the command began, ms since 1970. */
  readonly startMs: number;
}

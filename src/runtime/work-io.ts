import type { Io } from './io.js';

/** What work in a thread may use of the process: everything but its streams. */
export interface WorkIo extends Pick<Io, 'env' | 'clock' | 'width' | 'signal' | 'onProgress'> {
  /** When the command began, ms since 1970. */
  readonly startMs: number;
}

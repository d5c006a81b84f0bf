import type { OnProgress } from '../domain.js';
import { SvcError } from '../errors.js';

/** Called between the steps of long work: reports progress and lets signals arrive. */
export type Pause = (step: {
  readonly name: string;
  readonly done: number;
  readonly total: number | null;
}) => Promise<void>;

/** A pause that reports to `onProgress`, and throws if `signal` was aborted. */
export function newPause(io: { readonly signal: AbortSignal; readonly onProgress: OnProgress }): Pause {
  return async (step) => {
    io.onProgress({ kind: 'step', ...step });
    await throwIfInterrupted(io.signal);
  };
}

/**
 * Yields to the event loop once, so that pending signals are handled.
 *
 * @throws SvcError `interrupted` if the signal was aborted
 */
export async function throwIfInterrupted(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resume) => setImmediate(resume));
  if (signal.aborted) throw new SvcError('interrupted', 'Stopped before the end.');
}

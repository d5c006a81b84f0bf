import { SvcError } from '../errors.js';

/**
 * Runs `work`, but stops waiting for it when the signal is aborted.
 *
 * @throws the signal's reason if it is an error other than AbortError, otherwise SvcError `interrupted`
 */
export async function orAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  throwIfStopped(signal);
  return await new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(stopReason(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** @throws the signal's reason if it is an error other than AbortError, otherwise SvcError `interrupted` */
export function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw stopReason(signal);
}

function stopReason(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  if (reason instanceof Error && reason.name !== 'AbortError') return reason;
  return new SvcError('interrupted', 'Interrupted; saved pages are kept, the rest will be read again.', {
    hint: 'Run the same command again: it continues where it stopped.',
  });
}

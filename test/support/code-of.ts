import { SvcError } from '../../src/errors.js';

/** The SvcError that `work` throws. */
export function thrownBy(work: () => unknown): SvcError {
  const error = thrownOrNull(work);
  if (error === null) throw new Error('nothing was thrown');
  return error;
}

/** The code of the SvcError that `work` throws; null where it throws none. */
export function codeOf(work: () => unknown): string | null {
  return thrownOrNull(work)?.code ?? null;
}

function thrownOrNull(work: () => unknown): SvcError | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof SvcError) return error;
    throw error;
  }
}

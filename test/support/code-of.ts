import { SvcError } from '../../src/errors.js';

/** The code of the SvcError that `work` throws; null where it throws none. */
export function codeOf(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof SvcError) return error.code;
    throw error;
  }
}

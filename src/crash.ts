import { writeSync } from 'node:fs';
import process from 'node:process';
import { exitCodeOf } from './errors.js';
import { describeError } from './text/describe-error.js';

/**
 * Loads and runs the program. Errors that it does not catch, such as a module that cannot be loaded, end the process
 * with their exit code: 70 for a bug, never the 1 of a failed gate.
 */
export function runGuarded(load: () => Promise<unknown>): void {
  process.on('uncaughtException', leave);
  load().catch(leave);
}

function leave(error: unknown): void {
  try {
    writeSync(process.stderr.fd, describeError(error, false));
  } finally {
    process.exit(exitCodeOf(error));
  }
}

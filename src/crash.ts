import { writeSync } from 'node:fs';
import process from 'node:process';
import { exitCodeOf } from './errors.js';
import { describeError } from './text/describe-error.js';

/**
 * Loads and runs the program. What it does not catch itself, failures to load its modules among them, ends the process
 * with the exit code of the error: 70 for a bug, never the 1 of a failed gate.
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

import { writeSync } from 'node:fs';
import process from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { exitCodeOf } from './errors.js';
import { describeError } from './text/describe-error.js';

/**
 * Loads and runs the program. An uncaught error, such as a module that cannot be loaded, ends the process with its own
 * exit code: 70 for a bug, never 1, which means a failed gate.
 */
export function runGuarded(load: () => Promise<unknown>): void {
  if (isTooOld(process.versions.node)) {
    writeSync(
      process.stderr.fd,
      `svc-migrate needs Node.js 20.18.1 or later; this is ${process.versions.node}.\n`,
    );
    process.exit(2);
  }
  // New objects get no more space than at first. Pages that were sent on are then freed early, which saves a fifth of the memory
  // of a whole job; it costs no measurable time.
  setFlagsFromString('--semi-space-growth-factor=1');
  process.on('uncaughtException', leave);
  load().catch(leave);
}

/** Whether a version of Node.js is below `engines` in package.json, for which npm only prints a warning. */
function isTooOld(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return major < 20 || (major === 20 && (minor < 18 || (minor === 18 && patch < 1)));
}

function leave(error: unknown): void {
  try {
    writeSync(process.stderr.fd, describeError(error, false));
  } finally {
    process.exit(exitCodeOf(error));
  }
}

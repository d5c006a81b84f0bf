import { SvcError } from '../errors.js';
import type { Io } from './command.js';

/**
 * Asks before a command changes the user's data. `yes`: agreed beforehand, by `--yes`.
 *
 * @throws SvcError `usage` if there is nobody to ask
 */
export async function confirm(question: string, yes: boolean, io: Io): Promise<boolean> {
  if (yes) return true;
  const { stdin, stderr, signal } = io;
  assertTerminal(io);
  const { createInterface } = await import('node:readline/promises');
  const terminal = createInterface({ input: stdin, output: stderr });
  try {
    return /^y(?:es)?$/i.test((await terminal.question(`${question} [y/N] `, { signal })).trim());
  } finally {
    terminal.close();
  }
}

/** @throws SvcError `usage` */
export function assertTerminal({ stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>): void {
  if (stdin.isTTY === true && stderr.isTTY === true) return;
  throw new SvcError('usage', 'This changes your data, and there is no terminal to ask on.', {
    hint: 'Pass --yes, after a look at `svc-migrate apply plan`.',
  });
}

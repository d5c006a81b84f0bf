import { createInterface } from 'node:readline/promises';
import { SvcError } from '../errors.js';
import type { Given, Input, Io } from './command.js';

/** The terminal to ask on; null where nobody can be asked. */
export function terminalOf({ openInput }: Pick<Given<unknown>, 'openInput'>, { isTty }: Io): Input | null {
  const input = isTty ? openInput() : null;
  return input?.isTTY === true ? input : null;
}

/** @throws SvcError `interrupted` after Ctrl-C */
export async function askYesNo(question: string, input: Input, io: Io): Promise<boolean> {
  const terminal = createInterface({ input, output: io.stderr, terminal: true });
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal: io.signal });
    return /^y(es)?$/i.test(answer.trim());
  } catch (cause) {
    throw new SvcError('interrupted', 'Stopped; nothing was changed.', { cause });
  } finally {
    terminal.close();
  }
}

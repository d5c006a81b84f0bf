import { SvcError } from '../../errors.js';
import type { Since } from '../../report/since.js';
import type { OptionSpec } from '../command.js';

export const SINCE: OptionSpec = {
  flags: '--since <build>',
  says: 'show what changed since a build of the remap: its number, or previous',
};

/** @throws SvcError `usage` where it names no build */
export function sinceOf(text: string | undefined): Since | undefined {
  if (text === undefined || text === 'previous') return text;
  if (/^\d{1,15}$/.test(text)) return BigInt(text);
  throw new SvcError('usage', `--since takes the number of a build or previous, not "${text}".`);
}

import { SvcError } from '../../errors.js';
import type { Command } from '../define-command.js';
import { APPLY } from './apply.js';
import { DECIDE } from './decide.js';
import { LOOK } from './look.js';
import { START } from './start.js';
import { TOOLS } from './tools.js';
import { USE } from './use.js';

/** The commands by group, in the order of a migration. */
export const GROUPS: Readonly<Record<string, readonly Command[]>> = {
  Start: START,
  Look: LOOK,
  Decide: DECIDE,
  Apply: APPLY,
  Use: USE,
  Tools: TOOLS,
};

export const COMMANDS: readonly Command[] = Object.values(GROUPS).flat();

/** A hint at the help of the given command, or at the list of commands. */
export function helpHint(words: readonly string[]): string {
  const line = ` ${words.join(' ')} `;
  const command = COMMANDS.find(({ name }) => line.startsWith(` ${name} `));
  return command === undefined
    ? 'Run `svc-migrate --help` for the list of commands.'
    : `Run \`svc-migrate help ${command.name}\` for its options.`;
}

/** Whether a command line has only the first word of a command, such as `export`. */
export function isIncomplete(words: readonly string[]): boolean {
  return longerNames(words).length > 0;
}

function longerNames(words: readonly string[]): string[] {
  const [first = ''] = words.filter((word) => !word.startsWith('-'));
  return COMMANDS.flatMap(({ name }) => (name.startsWith(`${first} `) ? [name] : []));
}

/** The error for the first word of a command alone, where the parser would only show help. */
export function incompleteCommand(words: readonly string[]): SvcError {
  const names = longerNames(words);
  const [first = ''] = names[0]?.split(' ') ?? [];
  const hint = `Did you mean ${names.map((name) => `\`${name}\``).join(' or ')}?`;
  return new SvcError('usage', `"${first}" is not a complete command.`, { hint });
}

import { SvcError } from '../../errors.js';
import type { CommandSpec } from '../command.js';
import { APPLY_COMMANDS } from './apply-commands.js';
import { MIGRATION_COMMANDS, RECORD_COMMANDS } from './migration.js';
import { TOOL_COMMANDS } from './tools.js';

/** Every command, in the order of a migration. */
export const COMMANDS: readonly CommandSpec[] = [
  ...MIGRATION_COMMANDS,
  ...RECORD_COMMANDS,
  ...APPLY_COMMANDS,
  ...TOOL_COMMANDS,
];

/** A hint at the help of the given command, or at the list of commands. */
export function helpHint(words: readonly string[]): string {
  const line = ` ${words.join(' ')} `;
  const command = COMMANDS.find(({ name }) => line.startsWith(` ${name} `));
  return command === undefined
    ? 'Run `svc-migrate --help` for the list of commands.'
    : `Run \`svc-migrate help ${command.name}\` for its options.`;
}

/** The error for a missing or incomplete command, where the parser would only show help. */
export function noCommand(words: readonly string[]): SvcError {
  const [first] = words.filter((word) => !word.startsWith('-'));
  const names = COMMANDS.map(({ name }) => name);
  const longer = names.filter((name) => name.startsWith(`${first} `));
  if (longer.length > 0) {
    return new SvcError('usage', `"${first}" is not a complete command.`, {
      hint: `Did you mean ${longer.map((name) => `\`${name}\``).join(' or ')}?`,
    });
  }
  return new SvcError('usage', 'No command was given.', { hint: helpHint([]) });
}

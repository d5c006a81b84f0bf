import { TOPICS } from '../../docs/topics.js';
import { SvcError } from '../../errors.js';
import type { Command } from '../define-command.js';
import { describeOption, listOptions } from '../option.js';
import { APPLY } from './apply.js';
import { DECIDE } from './decide.js';
import { LOOK } from './look.js';
import { COMMON_OPTIONS } from './options.js';
import { START } from './start.js';
import { TOOLS } from './tools.js';
import { USE } from './use.js';

/** The commands by group, in the order of a migration. */
const GROUPS: Readonly<Record<string, readonly Command[]>> = {
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

/** Commands that share a row. */
const SHARED_ROWS = [
  {
    names: ['plan', 'write', 'check', 'verify', 'find', 'sql', 'undo', 'runs'].map((name) => `apply ${name}`),
    title: 'apply …',
    summary: 'plan, write, check, verify, find, sql, undo, runs',
  },
  {
    names: ['completion', 'help'],
    title: 'completion, help',
    summary: 'for bash, zsh and fish; every command and topic',
  },
];

/** What `svc-migrate --help` prints: every command in its group, on one screen of 80 x 24. */
export function renderOverview(): string {
  const rows = Object.entries(GROUPS).flatMap(([group, commands]) =>
    [...new Set(commands.map(rowOf))].map((row, at) => `${(at === 0 ? group : '').padEnd(8)}${row}\n`),
  );
  return `Usage: svc-migrate COMMAND [options]\n${rows.join('')}`;
}

function rowOf({ name, summary }: Command): string {
  const shared = SHARED_ROWS.find(({ names }) => names.includes(name));
  return `${(shared?.title ?? name).padEnd(18)}${shared?.summary ?? summary}`;
}

/** The options that every command has, and the pages of the reference. */
export function renderTopics(): string {
  const options = listOptions(COMMON_OPTIONS).map(
    (option) => `  ${option.flags.padEnd(15)} ${describeOption(option)}\n`,
  );
  const pages = TOPICS.map(({ name, summary }) => `  ${name.padEnd(15)} ${summary}\n`);
  const hint = 'Run `svc-migrate help COMMAND` for the options and examples of a command.';
  return `Options of every command:\n${options.join('')}\nTopics (svc-migrate help TOPIC):\n${pages.join('')}\n${hint}\n`;
}

import { TOPICS } from '../../docs/topics.js';
import type { Command } from '../define-command.js';
import { describeOption, listOptions } from '../option.js';
import { GROUPS } from './all.js';
import { COMMON_OPTIONS } from './options.js';

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

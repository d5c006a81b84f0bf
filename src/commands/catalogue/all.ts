import { TOPICS } from '../../docs/topics.js';
import { SvcError } from '../../errors.js';
import { layOutTable } from '../../text/text-layout.js';
import { type Command, runs } from '../command.js';
import { describeOption, listOptions } from '../option.js';
import * as apply from './apply-commands.js';
import { COMMON_OPTIONS } from './options.js';
import * as run from './run-commands.js';
import * as use from './use-commands.js';

/** What a command of `apply` runs, by its second word. */
function ofApply<Name extends keyof typeof import('../apply.js').runs>(name: Name) {
  return async () => {
    const { runs: all, schema, listInputs } = await import('../apply.js');
    return { run: all[name], schema, listInputs };
  };
}

/** The commands by group, in the order of a migration, each with what it runs: modules that help does not need. */
const GROUPS: Readonly<Record<string, readonly Command[]>> = {
  Start: [
    runs(run.init, () => import('../init.js')),
    runs(run.doctor, () => import('../doctor.js')),
    runs(run.demo, () => import('../demo.js')),
    runs(run.sandbox, () => import('../sandbox.js')),
  ],
  Look: [
    runs(run.run, () => import('../run.js')),
    runs(run.exportBoth, () => import('../export.js')),
    runs(run.remap, () => import('../remap.js')),
    runs(run.report, async () => (await import('../report.js')).report),
    runs(run.check, async () => (await import('../report.js')).check),
    runs(run.status, () => import('../status.js')),
  ],
  Decide: [
    runs(use.findings, () => import('../findings.js')),
    runs(use.explain, () => import('../explain.js')),
    runs(use.decide, () => import('../decide.js')),
    runs(use.recheck, () => import('../recheck.js')),
    runs(use.verify, () => import('../verify.js')),
  ],
  Apply: [
    runs(apply.plan, ofApply('plan')),
    runs(apply.write, ofApply('write')),
    runs(apply.check, ofApply('check')),
    runs(apply.verify, ofApply('verify')),
    runs(apply.find, ofApply('find')),
    runs(apply.sql, ofApply('sql')),
    runs(apply.undo, ofApply('undo')),
    runs(apply.runs, ofApply('runs')),
  ],
  Use: [
    runs(use.lookup, () => import('../lookup.js')),
    runs(use.dump, () => import('../dump.js')),
    runs(use.scan, () => import('../scan.js')),
  ],
  Tools: [
    runs(use.backup, () => import('../backup.js')),
    runs(use.purge, () => import('../purge.js')),
    runs(use.completion, () => import('../completion.js')),
    runs(use.help, () => import('../help.js')),
  ],
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

/** What `svc-migrate --help` prints: every command in its group, on one screen of 80 x 24. */
export function renderOverview(): string {
  const rows = Object.entries(GROUPS).flatMap(([group, commands]) =>
    [...new Set(commands.map(rowOf))].map((row, at) => `${(at === 0 ? group : '').padEnd(8)}${row}\n`),
  );
  return `Usage: svc-migrate COMMAND [options]\n${rows.join('')}`;
}

/** Those of two words share a row, and so do the last two. */
function rowOf({ name, summary }: Command): string {
  const row = (title: string, text: string) => `${title.padEnd(18)}${text}`;
  if (name === use.completion.name || name === use.help.name)
    return row('completion, help', 'for bash, zsh and fish; every command and topic');
  const [first = '', second] = name.split(' ');
  if (second === undefined) return row(name, summary);
  const names = longerNames([first]).map((one) => one.slice(first.length + 1));
  return row(`${first} …`, names.join(', '));
}

/** The options that every command has, and the pages of the reference. */
export function renderTopics(width: number): string {
  const list = (rows: readonly (readonly [string, string])[]) =>
    layOutTable([{ title: '' }, { title: '' }], rows, width)
      .slice(1)
      .map((line) => `${line}\n`);
  const options = list(
    listOptions(COMMON_OPTIONS).map((option) => [option.flags, describeOption(option)] as const),
  );
  const pages = list(TOPICS.map(({ name, summary }) => [name, summary] as const));
  const hint = 'Run `svc-migrate help COMMAND` for the options and examples of a command.';
  return `Options of every command:\n${options.join('')}\nTopics (svc-migrate help TOPIC):\n${pages.join('')}\n${hint}\n`;
}

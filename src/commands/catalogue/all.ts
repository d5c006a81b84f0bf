import { TOPICS } from '../../docs/topics.js';
import { SvcError } from '../../errors.js';
import { type Command, runs } from '../command.js';
import { describeOption, listOptions } from '../option.js';
import * as apply from './apply-commands.js';
import * as decide from './decide-commands.js';
import * as look from './look-commands.js';
import { COMMON_OPTIONS } from './options.js';
import * as start from './start-commands.js';
import * as tools from './tool-commands.js';
import * as use from './use-commands.js';

const ofTargets = async () => (await import('../apply.js')).listTargetFiles;
const ofSources = async () => (await import('../scan.js')).listSourceOutputs;

/** The commands by group, in the order of a migration, each with what it runs: modules that help does not need. */
const GROUPS: Readonly<Record<string, readonly Command[]>> = {
  Start: [
    runs(start.init, async () => (await import('../init.js')).runInit),
    runs(start.doctor, async () => (await import('../doctor.js')).runDoctor),
    runs(start.demo, async () => (await import('../demo.js')).runDemo),
    runs(start.sandbox, async () => (await import('../sandbox.js')).runSandbox),
  ],
  Look: [
    runs(look.run, async () => (await import('../run.js')).runRun),
    runs(look.exportBoth, async () => (await import('../export.js')).runExport),
    runs(look.remap, async () => (await import('../remap.js')).runRemap),
    runs(look.report, async () => (await import('../report.js')).runReport),
    runs(look.check, async () => (await import('../report.js')).runCheck),
    runs(look.status, async () => (await import('../status.js')).runStatus),
  ],
  Decide: [
    runs(decide.findings, async () => (await import('../findings.js')).runFindings),
    runs(decide.explain, async () => (await import('../explain.js')).runExplain),
    runs(decide.decide, async () => (await import('../decide.js')).runDecide),
    runs(decide.recheck, async () => (await import('../recheck.js')).runRecheck),
    runs(decide.verify, async () => (await import('../verify.js')).runVerify),
  ],
  Apply: [
    runs(apply.plan, async () => (await import('../apply.js')).runPlan, ofTargets),
    runs(apply.write, async () => (await import('../apply.js')).runWrite, ofTargets),
    runs(apply.check, async () => (await import('../apply.js')).runCheckTargets, ofTargets),
    runs(apply.verify, async () => (await import('../apply.js')).runVerifyRuns, ofTargets),
    runs(apply.find, async () => (await import('../apply.js')).runFind, ofTargets),
    runs(apply.sql, async () => (await import('../apply.js')).runSql, ofTargets),
    runs(apply.undo, async () => (await import('../apply.js')).runUndo, ofTargets),
    runs(apply.runs, async () => (await import('../apply.js')).runRuns, ofTargets),
  ],
  Use: [
    runs(use.lookup, async () => (await import('../lookup.js')).runLookup),
    runs(use.dump, async () => (await import('../dump.js')).runDump),
    runs(use.scan, async () => (await import('../scan.js')).runScan, ofSources),
  ],
  Tools: [
    runs(tools.backup, async () => (await import('../backup.js')).runBackup),
    runs(tools.purge, async () => (await import('../purge.js')).runPurge),
    runs(tools.completion, async () => (await import('../completion.js')).runCompletion),
    runs(tools.help, async () => (await import('../help.js')).runHelp),
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
  if (name === tools.completion.name || name === tools.help.name)
    return row('completion, help', 'for bash, zsh and fish; every command and topic');
  const [first = '', second] = name.split(' ');
  if (second === undefined) return row(name, summary);
  const names = longerNames([first]).map((one) => one.slice(first.length + 1));
  return row(`${first} …`, names.join(', '));
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

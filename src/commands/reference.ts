import { configSchema } from '../config/settings.js';
import { readTopic, TOPICS } from '../docs/topics.js';
import { groupBy } from '../text/rows.js';
import * as z from '../zod.js';
import { COMMANDS } from './catalogue/all.js';
import { COMMON_OPTIONS } from './catalogue/options.js';
import { argumentsOf, type Command, optionsOf, sentenceOf } from './command.js';
import { describeOption, type ListedOption, listOptions } from './option.js';
import { errorSchema } from './with-outputs.js';

const HEAD = `# Commands

These options work with every command:

${listOptions(COMMON_OPTIONS).map(describeTyped).join('\n')}
- \`--version\`, \`--help\`

Results go to stdout; progress, warnings and errors go to stderr. An output file is written completely or not at all. \`-\` stands for
stdout, for at most one output.
`;

/** The page `help commands`: every command with its options and examples. Part of the build. */
export function renderCommands(): string {
  return `${[HEAD, COMMANDS.map(describeCommand).join('\n\n')].join('\n')}\n`;
}

function describeCommand(command: Command): string {
  const { examples } = command;
  const listed = optionsOf(command).map(describeTyped);
  const lines = Object.entries(examples).map(([line, does]) => `${line}   # ${does}`);
  return [
    `### \`${usageOf(command)}\``,
    '',
    explain(command),
    ...(listed.length > 0 ? ['', ...listed] : []),
    '',
    '```sh',
    ...lines,
    '```',
  ].join('\n');
}

function describeTyped(option: ListedOption): string {
  return `- \`${option.flags}\`: ${describeOption(option)}`;
}

function usageOf(command: Command): string {
  return `${command.name} ${argumentsOf(command)}`.trim();
}

function explain({ summary, more = '' }: Command): string {
  return `${sentenceOf(summary)} ${more}`.trim();
}

const ENVIRONMENT = {
  'SVC_MIGRATE_V3_API_KEY, SVC_MIGRATE_V4_API_KEY':
    'API keys, unless the configuration names other variables or files',
  SVC_MIGRATE_CONFIG: 'configuration file; --config overrides it',
  SVC_MIGRATE_DB: 'database file; overrides the configuration; --db overrides it',
  'HTTPS_PROXY, HTTP_PROXY, NO_PROXY': 'proxy for requests, and hosts that are reached without it',
  NODE_EXTRA_CA_CERTS: 'file with additional certificate authorities',
  NO_COLOR: 'print without color',
};

/** The manual page in roff, from the same texts as `--help` and the reference. */
export function renderMan(version: string): string {
  const topics = TOPICS.map(({ name, summary }) => renderEntry(`svc-migrate help ${name}`, summary));
  const lines = [
    `.TH SVC-MIGRATE 1 "" "svc-migrate ${escapeRoff(version)}" "User Commands"`,
    '.SH NAME',
    'svc-migrate \\- remap stored V3 svc_ids to V4, report every gap with its reason, gate the cutover',
    '.SH SYNOPSIS',
    '.B svc-migrate',
    '.I command',
    '[\\fIoptions\\fR]',
    '.SH COMMANDS',
    ...COMMANDS.flatMap(renderCommand),
    '.SH COMMON OPTIONS',
    ...renderOptions(listOptions(COMMON_OPTIONS)),
    '.SH EXIT STATUS',
    ...listExitCodes().map(([code, meaning]) => renderEntry(code, meaning)),
    '.SH ENVIRONMENT',
    ...Object.entries(ENVIRONMENT).map(([name, text]) => renderEntry(name, text)),
    '.SH FILES',
    renderEntry('svc-migrate.config.jsonc, svc-migrate.config.json', 'configuration, the first that exists'),
    renderEntry('svc-migrate.db', 'database, unless the configuration names another'),
    '.SH SEE ALSO',
    ...topics,
  ];
  return `${lines.join('\n')}\n`;
}

function renderCommand(command: Command): string[] {
  const lines = Object.entries(command.examples).flatMap(([line, does]) => [`# ${does}`, line]);
  return [
    `.SS ${escapeRoff(usageOf(command))}`,
    escapeRoff(explain(command)),
    ...renderOptions(optionsOf(command)),
    '.PP',
    '.nf',
    ...lines.map(escapeRoff),
    '.fi',
  ];
}

function renderOptions(options: readonly ListedOption[]): string[] {
  return options.map((option) => renderEntry(option.flags, describeOption(option)));
}

/** The rows of the table in the page on exit codes. */
function listExitCodes(): (readonly [string, string])[] {
  const rows = (readTopic('exit-codes') ?? '').matchAll(/^\| ([\d, ]+) \| (.*) \|$/gm);
  return [...rows].map(([, code = '', meaning = '']) => [code, meaning.replaceAll('`', '')]);
}

function renderEntry(term: string, text: string): string {
  return `.TP\n.B ${escapeRoff(term)}\n${escapeRoff(text)}`;
}

/** Keeps hyphens as they are typed, and lines from being read as requests. */
function escapeRoff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('…', '\\[u2026]')
    .replace(/^([.'])/, '\\&$1');
}

/** A JSON Schema of the package. */
interface PackageSchema {
  readonly name: string;
  /** What it describes. */
  readonly of: string;
  readonly load: () => Promise<z.ZodType | undefined>;
}

/** The schemas of the configuration and of all JSON that commands write. */
export function listSchemas(): readonly PackageSchema[] {
  const outputs = COMMANDS.flatMap(({ name, load, options }) =>
    options.flatMap(({ schema }) => (schema === undefined ? [] : [{ name, load, schema }])),
  );
  const written = [...groupBy(outputs, ({ schema }) => schema)].map(([name, commands]) => ({
    name,
    of: `\`--json\` of ${commands.map((one) => `\`${one.name}\``).join(', ')}`,
    load: async () => (await commands[0]?.load())?.schema,
  }));
  return [
    { name: 'config', of: 'the configuration file', load: async () => configSchema },
    ...written,
    { name: 'error', of: '`--json` of a command that ended without a result', load: async () => errorSchema },
  ];
}

/** A schema as it is in the package. */
export async function renderSchema({ name, of, load }: PackageSchema): Promise<string> {
  const schema = await load();
  if (schema === undefined) throw new Error(`there is no schema ${name}`);
  const io = name === 'config' ? 'input' : 'output';
  const { $schema, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  const $id = `urn:svc-migrate:schema:${name}:1`;
  return `${JSON.stringify({ $schema, $id, title: of.replaceAll('`', ''), ...rest }, null, 2)}\n`;
}

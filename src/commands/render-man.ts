import { readTopic, TOPICS } from '../docs/topics.js';
import { COMMANDS } from './catalogue/all.js';
import { COMMON_OPTIONS } from './catalogue/options.js';
import { type CommandSpec, listOptions, type OptionSpecs } from './command.js';

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
    ...renderOptions(COMMON_OPTIONS),
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

function renderCommand({ name, args, summary, more, options, examples }: CommandSpec): string[] {
  const lines = Object.entries(examples).flatMap(([line, does]) => [
    escapeRoff(`# ${does}`),
    escapeRoff(line),
  ]);
  return [
    `.SS ${[name, args]
      .filter((part) => part !== undefined)
      .map(escapeRoff)
      .join(' ')}`,
    escapeRoff(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}. ${more ?? ''}`.trim()),
    ...renderOptions(options),
    '.PP',
    '.nf',
    ...lines,
    '.fi',
  ];
}

function renderOptions(options: OptionSpecs): string[] {
  return listOptions(options).map(({ flags, summary, choices }) =>
    renderEntry(flags, choices === undefined ? summary : `${summary}: ${choices.join(', ')}`),
  );
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

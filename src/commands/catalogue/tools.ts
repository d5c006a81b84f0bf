import type { CommandSpec } from '../command.js';
import { OUTPUTS } from './options.js';

/** Commands that are not part of the migration itself. */
export const TOOL_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'status',
    summary: 'show what the database contains, what is unfinished, and what the next run will do',
    options: {
      '--watch': 'show it again and again until Ctrl-C',
      '--every <duration>': 'with --watch: how long to wait before showing it again (default: 2s)',
      '--json <file>': 'the state as JSON, with the command to run next (- is stdout)',
    },
    examples: {
      'svc-migrate status': 'show the present state',
      'svc-migrate status --watch': 'follow an export that runs elsewhere',
      'svc-migrate status --json -': 'for a script',
      'svc-migrate status --db rehearsal.db': 'the same for another database',
    },
    load: async () => (await import('../status.js')).runStatus,
  },
  {
    name: 'purge',
    summary: 'delete record payloads, keep ids and the remap',
    more: 'Rewrites the file, so that no part of the payloads remains in it. Drift can no longer be measured afterwards.',
    options: { '--payloads': 'required: confirms that payloads are deleted' },
    examples: {
      'svc-migrate purge --payloads': 'delete everything that the remap does not need',
      'svc-migrate purge --payloads --db rehearsal.db': 'the same for another database',
    },
    load: async () => (await import('../purge.js')).runPurge,
  },
  {
    name: 'backup',
    args: '<file>',
    summary: 'make a consistent copy of the database',
    more: 'Copies the state of one moment and checks the copy before it gets its name. Another command may write the database meanwhile. Only the owner of the copy can read it. An existing file is replaced only with --force.',
    options: { '--force': 'replace an existing file' },
    examples: {
      'svc-migrate backup before-cutover.db': 'keep what the cutover was decided on',
      'svc-migrate backup nightly.db --force': "replace last night's copy",
    },
    load: async () => (await import('../backup.js')).runBackup,
  },
  {
    name: 'scan',
    args: '[paths...]',
    summary: 'find every place in source code that still uses the V3 API',
    more: 'Reads TypeScript, JavaScript, Python, Ruby, PHP, Java, C# and Go, and shell, YAML, JSON, HTTP, HAR, SQL, Prisma, GraphQL and notebook files. Changes nothing. The configuration, if there is one, names the V3 hosts, the models and the field prefix.',
    options: {
      '--v3-host <host>': {
        summary:
          'host or address of V3, besides those of the configuration; without any, no use is certain; repeatable',
        repeatable: true,
      },
      '--fail-on <certainty>': {
        summary: 'exit with 1 if uses remain that are at least this sure (default: certain)',
        choices: ['certain', 'likely', 'look'],
      },
      '--facts <file>': 'file of doctor --json, which says which parameters V4 honours',
      '--traffic <file>':
        'access log (combined, JSON lines) or HAR file: lists the V3 routes that were really requested',
      '--save': 'store the counts in the database, for the limit v3_uses of check',
      '--json <file>': 'findings and files as JSON (- is stdout)',
      '--sarif <file>': 'findings as SARIF 2.1.0, for code scanning',
      '--gitlab <file>': 'findings as a code quality report of GitLab',
      '--markdown <file>': 'findings for pull requests and job summaries',
      '--github': 'print annotations for GitHub Actions',
    },
    examples: {
      'svc-migrate scan src': 'list the uses in a folder',
      'svc-migrate scan --v3-host eu.ledger.example --fail-on likely': 'judge without a configuration',
      'svc-migrate scan --sarif scan.sarif --markdown scan.md': 'write files for CI',
    },
    load: async () => (await import('../scan.js')).runScan,
  },
  {
    name: 'sandbox',
    summary: 'run a local V3 and V4 service with test data and faults',
    more: 'When ready, prints its addresses and API key: as one line of JSON, on a terminal as lines to copy. Runs until Ctrl-C. The same seed always gives the same service.',
    options: {
      '--seed <n>': 'seed of the test data (default: 1)',
      '--port <n>': 'port on 127.0.0.1 (default: any free port)',
      '--records <n>': 'approximate number of V3 records (default: 800)',
      '--companies <n>': 'number of companies (default: 4, ugly: 5)',
      '--scenario <name>': {
        summary: 'how difficult the data are (default: clean)',
        choices: ['clean', 'ugly'],
      },
      '--window <days>': 'length of the backfill window (default: 90)',
      '--backfill-seconds <n>': 'how long V4 takes to load its data (default: 0)',
      '--latency <ms>': 'how long every answer takes (default: 0)',
      '--truth <file>': 'write the correct answer for each V3 id, as NDJSON',
      '--config-out <file>': 'write a configuration for this service',
      '--events <url>': 'send webhook events to this address',
      '--fault <name[:rate]>': {
        summary:
          'inject a fault into this share of the requests (default: 0.05): 429, 500, reset, truncate, hang, cursor-expiry, cursor-loop, duplicate-pages, mutate; repeatable',
        repeatable: true,
      },
      '--quirk <name[=value]>': {
        summary:
          'differ from the specification: ignore=gte, refuse=select (parameters and operators of V4), page-cap=50, page-limit=50, clock-skew=3600, absent-v3=crm/stages, malformed=0.02, gzip, total-count=1000, any-model; repeatable',
        repeatable: true,
      },
    },
    examples: {
      'svc-migrate sandbox --config-out sandbox.json': 'start a service and write a configuration for it',
      'svc-migrate sandbox --scenario ugly --fault 429:0.1 --truth truth.ndjson':
        'start one that misbehaves, and write the correct answers',
    },
    load: async () => (await import('../sandbox.js')).runSandbox,
  },
  {
    name: 'demo',
    summary: 'run a whole migration against the sandbox and show the report',
    more: 'Needs no configuration and no network. Keeps its files in a folder whose name it prints.',
    options: {
      '--seed <n>': 'seed of the test data (default: 1)',
      '--output <folder>': 'new folder for the files (default: a temporary folder)',
      ...OUTPUTS,
    },
    examples: {
      'svc-migrate demo': 'see what svc-migrate does',
      'svc-migrate demo --seed 7 --output rehearsal': 'use other data and a folder of your choice',
    },
    load: async () => (await import('../demo.js')).runDemo,
  },
  {
    name: 'completion',
    args: '<shell> [words...]',
    summary: 'print a completion script for bash, zsh or fish',
    more: 'Completes commands, options and their values, and the models, regions and targets of the configuration and the builds of the remap. The scripts call `completion words`, which prints what can replace the last word.',
    options: {},
    examples: {
      'svc-migrate completion bash > svc-migrate.bash': 'then source it from ~/.bashrc',
      'svc-migrate completion fish > svc-migrate.fish': 'then move it to ~/.config/fish/completions',
    },
    load: async () => (await import('../completion.js')).runCompletion,
  },
  {
    name: 'help',
    args: '[topic...]',
    summary: 'explain a topic or a command',
    more: 'Without a topic, it lists the commands and topics. Where a topic and a command share a name, such as apply, it explains both.',
    options: {},
    examples: {
      'svc-migrate help config': 'every setting of the configuration file',
      'svc-migrate help exit-codes': 'what each exit code means',
    },
    load: async () => (await import('../help.js')).runHelp,
  },
];

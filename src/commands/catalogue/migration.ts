import { DUMP_FORMATS } from '../../domain.js';
import type { CommandSpec } from '../command.js';
import {
  ALLOW_INCOMPLETE,
  COMPANY,
  DEFAULT_SAMPLE,
  IN_ACTIONS,
  MAX_WAIT,
  MODEL,
  OUTPUTS,
  RESTART,
  SINCE,
  WAITING,
} from './options.js';

/** Commands from a new configuration to the verdict. */
export const MIGRATION_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'init',
    summary: 'write a commented starter configuration',
    more: 'On a terminal it first asks for the addresses, the environment variables that hold the API keys, and the models. It never overwrites a file without --force.',
    options: { '--force': 'replace an existing file' },
    examples: {
      'svc-migrate init': 'write svc-migrate.config.jsonc',
      'svc-migrate init --config staging.jsonc': 'write to another file',
    },
    load: async () => (await import('../init.js')).runInit,
  },
  {
    name: 'doctor',
    summary: 'check everything a migration needs, and say what to fix',
    more: 'Checks configuration, API keys, both APIs, V4 model names, which parameters V4 honours, page sizes, clocks, disk and database, and previews company pairs. Sends a limited number of requests and changes nothing. Exits with 0 if ready; otherwise 2 (configuration), 3 (API key refused), 4 (network), 5 (V4 not ready) or 6 (this machine).',
    options: {
      '--all': 'check the models of every V4 company, not of a sample of ten',
      '--write-config <file>':
        'write a copy of the configuration, with names, addresses, page sizes and parameters corrected to what both APIs accept',
      '--force': 'replace an existing file',
      '--json <file>': 'the findings and the facts behind them as JSON (- is stdout)',
      ...MAX_WAIT,
    },
    examples: {
      'svc-migrate doctor': 'before the first export, and when something looks wrong',
      'svc-migrate doctor --write-config corrected.jsonc': 'write a corrected configuration',
      'svc-migrate doctor --all --json doctor.json': 'check every company, for a script',
    },
    load: async () => (await import('../doctor.js')).runDoctor,
  },
  {
    name: 'export',
    args: '[generation]',
    summary: 'read every list of V3, of V4, or of both at the same time into the database',
    more: 'The generation is v3 or v4; without it, both are read at the same time. Continues where an earlier run stopped. If V3 was read in full before, reads only what changed since. Reads V4 again in full: records that V4 no longer returns are removed from the database.',
    options: { ...MODEL, ...COMPANY, ...RESTART, ...MAX_WAIT, ...WAITING },
    examples: {
      'svc-migrate export': 'read V3 and V4, or continue where the last run stopped',
      'svc-migrate export v3 --model accounting/invoices --restart': 'read one model again from the start',
      'svc-migrate export v4 --company 4711': 'read one V4 company',
      'svc-migrate export --wait --settle 10m':
        'read V4 once all its counts have stayed the same for ten minutes, and V3 meanwhile',
    },
    load: async () => (await import('../export.js')).runExport,
  },
  {
    name: 'remap',
    summary: 'join the two exports on model, company and platform_id',
    more: 'Rebuilds the whole remap table in one transaction. Needs no network.',
    options: {},
    examples: {
      'svc-migrate remap': 'rebuild the remap from what is in the database',
      'svc-migrate remap --db rehearsal.db': 'the same for another database',
    },
    load: async () => (await import('../remap.js')).runRemap,
  },
  {
    name: 'report',
    summary: 'show what matched and what did not, and why',
    more: 'Needs no network and does not judge: check does that. Without an output option it prints a summary.',
    options: { ...MODEL, ...COMPANY, ...SINCE, ...OUTPUTS },
    examples: {
      'svc-migrate report': 'a summary to read',
      'svc-migrate report --model crm/companies --ndjson findings.ndjson':
        'write every finding of one model, for a script',
      'svc-migrate report --full-sync request.md --full-sync-csv request.csv':
        'write what to ask the operator for',
      'svc-migrate report --since previous': 'show what the last build of the remap changed',
    },
    load: async () => (await import('../report.js')).runReport,
  },
  {
    name: 'check',
    summary: 'judge the remap by the configured limits; the gate for CI',
    more: 'Prints the report. Exits with 0 if the cutover is safe, 1 if there are more findings than the limits allow, 4 if data are incomplete, 5 if V4 is not ready.',
    options: { ...MODEL, ...COMPANY, ...OUTPUTS, ...IN_ACTIONS },
    examples: {
      'svc-migrate check': 'judge the remap in the database',
      'svc-migrate check --quiet --json report.json': 'the same in CI, with a file for scripts',
    },
    load: async () => (await import('../check.js')).runCheck,
  },
  {
    name: 'run',
    summary: 'export V3 and V4 at the same time, then remap and check',
    more: 'After an incomplete export it continues, so that the report shows what is known, and then exits with 4.',
    options: {
      ...MODEL,
      ...COMPANY,
      ...RESTART,
      ...MAX_WAIT,
      ...WAITING,
      ...OUTPUTS,
      ...IN_ACTIONS,
    },
    examples: {
      'svc-migrate run': 'the whole migration up to the report, with a readable summary',
      'svc-migrate run --quiet --json report.json --ndjson findings.ndjson':
        'the same in CI, with files for scripts',
    },
    load: async () => (await import('../run.js')).runRun,
  },
];

/** Commands for single records and ids. */
export const RECORD_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'findings',
    summary: 'list what is not matched, and draft files to settle it',
    more: 'Uses the last finished remap. Every line of a draft is commented out, so it settles nothing until you edit it.',
    options: {
      ...MODEL,
      ...COMPANY,
      '--reason <reason>': {
        summary: 'only this reason, including its parent_ form for children; repeatable',
        repeatable: true,
      },
      '--status <status>': { summary: 'only this status; repeatable', repeatable: true },
      '--limit <n>': 'how many findings to list, 0 for all (default: 50 on the terminal, all in a file)',
      '--json <file>': 'write the findings as NDJSON, one per line (- is stdout)',
      '--write-decisions <file>': 'write a draft of decisions.csv with the candidates of each open V3 id',
      '--write-companies <file>': 'write a draft of companies.csv with the candidates of each company',
      '--force': 'replace an existing draft',
    },
    examples: {
      'svc-migrate findings --status ambiguous': 'list what only a person can settle',
      'svc-migrate findings --reason key_changed --json -': 'for a script',
      'svc-migrate findings --write-decisions decisions-draft.csv': 'draft the file in which to settle them',
    },
    load: async () => (await import('../findings.js')).runFindings,
  },
  {
    name: 'explain',
    args: '<model> [id]',
    summary: 'show everything known about one record, and why it has its status',
    more: 'Takes V3 and V4 ids of records and children. V3 and V4 ids overlap: if both have the id, both records are shown. Exits with 1 if nothing is known about it.',
    options: {
      '--platform-id <key>': 'a platform_id instead of an id',
      '--path <field>': 'only children in this field, such as line_items',
      '--region <name>': 'only this V3 region',
      '--company <id>': 'only this company: a V3 company for V3 ids, a V4 company for V4 ids',
      '--json <file>': 'the result as JSON (- is stdout)',
    },
    examples: {
      'svc-migrate explain accounting/invoices 1001': 'show everything known about one id',
      'svc-migrate explain accounting/invoices --platform-id INV-1 --json -':
        'the same by platform_id, for a script',
    },
    load: async () => (await import('../explain.js')).runExplain,
  },
  {
    name: 'recheck',
    summary: 'read open findings again from both APIs, then remap',
    more: 'Reads single records where the APIs support it, and otherwise the lists that contain them. Reports which findings were resolved and which remain. Does not judge: check does that.',
    options: {
      '--times <n>': 'how many times to read them (default: 1)',
      '--every <duration>': 'how long to wait before reading them once more, such as 10m (default: 1m)',
      '--json <file>': 'the result as JSON, with every finding that was resolved (- is stdout)',
      ...MAX_WAIT,
    },
    examples: {
      'svc-migrate recheck': 'read open findings once',
      'svc-migrate recheck --times 2 --every 2s': 'read twice, and report what remains open',
    },
    load: async () => (await import('../recheck.js')).runRecheck,
  },
  {
    name: 'verify',
    summary: 'read mapped pairs from both APIs again and compare them',
    more: 'Compares the remap with the export, then reads pairs by id and compares company and platform_id. Exits with 1 if anything differs, with 4 if pairs could not be read. No export can run on the database meanwhile; for a long run with --all, verify a copy with --db.',
    options: {
      '--sample <n>': `how many pairs to read (default: ${DEFAULT_SAMPLE})`,
      '--seed <n>': 'seed of the random sample (default: derived from the remap)',
      '--all': 'read every pair instead of a sample',
      '--json <file>': 'the result as JSON, with every pair that differs (- is stdout)',
      ...MAX_WAIT,
    },
    examples: {
      'svc-migrate verify': `read ${DEFAULT_SAMPLE} pairs, spread over models and companies`,
      'svc-migrate verify --all --json verify.json': 'read every pair, for a script',
    },
    load: async () => (await import('../verify.js')).runVerify,
  },
  {
    name: 'lookup',
    args: '<model> [ids...]',
    summary: 'translate V3 ids to V4 ids, or back',
    more: 'Prints one line per id, in the order given: V3 id, V4 id or - (with --reverse: V4 id, V3 id or -), status and reason, separated by tabs. Exits with 1 if an id is not in the remap.',
    options: {
      '--reverse': 'translate V4 ids to V3 ids',
      '--stdin': 'also read ids from stdin, one per line',
      '--json <file>': 'the answers as NDJSON, one per line, instead of text (- is stdout)',
      '--region <name>': 'V3 region of the ids, if regions use the same ids',
      '--company <id>': 'company of the ids: a V3 company, with --reverse a V4 company',
      '--path <field>': 'ids of children in this field, such as line_items',
      ...ALLOW_INCOMPLETE,
    },
    examples: {
      'svc-migrate lookup accounting/invoices 1001 1002': 'translate two ids',
      'svc-migrate lookup accounting/invoices --stdin --json - < ids.txt':
        'translate any number of ids, as NDJSON',
    },
    load: async () => (await import('../lookup.js')).runLookup,
  },
  {
    name: 'dump',
    summary: 'write the whole remap table for other programs',
    options: {
      '--format <format>': {
        summary: 'format of the output (default: csv)',
        choices: DUMP_FORMATS,
      },
      '--output <file>':
        'write to this file instead of stdout; for parquet: to this folder, one folder per model and a manifest',
      ...MODEL,
      ...COMPANY,
      ...ALLOW_INCOMPLETE,
    },
    examples: {
      'svc-migrate dump --output remap.csv': 'write the table as CSV with a header',
      'svc-migrate dump --format sql --model accounting/invoices': 'print one model as INSERT statements',
      'svc-migrate dump --format parquet --output crosswalk': 'write Parquet files for a warehouse',
    },
    load: async () => (await import('../dump.js')).runDump,
  },
];

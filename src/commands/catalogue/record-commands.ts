import { DUMP_FORMATS } from '../../domain.js';
import type { CommandSpec } from '../command.js';
import { ALLOW_INCOMPLETE, COMPANY, MAX_WAIT, MODEL, USUAL_SAMPLE } from './options.js';

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
      '--limit <n>': 'how many findings to list, 0 for all (default: 50; files always contain all)',
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
    more: 'Reads single records where the APIs support it, and otherwise the lists that contain them. Reports which findings were resolved and which remain. Does not judge: that is for check.',
    options: {
      '--times <n>': 'how many times to read them (default: 1)',
      '--every <duration>': 'pause between two times, such as 10m (default: 1m)',
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
      '--sample <n>': `how many pairs to read (default: ${USUAL_SAMPLE})`,
      '--seed <n>': 'seed of the random sample (default: derived from the remap)',
      '--all': 'read every pair instead of a sample',
      '--json <file>': 'the result as JSON, with every pair that differs (- is stdout)',
      ...MAX_WAIT,
    },
    examples: {
      'svc-migrate verify': `read ${USUAL_SAMPLE} pairs, spread over models and companies`,
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
        'write to this file instead of stdout; parquet: to this folder, one folder per model with a manifest',
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

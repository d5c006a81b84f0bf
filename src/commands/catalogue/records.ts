import type { CommandSpec } from '../command.js';
import { ALLOW_INCOMPLETE, COMPANY, MAX_WAIT, MODEL, USUAL_SAMPLE } from './options.js';

/** Single records and ids. */
export const RECORD_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'findings',
    says: 'list what is not matched, and draft files to settle it',
    more: 'Uses the last finished remap. Every line of a draft is commented out, so it settles nothing until you edit it.',
    options: [
      MODEL,
      COMPANY,
      {
        flags: '--reason <reason>',
        says: 'only this reason, including its parent_ form for children; repeatable',
        repeatable: true,
      },
      { flags: '--status <status>', says: 'only this status; repeatable', repeatable: true },
      {
        flags: '--limit <n>',
        says: 'how many findings to list, 0 for all (default: 50; files always contain all)',
      },
      { flags: '--json <file>', says: 'write the findings as NDJSON, one per line (- is stdout)' },
      {
        flags: '--write-decisions <file>',
        says: 'write a draft of decisions.csv with the candidates of each open V3 id',
      },
      {
        flags: '--write-companies <file>',
        says: 'write a draft of companies.csv with the candidates of each company',
      },
      { flags: '--force', says: 'replace an existing draft' },
    ],
    examples: [
      { line: 'svc-migrate findings --status ambiguous', does: 'list what only a person can settle' },
      { line: 'svc-migrate findings --reason key_changed --json -', does: 'for a script' },
      {
        line: 'svc-migrate findings --write-decisions decisions-draft.csv',
        does: 'draft the file in which to settle them',
      },
    ],
    load: async () => (await import('../findings.js')).runFindings,
  },
  {
    name: 'explain',
    args: '<model> [id]',
    says: 'show everything known about one record, and why it has its status',
    more: 'Takes V3 and V4 ids of records and children. V3 and V4 ids overlap: if both have the id, both records are shown.',
    options: [
      { flags: '--platform-id <key>', says: 'a platform_id instead of an id' },
      { flags: '--path <field>', says: 'only children in this field, such as line_items' },
      { flags: '--region <name>', says: 'only this V3 region' },
      {
        flags: '--company <id>',
        says: 'only this company: a V3 company for V3 ids, a V4 company for V4 ids',
      },
      { flags: '--json', says: 'print the result as JSON' },
    ],
    examples: [
      { line: 'svc-migrate explain accounting/invoices 1001', does: 'show everything known about one id' },
      {
        line: 'svc-migrate explain accounting/invoices --platform-id INV-1 --json',
        does: 'the same by platform_id, for a script',
      },
    ],
    load: async () => (await import('../explain.js')).runExplain,
  },
  {
    name: 'recheck',
    says: 'read open findings again from both APIs, then remap',
    more: 'Reads single records where the APIs support it, and otherwise the lists that contain them. Reports which findings were resolved and which remain. Does not judge: that is for check.',
    options: [
      { flags: '--times <n>', says: 'how many times to read them (default: 1)' },
      { flags: '--every <duration>', says: 'pause between two times, such as 10m (default: 1m)' },
      { flags: '--json', says: 'print the result as JSON, with every finding that was resolved' },
      MAX_WAIT,
    ],
    examples: [
      { line: 'svc-migrate recheck', does: 'read open findings once' },
      { line: 'svc-migrate recheck --times 2 --every 2s', does: 'read twice, and report what remains open' },
    ],
    load: async () => (await import('../recheck.js')).runRecheck,
  },
  {
    name: 'verify',
    says: 'read mapped pairs from both APIs again and compare them',
    more: 'Compares the remap with the export, then reads pairs by id and compares company and platform_id. Exits with 1 if anything differs, with 4 if pairs could not be read. No export can run on the database meanwhile; for a long run with --all, verify a copy with --db.',
    options: [
      { flags: '--sample <n>', says: `how many pairs to read (default: ${USUAL_SAMPLE})` },
      { flags: '--seed <n>', says: 'seed of the random sample (default: derived from the remap)' },
      { flags: '--all', says: 'read every pair instead of a sample' },
      { flags: '--json', says: 'print the result as JSON, with every pair that differs' },
      MAX_WAIT,
    ],
    examples: [
      { line: 'svc-migrate verify', does: `read ${USUAL_SAMPLE} pairs, spread over models and companies` },
      { line: 'svc-migrate verify --all --json > verify.json', does: 'read every pair, for a script' },
    ],
    load: async () => (await import('../verify.js')).runVerify,
  },
  {
    name: 'lookup',
    args: '<model> [ids...]',
    says: 'translate V3 ids to V4 ids',
    more: 'Prints one line per id, in the order given: V3 id, V4 id or -, status and reason, separated by tabs.',
    options: [
      { flags: '--stdin', says: 'also read ids from stdin, one per line' },
      { flags: '--json', says: 'print one JSON object per line' },
      { flags: '--region <name>', says: 'V3 region of the ids, if regions use the same ids' },
      { flags: '--company <id>', says: 'V3 company of the ids' },
      { flags: '--path <field>', says: 'ids of children in this field, such as line_items' },
      ALLOW_INCOMPLETE,
    ],
    examples: [
      { line: 'svc-migrate lookup accounting/invoices 1001 1002', does: 'translate two ids' },
      {
        line: 'svc-migrate lookup accounting/invoices --stdin --json < ids.txt',
        does: 'translate any number of ids, as NDJSON',
      },
    ],
    load: async () => (await import('../lookup.js')).runLookup,
  },
  {
    name: 'dump',
    says: 'write the whole remap table as csv, ndjson or sql',
    options: [
      {
        flags: '--format <format>',
        says: 'format of the output (default: csv)',
        choices: ['csv', 'ndjson', 'sql'],
      },
      { flags: '--output <file>', says: 'write to this file instead of stdout' },
      MODEL,
      COMPANY,
      ALLOW_INCOMPLETE,
    ],
    examples: [
      { line: 'svc-migrate dump --output remap.csv', does: 'write the table as CSV with a header' },
      {
        line: 'svc-migrate dump --format sql --model accounting/invoices',
        does: 'print one model as INSERT statements',
      },
    ],
    load: async () => (await import('../dump.js')).runDump,
  },
];

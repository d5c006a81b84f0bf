import { DUMP_FORMATS } from '../../domain.js';
import { REASONS, STATUSES } from '../../reasons.js';
import * as z from '../../zod.js';
import { defineCommand } from '../command.js';
import {
  argument,
  companyId,
  flag,
  input,
  jsonOutput,
  listArgument,
  listOption,
  option,
  optionOr,
  output,
  svcId,
  text,
  wholeNumber,
} from '../option.js';
import { ALLOW_INCOMPLETE, COMPANY, DEFAULT_SAMPLE, FORCE, MAX_WAIT, MODEL } from './options.js';

const FINDING_STATUSES = STATUSES.filter((status) => status !== 'matched');
const FINDING_REASONS = [...REASONS, ...REASONS.map((reason) => `parent_${reason}` as const)];

export const findings = defineCommand({
  name: 'findings',
  summary: 'list what is not matched; draft files to settle it',
  more: 'Uses the last finished remap. Every line of a draft is commented out, so it settles nothing until you edit it.',
  options: z.object({
    ...MODEL,
    ...COMPANY,
    reason: listOption(
      '<reason>',
      'only this reason, including its parent_ form for children; repeatable',
      z.enum(FINDING_REASONS),
    ),
    status: listOption('<status>', 'only this status; repeatable', z.enum(FINDING_STATUSES)),
    limit: option(
      '<n>',
      'how many findings to list, 0 for all (default: 50 on the terminal, all in a file)',
      wholeNumber(),
    ),
    json: jsonOutput('finding', 'write the findings as NDJSON, one per line (- is stdout)'),
    writeDecisions: input('write a draft of decisions.csv with the candidates of each open V3 id'),
    writeCompanies: input('write a draft of companies.csv with the candidates of each company'),
    force: flag('replace an existing draft'),
  }),
  examples: {
    'svc-migrate findings --status ambiguous': 'list what only a person can settle',
    'svc-migrate findings --reason key_changed --json -': 'for a script',
    'svc-migrate findings --write-decisions decisions-draft.csv': 'draft the file in which to settle them',
  },
});

export const explain = defineCommand({
  name: 'explain',
  summary: 'the whole story of one record',
  more: 'Takes V3 and V4 ids of records and children; of children alone with a model such as accounting/invoices#line_items. V3 and V4 ids overlap: if both have the id, both records are shown. Exits with 1 if nothing is known about it.',
  options: z.object({
    model: argument('<model>', 'the V3 path of the model', text),
    id: argument('<id>', 'a V3 or V4 id', svcId),
    region: option('<name>', 'only this V3 region', text),
    company: option('<id>', 'only this company: a V3 company for V3 ids, a V4 company for V4 ids', companyId),
    json: jsonOutput('explain'),
  }),
  examples: {
    'svc-migrate explain accounting/invoices 1001': 'show everything known about one id',
    'svc-migrate explain accounting/invoices 1001 --json -': 'the same for a script',
  },
});

export const decide = defineCommand({
  name: 'decide',
  summary: 'settle open questions one by one on the terminal',
  more: 'Asks about companies first, then about V3 ids that are ambiguous or whose key has changed, with the candidates side by side. Asks last whether candidates that no V3 id became are new in V4. Answers are added to decisions.csv and companies.csv, or to the files that the configuration names. Keys: 1 to 9 choose a candidate, n none, a accept until a day, s skip, q quit.',
  options: z.object({ ...MODEL, ...COMPANY }),
  examples: {
    'svc-migrate decide': 'answer what only a person can settle',
    'svc-migrate decide --model accounting/invoices': 'only questions about one model',
  },
});

export const recheck = defineCommand({
  name: 'recheck',
  summary: 'read open findings again from both APIs, then remap',
  more: 'Reads single records where the APIs support it, and otherwise the lists that contain them. Reports which findings were resolved and which remain. Does not see what V4 has under another key: the next run does. Does not judge: check does that.',
  options: z.object({
    json: jsonOutput('recheck', 'the result as JSON, with every finding that was resolved (- is stdout)'),
    ...MAX_WAIT,
  }),
  examples: {
    'svc-migrate recheck': 'read open findings',
    'svc-migrate recheck --json recheck.json': 'the same for a script, with every finding that was resolved',
  },
});

export const verify = defineCommand({
  name: 'verify',
  summary: 'read mapped pairs from both APIs again, and compare',
  more: 'Compares the remap with the export, then reads pairs by id and compares company and platform_id. Exits with 1 if anything differs, with 4 if pairs could not be read. No export can run on the database meanwhile; for a long run with --all, verify a copy with --db.',
  options: z.object({
    sample: optionOr(
      '<n>',
      'how many pairs to read; more where it takes one of each model of a company',
      wholeNumber(1),
      String(DEFAULT_SAMPLE),
    ),
    all: flag('read every pair instead of a sample'),
    json: jsonOutput('verify', 'the result as JSON, with every pair that differs (- is stdout)'),
    ...MAX_WAIT,
  }),
  conflicts: [['all', 'sample']],
  examples: {
    'svc-migrate verify': `read ${DEFAULT_SAMPLE} pairs, spread over models and companies`,
    'svc-migrate verify --all --json verify.json': 'read every pair, for a script',
  },
});

export const lookup = defineCommand({
  name: 'lookup',
  summary: 'translate V3 ids to V4 ids, or back',
  more: 'For ids of children, write the model as accounting/invoices#line_items. Prints one line per id, in the order given: V3 id, V4 id or - (with --reverse: V4 id, V3 id or -), status and reason, separated by tabs. Exits with 1 if an id is not in the remap.',
  options: z.object({
    model: argument('<model>', 'the V3 path of the model', text),
    ids: listArgument('[ids...]', 'the ids', svcId),
    reverse: flag('translate V4 ids to V3 ids'),
    stdin: flag('also read ids from stdin, one per line'),
    json: jsonOutput('lookup', 'the answers as NDJSON, one per line, instead of text (- is stdout)'),
    region: option('<name>', 'V3 region of the ids, if regions use the same ids', text),
    company: option('<id>', 'company of the ids: a V3 company, with --reverse a V4 company', companyId),
    ...ALLOW_INCOMPLETE,
  }),
  runsWithoutTargets: true,
  examples: {
    'svc-migrate lookup accounting/invoices 1001 1002': 'translate two ids',
    'svc-migrate lookup accounting/invoices --stdin --json - < ids.txt':
      'translate any number of ids, as NDJSON',
  },
});

export const dump = defineCommand({
  name: 'dump',
  summary: 'write the whole remap table for other programs',
  options: z.object({
    format: optionOr('<format>', 'format of the output', z.enum(DUMP_FORMATS), 'csv'),
    output: output('write to this file instead of stdout; parquet needs one'),
    ...MODEL,
    ...COMPANY,
    ...ALLOW_INCOMPLETE,
  }),
  examples: {
    'svc-migrate dump --output remap.csv': 'write the table as CSV with a header',
    'svc-migrate dump --format sql --model accounting/invoices':
      'print one model as SQL that SQLite, PostgreSQL and MySQL read',
    'svc-migrate dump --format parquet --output remap.parquet': 'write one Parquet file for a warehouse',
  },
});

export const scan = defineCommand({
  name: 'scan',
  summary: 'find uses of the V3 API in source code',
  more: 'Reads TypeScript, JavaScript, Python, Ruby, PHP, Java, C# and Go, and shell, YAML, JSON, HTTP, HAR, SQL, Prisma, GraphQL and notebook files. Changes nothing. The configuration, if there is one, names the V3 hosts, the models and the field prefix.',
  options: z.object({
    paths: listArgument('[paths...]', 'files and folders to read; this folder without any', text),
    v3Host: listOption(
      '<host>',
      'host or address of V3, besides those of the configuration; without any, no use is certain; repeatable',
      text,
    ),
    failOn: optionOr(
      '<certainty>',
      'exit with 1 if uses remain that are at least this sure',
      z.enum(['certain', 'likely', 'look']),
      'certain',
    ),
    traffic: input(
      'access log (combined, JSON lines) or HAR file: lists the V3 routes that were really requested',
    ),
    json: jsonOutput('scan', 'findings and files as JSON (- is stdout)'),
    sarif: output('findings as SARIF 2.1.0, for code scanning'),
    gitlab: output('findings as a code quality report of GitLab'),
  }),
  examples: {
    'svc-migrate scan src': 'list the uses in a folder',
    'svc-migrate scan --v3-host eu.ledger.example --fail-on likely': 'judge without a configuration',
    'svc-migrate scan --sarif scan.sarif': 'write a file for code scanning',
  },
  runsWithoutConfig: true,
});

export const backup = defineCommand({
  name: 'backup',
  summary: 'make a consistent copy of the database',
  more: 'Copies the state of one moment and checks the copy before it gets its name. Another command may write the database meanwhile. Only the owner of the copy can read it. An existing file is replaced only with --force.',
  options: z.object({ file: argument('<file>', 'the copy', text), ...FORCE }),
  runsWithoutTargets: true,
  examples: {
    'svc-migrate backup before-cutover.db': 'keep what the cutover was decided on',
    'svc-migrate backup nightly.db --force': "replace last night's copy",
  },
});

export const purge = defineCommand({
  name: 'purge',
  summary: 'delete record payloads, keep ids and the remap',
  more: 'Says how many payloads there are, and asks on a terminal. Rewrites the file, so that no part of the payloads remains in it. Drift can no longer be measured afterwards.',
  options: z.object({
    payloads: flag('required: says what to delete'),
    yes: flag('delete without a question; required where there is no terminal'),
  }),
  examples: {
    'svc-migrate purge --payloads': 'delete everything that the remap does not need',
    'svc-migrate purge --payloads --yes --db rehearsal.db': 'the same in a script, for another database',
  },
});

export const completion = defineCommand({
  name: 'completion',
  summary: 'print a completion script for bash, zsh or fish',
  more: 'Completes commands, options and their values. The scripts call `completion words`, which prints what can replace the last word.',
  options: z.object({
    shell: argument('<shell>', 'bash, zsh or fish', text),
    words: listArgument('[words...]', 'what was typed, for `completion words`', text),
  }),
  examples: {
    'svc-migrate completion bash > svc-migrate.bash': 'then source it from ~/.bashrc',
    'svc-migrate completion fish > svc-migrate.fish': 'then move it to ~/.config/fish/completions',
  },
});

export const help = defineCommand({
  name: 'help',
  summary: 'explain a topic or a command',
  more: 'Without a topic, it lists the commands and topics. Where a topic and a command share a name, such as apply, it explains both.',
  options: z.object({ topic: listArgument('[topic...]', 'a topic or a command', text) }),
  examples: {
    'svc-migrate help config': 'every setting of the configuration file',
    'svc-migrate help exit-codes': 'what each exit code means',
  },
});

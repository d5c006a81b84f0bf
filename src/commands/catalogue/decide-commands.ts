import { REASONS, STATUSES } from '../../reasons.js';
import * as z from '../../zod.js';
import { defineCommand } from '../command.js';
import {
  argument,
  companyId,
  flag,
  input,
  listOption,
  option,
  optionOr,
  output,
  svcId,
  text,
  wholeNumber,
} from '../option.js';
import { COMPANY, DEFAULT_SAMPLE, MAX_WAIT, MODEL } from './options.js';

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
    json: output('write the findings as NDJSON, one per line (- is stdout)'),
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
  more: 'Takes V3 and V4 ids of records and children. V3 and V4 ids overlap: if both have the id, both records are shown. Exits with 1 if nothing is known about it.',
  options: z.object({
    model: argument('<model>', 'the V3 path of the model', text),
    id: argument('<id>', 'a V3 or V4 id', svcId),
    path: option('<field>', 'only children in this field, such as line_items', text),
    region: option('<name>', 'only this V3 region', text),
    company: option('<id>', 'only this company: a V3 company for V3 ids, a V4 company for V4 ids', companyId),
    json: output('the result as JSON (- is stdout)'),
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
    json: output('the result as JSON, with every finding that was resolved (- is stdout)'),
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
    sample: optionOr('<n>', 'how many pairs to read', wholeNumber(1), String(DEFAULT_SAMPLE)),
    all: flag('read every pair instead of a sample'),
    json: output('the result as JSON, with every pair that differs (- is stdout)'),
    ...MAX_WAIT,
  }),
  conflicts: [['all', 'sample']],
  examples: {
    'svc-migrate verify': `read ${DEFAULT_SAMPLE} pairs, spread over models and companies`,
    'svc-migrate verify --all --json verify.json': 'read every pair, for a script',
  },
});

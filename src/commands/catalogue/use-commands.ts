import { DUMP_FORMATS } from '../../domain.js';
import * as z from '../../zod.js';
import { defineCommand } from '../command.js';
import {
  argument,
  companyId,
  flag,
  input,
  listArgument,
  listOption,
  option,
  optionOr,
  output,
  svcId,
  text,
} from '../option.js';
import { ALLOW_INCOMPLETE, COMPANY, MODEL } from './options.js';

export const lookup = defineCommand({
  name: 'lookup',
  summary: 'translate V3 ids to V4 ids, or back',
  more: 'For ids of children, write the model as accounting/invoices#line_items or add --path. Prints one line per id, in the order given: V3 id, V4 id or - (with --reverse: V4 id, V3 id or -), status and reason, separated by tabs. Exits with 1 if an id is not in the remap.',
  options: z.object({
    model: argument('<model>', 'the V3 path of the model', text),
    ids: listArgument('[ids...]', 'the ids', svcId),
    reverse: flag('translate V4 ids to V3 ids'),
    stdin: flag('also read ids from stdin, one per line'),
    json: output('the answers as NDJSON, one per line, instead of text (- is stdout)'),
    region: option('<name>', 'V3 region of the ids, if regions use the same ids', text),
    company: option('<id>', 'company of the ids: a V3 company, with --reverse a V4 company', companyId),
    path: option('<field>', 'ids of children in this field, such as line_items', text),
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
    json: output('findings and files as JSON (- is stdout)'),
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

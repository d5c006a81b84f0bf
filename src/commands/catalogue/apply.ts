import { EMIT_DIALECTS, LAYOUTS } from '../../apply/emit/emit-request.js';
import * as z from '../../zod.js';
import { defineCommand } from '../define-command.js';
import { readingText } from '../legacy.js';
import { flag, listArgument, listOption, option, optionalArgument, optionOr, output } from '../option.js';
import { duration, text, wholeNumber } from '../option-types.js';
import { ALLOW_INCOMPLETE } from './options.js';

/** The place of one target that is not configured. */
const PLACE = {
  csv: option('<file>', 'use this CSV file as the target', text),
  ndjson: option('<file>', 'use this NDJSON file as the target', text),
  sqlite: option('<file>', 'use a table in this SQLite database as the target', text),
  postgresEnv: option(
    '<name>',
    'use a table in PostgreSQL as the target; the name of the environment variable with the connection string',
    text,
  ),
  postgresFile: option(
    '<file>',
    'use a table in PostgreSQL as the target; the file with the connection string',
    text,
  ),
  mysqlEnv: option(
    '<name>',
    'use a table in MySQL or MariaDB as the target; the name of the environment variable with the connection string',
    text,
  ),
  mysqlFile: option(
    '<file>',
    'use a table in MySQL or MariaDB as the target; the file with the connection string',
    text,
  ),
  ledgerSchema: option('<name>', 'PostgreSQL schema for the ledger (default: svc_migrate)', text),
};

const OUTPUT = {
  output: option('<file>', 'the new CSV or NDJSON file (default: the name of the old one with .v4)', text),
};

const EMIT = {
  output: option(
    '<path>',
    'the new CSV or NDJSON file (default: the name of the old one with .v4); with --emit-sql: the folder for the SQL',
    text,
  ),
  layout: optionOr('<tool>', 'files and folders as a migration tool expects them', z.enum(LAYOUTS), 'plain'),
};

const IDS = {
  table: option('<name>', 'table in the database', text),
  key: option(
    '<columns>',
    'columns that identify a row, separated by commas (default: the primary key)',
    text,
  ),
  ids: listOption(
    '<column[=model]>',
    'column that contains ids (NDJSON: JSON path), and their V3 model; repeatable',
    text,
  ),
  path: option('<path>', 'JSON path inside that column of a table', text),
  modelColumn: option('<name>', 'column that names the model of each row', text),
  region: option('<name>', 'V3 region of all ids', text),
  regionColumn: option('<name>', 'column that names the region of each row', text),
  company: option('<id>', 'V3 company of all ids', text),
  companyColumn: option('<name>', 'column that holds the V3 company of each row', text),
  newColumn: option('<name>', 'name of the new column (default: <column>_v4)', text),
  platformIdColumn: option(
    '<name>',
    'also store the platform_id of each record, in a new column of this name',
    text,
  ),
  delimiter: option('<text>', 'field separator of a CSV file (default: detected)', text),
  noHeader: flag('the CSV file has no header row; columns are #1, #2, …'),
};

const ANSWERS = {
  inPlace: flag('rewrite the column or file itself instead of adding a new one'),
  missing: option(
    '<what>',
    'what to do with ids that have no V4 id; fail, the default, writes nothing',
    z.enum(['fail', 'keep', 'null']),
  ),
  unknown: option(
    '<what>',
    'what to do with values that are not a V3 id of the model; fail is the default',
    z.enum(['fail', 'keep']),
  ),
  others: option(
    '<what>',
    'cells that other programs added or changed during or after a run: exit code 1, the default, or keep them',
    z.enum(['fail', 'keep']),
  ),
  mapDeleted: flag('also map deleted records that have a V4 id'),
};

const POLICY = {
  ...ANSWERS,
  again: flag('include rows that a finished run left alone or that were added since'),
};

const TUNING = {
  batchRows: option('<n>', 'rows changed per transaction (default: 20000)', wholeNumber(1)),
  lockTimeout: option('<duration>', 'longest wait for a lock (default: 10s)', duration),
  statementTimeout: option(
    '<duration>',
    'longest single statement on a database server (default: 10m)',
    duration,
  ),
};

const JSON_OUT = { json: output('the result as JSON (- is stdout)') };

const namesOf = <Shape extends object>(shape: Shape) => Object.keys(shape) as (keyof Shape & string)[];

const MODES = {
  yes: flag('carry the plan out'),
  plan: option(
    '<file>',
    'write the plan to this file; with --yes: carry out exactly this plan, or refuse',
    text,
  ),
  check: flag('check whether all stored ids have a V4 id; exits with 0 or 1'),
  verify: flag('check what finished runs wrote against ledger and remap; exits with 0 or 1'),
  emitSql: option(
    '<database>',
    'write the plan as SQL that your own pipeline runs; --output names the folder',
    z.enum(EMIT_DIALECTS),
  ),
  scan: flag('find columns and paths that contain V3 ids, and propose targets'),
};

const FILES = {
  ...JSON_OUT,
  unmapped: option('<file>', 'write every value that is left without a V4 id, as NDJSON', text),
  ...EMIT,
};

const apply = defineCommand({
  name: 'apply',
  summary: 'rewrite the V3 ids in your own tables and files',
  more: 'Without --yes it writes nothing and prints the plan. It then exits with 0 if nothing is in the way, 1 if some ids have no V4 id, 6 if something else is in the way. Targets are those of the configuration (all, or the ones named), or one given by options.',
  options: z.object({
    targets: listArgument('[targets...]', 'names of configured targets', text),
    ...MODES,
    ...POLICY,
    ...ALLOW_INCOMPLETE,
    ...PLACE,
    ...IDS,
    ...FILES,
    ...TUNING,
  }),
  headings: {
    'What to do (default: plan)': namesOf(MODES),
    'What to allow': [...namesOf(POLICY), ...namesOf(ALLOW_INCOMPLETE)],
    'One target instead of those configured': namesOf(PLACE),
    'Ids of that target': namesOf(IDS),
    'Files to write': namesOf(FILES),
    Tuning: namesOf(TUNING),
  },
  examples: {
    'svc-migrate apply --scan --sqlite shop.db': 'find columns that contain ids',
    'svc-migrate apply --csv orders.csv --ids invoice_id=accounting/invoices':
      'plan for one file; with --yes: write a new file beside it',
    'svc-migrate apply --in-place --plan plan.json':
      'plan for all targets; then carry it out: apply --yes --plan plan.json',
    'svc-migrate apply --emit-sql postgres --layout flyway --output migration':
      'write the plan as a Flyway migration instead of carrying it out',
    'svc-migrate apply --check': 'check all configured targets, in CI',
  },
  ...readingText(async () => (await import('../apply.js')).runApply),
});

const undo = defineCommand({
  name: 'undo',
  summary: 'undo a run of apply',
  more: 'Restores each value that the run changed, if it is still what the run wrote. Rows that changed since are listed and left alone. Without the name of a run, lists the runs.',
  options: z.object({
    run: optionalArgument('[run]', 'the name of the run', text),
    ...PLACE,
    ...OUTPUT,
    ...JSON_OUT,
    ...TUNING,
  }),
  examples: {
    'svc-migrate undo': 'list the runs in the ledgers of the configured targets',
    'svc-migrate undo --sqlite shop.db': 'list the runs in one database',
  },
  ...readingText(async () => (await import('../apply.js')).runUndo),
});

/** Your own tables and files. */
export const APPLY = [apply, undo];

import { EMIT_DIALECTS, LAYOUTS } from '../../apply/emit/layouts.js';
import * as z from '../../zod.js';
import { defineCommand } from '../command.js';
import {
  argument,
  flag,
  input,
  jsonOutput,
  listArgument,
  listOption,
  option,
  optionalArgument,
  optionOr,
  output,
  text,
} from '../option.js';
import { ALLOW_INCOMPLETE } from './options.js';

const TARGETS = {
  targets: listArgument(
    '[targets...]',
    'configured targets by name (default: all), or instead one CSV, NDJSON or SQLite file, or the environment variable with the address of a PostgreSQL, MySQL or MariaDB database',
    text,
  ),
};

/** The columns of a file or database that is not configured. */
const TABLE = { table: option('<name>', 'table in a database that is not configured', text) };
const COLUMNS = {
  ...TABLE,
  ids: listOption(
    '<column=model>',
    'column with ids (NDJSON: JSON path) and their V3 model, in a file or table that is not configured; or the entry of "ids" in the configuration, as JSON; repeatable',
    text,
  ),
};

/** What is done with ids that do not map. */
const ANSWERS = {
  missing: option(
    '<what>',
    'what to do with ids that have no V4 id; fail, the default, writes nothing; keep leaves the cell of a new file or column empty, keep-v3 puts the V3 id there',
    z.enum(['fail', 'keep', 'keep-v3', 'null']),
  ),
  unknown: option(
    '<what>',
    'what to do with values that are not a V3 id of the model; fail is the default',
    z.enum(['fail', 'keep']),
  ),
  mapDeleted: flag('also map deleted records that have a V4 id'),
};

const OTHERS = {
  others: option(
    '<what>',
    'cells that other programs added or changed during or after a run: exit code 1, the default, or keep them',
    z.enum(['fail', 'keep']),
  ),
};

const IN_PLACE = { inPlace: flag('rewrite the column of a table itself instead of adding a new one') };

const POLICY = {
  ...IN_PLACE,
  ...ANSWERS,
  ...ALLOW_INCOMPLETE,
  ...OTHERS,
  again: flag('with --in-place: include rows that a finished run left alone or that were added since'),
};

const RUN = (summary: string) => ({ run: optionalArgument('[run]', summary, text), ...TARGETS });
const JSON_OUT = { json: jsonOutput('apply') };
const UNMAPPED = { unmapped: output('every value that is left without a V4 id, as NDJSON') };

const NEEDS = [['again', 'inPlace']] as const;

/** What a saved plan has decided already. */
const SETTLED = (['inPlace', 'missing', 'unknown', 'mapDeleted', 'others', 'table', 'ids'] as const).map(
  (name) => ['plan', name] as const,
);

export const plan = defineCommand({
  name: 'apply plan',
  summary: 'show what rewriting the V3 ids in your tables and files would change',
  more: 'Changes nothing. Exits with 0 if nothing is in the way, 1 if some ids have no V4 id, 6 if something else is in the way. --verbose shows every count.',
  options: z.object({
    ...TARGETS,
    save: output('the plan itself, for apply write --plan, which carries out exactly this plan or refuses'),
    ...JSON_OUT,
    ...UNMAPPED,
    ...POLICY,
    ...COLUMNS,
  }),
  examples: {
    'svc-migrate apply plan': 'plan for all configured targets',
    'svc-migrate apply plan orders.csv --ids invoice_id=accounting/invoices': 'plan for one file',
    'svc-migrate apply plan --in-place --save plan.json': 'keep the plan, to carry out exactly this one',
  },
  needs: NEEDS,
});

export const write = defineCommand({
  name: 'apply write',
  summary: 'rewrite the V3 ids in your tables and files, each exactly once',
  more: 'Shows the plan and asks, on a terminal; elsewhere it needs --yes. Run it again: it takes what came since.',
  options: z.object({
    ...TARGETS,
    yes: flag('write without asking'),
    plan: input('a plan of apply plan --save: carry out exactly this one, or refuse'),
    ...JSON_OUT,
    ...UNMAPPED,
    ...POLICY,
    ...COLUMNS,
  }),
  examples: {
    'svc-migrate apply write': 'show the plan for all configured targets, ask, then write',
    'svc-migrate apply write --yes --plan plan.json': 'carry out an agreed plan in a script',
  },
  conflicts: SETTLED,
  needs: NEEDS,
});

export const check = defineCommand({
  name: 'apply check',
  summary: 'check that every stored V3 id has a V4 id, in CI',
  more: 'Changes nothing. Exits with 0 or 1.',
  options: z.object({
    ...TARGETS,
    ...JSON_OUT,
    ...UNMAPPED,
    ...ANSWERS,
    ...OTHERS,
    ...COLUMNS,
  }),
  examples: {
    'svc-migrate apply check': 'check all configured targets',
    'svc-migrate apply check orders --json check.json': 'check one, for a script',
  },
});

export const verify = defineCommand({
  name: 'apply verify',
  summary: 'check what finished runs wrote against ledger and remap',
  more: 'Reads every cell. Exits with 0 or 1.',
  options: z.object({
    ...RUN('the name of a run (default: all)'),
    ...JSON_OUT,
    ...OTHERS,
    ...ALLOW_INCOMPLETE,
  }),
  examples: {
    'svc-migrate apply verify': 'verify the runs on all configured targets',
    'svc-migrate apply verify shop.db': 'verify the runs in one database',
  },
});

export const find = defineCommand({
  name: 'apply find',
  summary: 'find columns and paths that contain V3 ids, as lines for the configuration',
  options: z.object({
    ...TARGETS,
    ...JSON_OUT,
    ...TABLE,
    ...ALLOW_INCOMPLETE,
  }),
  examples: {
    'svc-migrate apply find': 'look through the files and databases of all configured targets',
    'svc-migrate apply find shop.db': 'look through all tables of a database',
  },
});

export const sql = defineCommand({
  name: 'apply sql',
  summary: 'write the plan as SQL that your own pipeline runs',
  more: 'Reads the database and changes nothing. The folder may be the one with your own migrations.',
  options: z.object({
    dialect: argument('<dialect>', 'the database that runs the SQL', z.enum(EMIT_DIALECTS)),
    ...TARGETS,
    output: option('<folder>', 'the folder to write to, such as the one with your migrations', text),
    layout: optionOr(
      '<tool>',
      'files and folders as a migration tool expects them',
      z.enum(LAYOUTS),
      'plain',
    ),
    plan: input('a plan of apply plan --save: write exactly this one, or refuse'),
    ...JSON_OUT,
    ...UNMAPPED,
    ...IN_PLACE,
    ...ANSWERS,
    ...ALLOW_INCOMPLETE,
    ...OTHERS,
    ...COLUMNS,
  }),
  conflicts: SETTLED,
  examples: {
    'svc-migrate apply sql postgres --layout flyway --output migrations': 'write a Flyway migration',
    'svc-migrate apply sql sqlite --plan plan.json --output sql': 'write exactly an agreed plan',
  },
});

export const undo = defineCommand({
  name: 'apply undo',
  summary: 'restore what a run changed',
  more: 'Restores each value that the run changed, if it is still what the run wrote. Rows that changed since are listed and left alone.',
  options: z.object({
    ...RUN('the name of the run (default: the only one)'),
    ...JSON_OUT,
  }),
  examples: {
    'svc-migrate apply undo': 'undo the only run on the configured targets',
    'svc-migrate apply undo shop.db': 'undo the only run in one database',
  },
});

export const runs = defineCommand({
  name: 'apply runs',
  summary: 'list the runs in the ledgers of your tables and files',
  options: z.object({ ...TARGETS, ...JSON_OUT }),
  examples: {
    'svc-migrate apply runs': 'list the runs on the configured targets',
    'svc-migrate apply runs shop.db': 'list the runs in one database',
  },
});

import { EMIT_DIALECTS, LAYOUTS } from '../../apply/emit/emit-request.js';
import * as z from '../../zod.js';
import { type Command, type CommandDefinition, defineCommand } from '../define-command.js';
import {
  argument,
  duration,
  flag,
  input,
  listArgument,
  listOption,
  option,
  optionalArgument,
  optionOr,
  output,
  text,
  wholeNumber,
} from '../option.js';
import { ALLOW_INCOMPLETE } from './options.js';

const TARGETS = { targets: listArgument('[targets...]', 'names of configured targets (default: all)', text) };

/** A file or database that is not configured. */
const PLACE = {
  csv: option('<file>', 'use this CSV file as the target', text),
  ndjson: option('<file>', 'use this NDJSON file as the target', text),
  sqlite: option('<file>', 'use a table in this SQLite database as the target', text),
  postgresEnv: option(
    '<name>',
    'use a table in PostgreSQL, whose address is in this environment variable',
    text,
  ),
  mysqlEnv: option(
    '<name>',
    'use a table in MySQL or MariaDB, whose address is in this environment variable',
    text,
  ),
};

const DATABASE = { sqlite: PLACE.sqlite, postgresEnv: PLACE.postgresEnv, mysqlEnv: PLACE.mysqlEnv };

const TABLE = { table: option('<name>', 'table in the database', text) };
const COLUMNS = {
  ...TABLE,
  ids: listOption(
    '<column=model>',
    'column that contains ids (NDJSON: JSON path), and their V3 model; repeatable',
    text,
  ),
};
const NEW_FILE = {
  output: option('<file>', 'the new CSV or NDJSON file (default: the name of the old one with .v4)', text),
};

/** What is done with ids that do not map. */
const ANSWERS = {
  missing: option(
    '<what>',
    'what to do with ids that have no V4 id; fail, the default, writes nothing; keep leaves the cell of a new file or column empty',
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

const IN_PLACE = { inPlace: flag('rewrite the column or file itself instead of adding a new one') };

const POLICY = {
  ...IN_PLACE,
  ...ANSWERS,
  ...ALLOW_INCOMPLETE,
  ...OTHERS,
  again: flag('with --in-place: include rows that a finished run left alone or that were added since'),
};

const READING = {
  statementTimeout: option(
    '<duration>',
    'longest single statement on a database server (default: 10m)',
    duration,
  ),
};

const WRITING = {
  batchRows: option('<n>', 'rows changed per transaction (default: 20000)', wholeNumber(1)),
  lockTimeout: option('<duration>', 'longest wait for a lock (default: 10s)', duration),
  ...READING,
};

const JSON_OUT = { json: output('the result as JSON (- is stdout)') };
const UNMAPPED = { unmapped: output('every value that is left without a V4 id, as NDJSON') };

const HEADINGS = {
  'What to allow': Object.keys(POLICY),
  'One target instead of those configured': Object.keys({ ...PLACE, ...COLUMNS, ...NEW_FILE }),
  Tuning: Object.keys(WRITING),
};

/** Options that have no effect on a target, by the option that names its place. */
const WITHOUT_EFFECT: Readonly<Record<keyof typeof PLACE, readonly string[]>> = {
  csv: ['table', 'batchRows', 'lockTimeout', 'statementTimeout'],
  ndjson: ['table', 'batchRows', 'lockTimeout', 'statementTimeout'],
  sqlite: ['output', 'statementTimeout'],
  postgresEnv: ['output'],
  mysqlEnv: ['output'],
};
const PLACES = Object.keys(PLACE);

/** Pairs of which only one can be given. */
const CONFLICTS: readonly (readonly [one: string, other: string, hint: string])[] = [
  ...PLACES.flatMap((one, at) =>
    PLACES.slice(at + 1).map((other) => [one, other, 'Name one target at a time.'] as const),
  ),
  ...Object.entries(WITHOUT_EFFECT).flatMap(([place, names]) =>
    names.map((name) => [name, place, 'It has no effect on such a target.'] as const),
  ),
  ['inPlace', 'output', 'Rewriting in place writes no new file.'],
];

/** Defines a command with the rules and headings that concern its options. `except`: an option that means something else in it. */
function defineApply<Options extends z.ZodObject>(
  definition: Omit<CommandDefinition<Options>, 'conflicts' | 'needs' | 'headings' | 'loadInputs'>,
  except?: string,
): Command {
  const { options } = definition;
  const isOwn = (name: string): name is keyof Options['shape'] & string =>
    Object.hasOwn(options.shape, name) && name !== except;
  return defineCommand({
    ...definition,
    loadInputs: async () => (await import('../apply.js')).listTargetFiles,
    conflicts: CONFLICTS.flatMap(([one, other, hint]) =>
      isOwn(one) && isOwn(other) ? [[one, other, hint] as const] : [],
    ),
    needs: isOwn('again') && isOwn('inPlace') ? [['again', 'inPlace']] : [],
    headings: Object.fromEntries(
      Object.entries(HEADINGS).map(([heading, names]) => [heading, names.filter(isOwn)]),
    ),
  });
}

const plan = defineApply({
  name: 'apply plan',
  summary: 'show what rewriting the V3 ids in your tables and files would change',
  more: 'Changes nothing. Exits with 0 if nothing is in the way, 1 if some ids have no V4 id, 6 if something else is in the way. --verbose shows every count.',
  options: z.object({
    ...TARGETS,
    save: output('the plan itself, for apply write --plan, which carries out exactly this plan or refuses'),
    ...JSON_OUT,
    ...UNMAPPED,
    ...POLICY,
    ...PLACE,
    ...COLUMNS,
    ...NEW_FILE,
    ...READING,
  }),
  examples: {
    'svc-migrate apply plan': 'plan for all configured targets',
    'svc-migrate apply plan --csv orders.csv --ids invoice_id=accounting/invoices': 'plan for one file',
    'svc-migrate apply plan --in-place --save plan.json': 'keep the plan, to carry out exactly this one',
  },
  load: async () => (await import('../apply.js')).runPlan,
});

const write = defineApply({
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
    ...PLACE,
    ...COLUMNS,
    ...NEW_FILE,
    ...WRITING,
  }),
  examples: {
    'svc-migrate apply write': 'show the plan for all configured targets, ask, then write',
    'svc-migrate apply write --yes --plan plan.json': 'carry out an agreed plan in a script',
  },
  load: async () => (await import('../apply.js')).runWrite,
});

const check = defineApply({
  name: 'apply check',
  summary: 'check that every stored V3 id has a V4 id, in CI',
  more: 'Changes nothing. Exits with 0 or 1.',
  options: z.object({
    ...TARGETS,
    ...JSON_OUT,
    ...UNMAPPED,
    ...ANSWERS,
    ...OTHERS,
    ...PLACE,
    ...COLUMNS,
    ...READING,
  }),
  examples: {
    'svc-migrate apply check': 'check all configured targets',
    'svc-migrate apply check orders --json check.json': 'check one, for a script',
  },
  load: async () => (await import('../apply.js')).runCheckTargets,
});

const verify = defineApply({
  name: 'apply verify',
  summary: 'check what finished runs wrote against ledger and remap',
  more: 'Reads every cell. Exits with 0 or 1.',
  options: z.object({
    run: optionalArgument('[run]', 'the name of a run (default: all)', text),
    ...JSON_OUT,
    ...OTHERS,
    ...ALLOW_INCOMPLETE,
    ...PLACE,
    ...NEW_FILE,
    ...READING,
  }),
  examples: {
    'svc-migrate apply verify': 'verify the runs on all configured targets',
    'svc-migrate apply verify --sqlite shop.db': 'verify the runs in one database',
  },
  load: async () => (await import('../apply.js')).runVerifyRuns,
});

const find = defineApply({
  name: 'apply find',
  summary: 'find columns and paths that contain V3 ids, as lines for the configuration',
  options: z.object({
    ...TARGETS,
    ...JSON_OUT,
    ...TABLE,
    ...ALLOW_INCOMPLETE,
    ...PLACE,
    ...READING,
  }),
  examples: {
    'svc-migrate apply find': 'look through the files and databases of all configured targets',
    'svc-migrate apply find --sqlite shop.db': 'look through all tables of a database',
  },
  load: async () => (await import('../apply.js')).runFind,
});

const sql = defineApply(
  {
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
      ...DATABASE,
      ...COLUMNS,
      ...READING,
    }),
    examples: {
      'svc-migrate apply sql postgres --layout flyway --output migrations': 'write a Flyway migration',
      'svc-migrate apply sql sqlite --plan plan.json --output sql': 'write exactly an agreed plan',
    },
    load: async () => (await import('../apply.js')).runSql,
  },
  'output',
);

const undo = defineApply({
  name: 'apply undo',
  summary: 'restore what a run changed',
  more: 'Restores each value that the run changed, if it is still what the run wrote. Rows that changed since are listed and left alone. The name of the run may be left out if only one can be undone.',
  options: z.object({
    run: optionalArgument('[run]', 'the name of the run', text),
    ...JSON_OUT,
    ...PLACE,
    ...NEW_FILE,
    ...WRITING,
  }),
  examples: {
    'svc-migrate apply undo': 'undo the only run on the configured targets',
    'svc-migrate apply undo --sqlite shop.db': 'undo the only run in one database',
  },
  load: async () => (await import('../apply.js')).runUndo,
});

const runs = defineApply({
  name: 'apply runs',
  summary: 'list the runs in the ledgers of your tables and files',
  options: z.object({ ...JSON_OUT, ...PLACE, ...NEW_FILE, ...READING }),
  examples: {
    'svc-migrate apply runs': 'list the runs on the configured targets',
    'svc-migrate apply runs --sqlite shop.db': 'list the runs in one database',
  },
  load: async () => (await import('../apply.js')).runRuns,
});

/** Your own tables and files. */
export const APPLY = [plan, write, check, verify, find, sql, undo, runs];

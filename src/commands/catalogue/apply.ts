import { EMIT_DIALECTS, LAYOUTS } from '../../apply/emit/emit-request.js';
import * as z from '../../zod.js';
import { defineCommand } from '../define-command.js';
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

/** A database that is not configured. */
const DATABASE = {
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

const FILE = {
  csv: option('<file>', 'use this CSV file as the target', text),
  ndjson: option('<file>', 'use this NDJSON file as the target', text),
};

const NEW_FILE = {
  output: option('<file>', 'the new CSV or NDJSON file (default: the name of the old one with .v4)', text),
};

const TABLE = { table: option('<name>', 'table in the database', text) };

/** The columns of a table that is not configured. */
const COLUMNS = {
  ...TABLE,
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
};

const CSV = {
  delimiter: option('<text>', 'field separator of a CSV file (default: detected)', text),
  noHeader: flag('the CSV file has no header row; columns are #1, #2, …'),
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
  ...ALLOW_INCOMPLETE,
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
  ...OTHERS,
  again: flag('include rows that a finished run in place left alone or that were added since'),
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

const namesOf = <Shape extends object>(shape: Shape) => Object.keys(shape) as (keyof Shape & string)[];

/** Options that mean nothing for a target of a kind. */
const FILE_ONLY = ['output', 'delimiter', 'noHeader'] as const;
const TABLE_ONLY = [
  'table',
  'key',
  'path',
  'newColumn',
  'platformIdColumn',
  'batchRows',
  'lockTimeout',
  'statementTimeout',
] as const;
const MEANINGLESS: Readonly<Record<string, readonly string[]>> = {
  csv: [...TABLE_ONLY, 'ledgerSchema'],
  ndjson: [...TABLE_ONLY, 'ledgerSchema', 'delimiter', 'noHeader'],
  sqlite: [...FILE_ONLY, 'ledgerSchema', 'statementTimeout'],
  postgresEnv: FILE_ONLY,
  postgresFile: FILE_ONLY,
  mysqlEnv: [...FILE_ONLY, 'ledgerSchema'],
  mysqlFile: [...FILE_ONLY, 'ledgerSchema'],
};
const PLACES = Object.keys(MEANINGLESS);

const ONE_TARGET = 'Name one target at a time.';
const NOT_FOR_IT = 'It means nothing for such a target.';
const RULES: readonly (readonly [one: string, other: string, hint: string])[] = [
  ...PLACES.flatMap((one, at) => PLACES.slice(at + 1).map((other) => [one, other, ONE_TARGET] as const)),
  ...Object.entries(MEANINGLESS).flatMap(([place, names]) =>
    names.map((name) => [name, place, NOT_FOR_IT] as const),
  ),
  ['region', 'regionColumn', 'Name one of them.'],
  ['company', 'companyColumn', 'Name one of them.'],
  ['inPlace', 'newColumn', 'Rewriting in place adds no column.'],
  ['inPlace', 'output', 'Rewriting in place writes no new file.'],
];

type Name<Options extends z.ZodObject> = keyof Options['shape'];

/** The rules that concern the options of a command. */
function conflictsOf<Options extends z.ZodObject>(
  options: Options,
  except: readonly string[],
): (readonly [one: Name<Options>, other: Name<Options>, hint: string])[] {
  const isOwn = (name: string): name is keyof Options['shape'] & string =>
    Object.hasOwn(options.shape, name) && !except.includes(name);
  return RULES.flatMap(([one, other, hint]) =>
    isOwn(one) && isOwn(other) ? [[one, other, hint] as const] : [],
  );
}

/** Headings for those of the groups of options that a command has. */
function headingsOf<Options extends z.ZodObject>(
  options: Options,
): Readonly<Record<string, readonly Name<Options>[]>> {
  const groups = {
    'What to allow': namesOf(POLICY),
    'One target instead of those configured': [...namesOf(FILE), ...namesOf(DATABASE), ...namesOf(NEW_FILE)],
    'Ids of that target': [...namesOf(COLUMNS), ...namesOf(CSV)],
    Tuning: namesOf(WRITING),
  };
  return Object.fromEntries(
    Object.entries(groups).map(([heading, names]) => [
      heading,
      names.filter((name) => Object.hasOwn(options.shape, name)),
    ]),
  );
}

/** The rules and headings of a command with these options. `except`: options that mean something else in it. */
function targetRules<Options extends z.ZodObject>(options: Options, except: readonly string[] = []) {
  return { options, conflicts: conflictsOf(options, except), headings: headingsOf(options) };
}

const plan = defineCommand({
  name: 'apply plan',
  summary: 'show what rewriting the V3 ids in your tables and files would change',
  more: 'Changes nothing. Exits with 0 if nothing is in the way, 1 if some ids have no V4 id, 6 if something else is in the way. --verbose shows every count.',
  ...targetRules(
    z.object({
      ...TARGETS,
      save: output('the plan itself, for apply write --plan, which carries out exactly this plan or refuses'),
      ...JSON_OUT,
      ...UNMAPPED,
      ...POLICY,
      ...FILE,
      ...DATABASE,
      ...NEW_FILE,
      ...COLUMNS,
      ...CSV,
      ...READING,
    }),
  ),
  examples: {
    'svc-migrate apply plan': 'plan for all configured targets',
    'svc-migrate apply plan --csv orders.csv --ids invoice_id=accounting/invoices': 'plan for one file',
    'svc-migrate apply plan --in-place --save plan.json': 'keep the plan, to carry out exactly this one',
  },
  ownsOutputs: true,
  load: async () => (await import('../apply.js')).runPlan,
});

const write = defineCommand({
  name: 'apply write',
  summary: 'rewrite the V3 ids in your tables and files, each exactly once',
  more: 'Shows the plan and asks, on a terminal; elsewhere it needs --yes. Run it again: it takes what came since.',
  ...targetRules(
    z.object({
      ...TARGETS,
      yes: flag('write without asking'),
      plan: input('a plan of apply plan --save: carry out exactly this one, or refuse'),
      ...JSON_OUT,
      ...UNMAPPED,
      ...POLICY,
      ...FILE,
      ...DATABASE,
      ...NEW_FILE,
      ...COLUMNS,
      ...CSV,
      ...WRITING,
    }),
  ),
  examples: {
    'svc-migrate apply write': 'show the plan for all configured targets, ask, then write',
    'svc-migrate apply write --yes --plan plan.json': 'carry out an agreed plan in a script',
  },
  ownsOutputs: true,
  load: async () => (await import('../apply.js')).runWrite,
});

const check = defineCommand({
  name: 'apply check',
  summary: 'check that every stored V3 id has a V4 id, in CI',
  more: 'Changes nothing. Exits with 0 or 1.',
  ...targetRules(
    z.object({
      ...TARGETS,
      ...JSON_OUT,
      ...UNMAPPED,
      missing: ANSWERS.missing,
      unknown: ANSWERS.unknown,
      mapDeleted: ANSWERS.mapDeleted,
      ...OTHERS,
      ...FILE,
      ...DATABASE,
      ...COLUMNS,
      ...CSV,
      ...READING,
    }),
  ),
  examples: {
    'svc-migrate apply check': 'check all configured targets',
    'svc-migrate apply check orders --json check.json': 'check one, for a script',
  },
  ownsOutputs: true,
  load: async () => (await import('../apply.js')).runCheckTargets,
});

const verify = defineCommand({
  name: 'apply verify',
  summary: 'check what finished runs wrote against ledger and remap',
  more: 'Reads every cell. Exits with 0 or 1.',
  ...targetRules(
    z.object({
      run: optionalArgument('[run]', 'the name of a run (default: all)', text),
      ...JSON_OUT,
      ...OTHERS,
      ...ALLOW_INCOMPLETE,
      ...FILE,
      ...DATABASE,
      ...NEW_FILE,
      ...READING,
    }),
  ),
  examples: {
    'svc-migrate apply verify': 'verify the runs on all configured targets',
    'svc-migrate apply verify --sqlite shop.db': 'verify the runs in one database',
  },
  ownsOutputs: true,
  load: async () => (await import('../apply.js')).runVerifyRuns,
});

const find = defineCommand({
  name: 'apply find',
  summary: 'find columns and paths that contain V3 ids, as lines for the configuration',
  ...targetRules(
    z.object({
      ...TARGETS,
      ...JSON_OUT,
      ...TABLE,
      ...ALLOW_INCOMPLETE,
      ...FILE,
      ...DATABASE,
      noHeader: CSV.noHeader,
      ...READING,
    }),
  ),
  examples: {
    'svc-migrate apply find': 'look through the files and databases of all configured targets',
    'svc-migrate apply find --sqlite shop.db': 'look through all tables of a database',
  },
  ownsOutputs: true,
  load: async () => (await import('../apply.js')).runFind,
});

const sql = defineCommand({
  name: 'apply sql',
  summary: 'write the plan as SQL that your own pipeline runs',
  more: 'Reads the database and changes nothing. The folder may be the one with your own migrations.',
  ...targetRules(
    z.object({
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
      ...OTHERS,
      ...DATABASE,
      ...COLUMNS,
      ...READING,
    }),
    ['output'],
  ),
  examples: {
    'svc-migrate apply sql postgres --layout flyway --output migrations': 'write a Flyway migration',
    'svc-migrate apply sql sqlite --plan plan.json --output sql': 'write exactly an agreed plan',
  },
  ownsOutputs: true,
  load: async () => (await import('../apply.js')).runSql,
});

const undo = defineCommand({
  name: 'apply undo',
  summary: 'restore what a run changed',
  more: 'Restores each value that the run changed, if it is still what the run wrote. Rows that changed since are listed and left alone. The name of the run may be left out if only one can be undone.',
  ...targetRules(
    z.object({
      run: optionalArgument('[run]', 'the name of the run', text),
      ...JSON_OUT,
      ...FILE,
      ...DATABASE,
      ...NEW_FILE,
      ...WRITING,
    }),
  ),
  examples: {
    'svc-migrate apply undo': 'undo the only run on the configured targets',
    'svc-migrate apply undo --sqlite shop.db': 'undo the only run in one database',
  },
  ownsOutputs: true,
  load: async () => (await import('../apply.js')).runUndo,
});

const runs = defineCommand({
  name: 'apply runs',
  summary: 'list the runs in the ledgers of your tables and files',
  ...targetRules(z.object({ ...JSON_OUT, ...FILE, ...DATABASE, ...NEW_FILE, ...READING })),
  examples: {
    'svc-migrate apply runs': 'list the runs on the configured targets',
    'svc-migrate apply runs --sqlite shop.db': 'list the runs in one database',
  },
  ownsOutputs: true,
  load: async () => (await import('../apply.js')).runRuns,
});

/** Your own tables and files. */
export const APPLY = [plan, write, check, verify, find, sql, undo, runs];

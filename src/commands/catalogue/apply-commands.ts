import { EMIT_DIALECTS, LAYOUTS } from '../../apply/emit/emit-request.js';
import { SERVERS, type Server } from '../../domain.js';
import { type CommandSpec, groupOptions, type OptionSpecs } from '../command.js';
import { ALLOW_INCOMPLETE } from './options.js';

function serverOptions({ kind, product }: Server): [flag: string, summary: string][] {
  return [
    [
      `--${kind}-env <name>`,
      `use a table in ${product} as the target; the name of the environment variable with the connection string`,
    ],
    [`--${kind}-file <file>`, `use a table in ${product} as the target; the file with the connection string`],
  ];
}

/** The place of one target that is not configured. */
const PLACE: OptionSpecs = {
  '--csv <file>': 'use this CSV file as the target',
  '--ndjson <file>': 'use this NDJSON file as the target',
  '--sqlite <file>': 'use a table in this SQLite database as the target',
  ...Object.fromEntries(SERVERS.flatMap(serverOptions)),
  '--ledger-schema <name>': 'PostgreSQL schema for the ledger (default: svc_migrate)',
};

const OUTPUT: OptionSpecs = {
  '--output <file>': 'the new CSV or NDJSON file (default: the name of the old one with .v4)',
};

const EMIT: OptionSpecs = {
  '--output <path>':
    'the new CSV or NDJSON file (default: the name of the old one with .v4); with --emit-sql: the folder for the SQL',
  '--layout <tool>': {
    summary: 'files and folders as a migration tool expects them (default: plain)',
    choices: LAYOUTS,
  },
  '--at <time>': 'the time in the names of the files and of the run (default: when the remap was built)',
};

const IDS: OptionSpecs = {
  '--table <name>': 'table in the database',
  '--key <columns>': 'columns that identify a row, separated by commas (default: the primary key)',
  '--ids <column[=model]>': {
    summary: 'column that contains ids (NDJSON: JSON path), and their V3 model; repeatable',
    repeatable: true,
  },
  '--path <path>': 'JSON path inside that column of a table',
  '--model-column <name>': 'column that names the model of each row',
  '--region <name>': 'V3 region of all ids',
  '--region-column <name>': 'column that names the region of each row',
  '--company <id>': 'V3 company of all ids',
  '--company-column <name>': 'column that holds the V3 company of each row',
  '--new-column <name>': 'name of the new column (default: <column>_v4)',
  '--platform-id-column <name>': 'also store the platform_id of each record, in a new column of this name',
  '--delimiter <text>': 'field separator of a CSV file (default: detected)',
  '--no-header': 'the CSV file has no header row; columns are #1, #2, …',
};

const ANSWERS: OptionSpecs = {
  '--in-place': 'rewrite the column or file itself instead of adding a new one',
  '--missing <what>': {
    summary: 'ids that have no V4 id: fail (default, nothing is written), keep or null',
    choices: ['fail', 'keep', 'null'],
  },
  '--unknown <what>': {
    summary: 'values that are not a V3 id of the model: fail (default) or keep',
    choices: ['fail', 'keep'],
  },
  '--others <what>': {
    summary:
      'cells that other programs added or changed during or after a run: fail (default, exit code 1) or keep',
    choices: ['fail', 'keep'],
  },
  '--map-deleted': 'also map deleted records that have a V4 id',
};

const POLICY: OptionSpecs = {
  ...ANSWERS,
  '--again': 'include rows that a finished run left alone or that were added since',
};

const TUNING: OptionSpecs = {
  '--batch-rows <n>': 'rows changed per transaction (default: 20000)',
  '--lock-timeout <duration>': 'longest wait for a lock (default: 10s)',
  '--statement-timeout <duration>': 'longest single statement on a database server (default: 10m)',
};

const JSON_OUT: OptionSpecs = { '--json <file>': 'the result as JSON (- is stdout)' };

/** Your own tables and files. */
export const APPLY_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'apply',
    args: '[targets...]',
    summary: 'rewrite the V3 ids in your own tables and files, each exactly once',
    more: 'Without --yes it writes nothing and prints the plan. It then exits with 0 if nothing is in the way, 1 if some ids have no V4 id, 6 if something else is in the way. Targets are those of the configuration (all, or the ones named), or one given by options.',
    options: {
      ...groupOptions('What to do (default: plan)', {
        '--yes': 'carry the plan out',
        '--plan <file>': 'write the plan to this file; with --yes: carry out exactly this plan, or refuse',
        '--check': 'check whether all stored ids have a V4 id; exits with 0 or 1',
        '--verify': 'check what finished runs wrote against ledger and remap; exits with 0 or 1',
        '--emit-sql <database>': {
          summary: 'write the plan as SQL that your own pipeline runs; --output names the folder',
          choices: EMIT_DIALECTS,
        },
        '--scan': 'find columns and paths that contain V3 ids, and propose targets',
      }),
      ...groupOptions('What to allow', { ...POLICY, ...ALLOW_INCOMPLETE }),
      ...groupOptions('One target instead of those configured', PLACE),
      ...groupOptions('Ids of that target', IDS),
      ...groupOptions('Files to write', {
        ...JSON_OUT,
        '--unmapped <file>': 'write every value that is left without a V4 id, as NDJSON',
        ...EMIT,
      }),
      ...groupOptions('Tuning', TUNING),
    },
    examplesFirst: true,
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
    load: async () => (await import('../apply.js')).runApply,
  },
  {
    name: 'undo',
    args: '[run]',
    summary: 'undo a run of apply',
    more: 'Restores each value that the run changed, if it is still what the run wrote. Rows that changed since are listed and left alone. Without the name of a run, lists the runs.',
    options: { ...PLACE, ...OUTPUT, ...JSON_OUT, ...TUNING },
    examples: {
      'svc-migrate undo': 'list the runs in the ledgers of the configured targets',
      'svc-migrate undo --sqlite shop.db': 'list the runs in one database',
    },
    load: async () => (await import('../apply.js')).runUndo,
  },
];

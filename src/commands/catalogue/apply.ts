import type { CommandSpec, OptionSpec } from '../command.js';
import { ALLOW_INCOMPLETE } from './options.js';

/** Where the data are, for one target that the configuration does not name. */
const PLACE: readonly OptionSpec[] = [
  { flags: '--csv <file>', says: 'use this CSV file as the target instead of the configured targets' },
  { flags: '--ndjson <file>', says: 'the same for an NDJSON file' },
  { flags: '--sqlite <file>', says: 'the same for a table in this SQLite database' },
  {
    flags: '--postgres-env <name>',
    says: 'the same for a table in PostgreSQL; environment variable with the connection string',
  },
  { flags: '--postgres-file <file>', says: 'the same; file with the connection string' },
  { flags: '--ledger-schema <name>', says: 'PostgreSQL schema for the ledger (default: svc_migrate)' },
];

const OUTPUT: OptionSpec = {
  flags: '--output <file>',
  says: 'the new CSV or NDJSON file (default: the name of the old one with .v4)',
};

const ONE_TARGET: readonly OptionSpec[] = [
  ...PLACE,
  { flags: '--table <name>', says: 'table in the database' },
  {
    flags: '--key <columns>',
    says: 'columns that identify a row, separated by commas (default: the primary key)',
  },
  {
    flags: '--ids <column[=model]>',
    says: 'column that contains ids (NDJSON: JSON path), and their V3 model; repeatable',
    repeatable: true,
  },
  { flags: '--path <path>', says: 'JSON path inside that column of a table' },
  { flags: '--model-column <name>', says: 'column that names the model of each row' },
  { flags: '--region <name>', says: 'V3 region of all ids' },
  { flags: '--region-column <name>', says: 'column that names the region of each row' },
  { flags: '--company <id>', says: 'V3 company of all ids' },
  { flags: '--company-column <name>', says: 'column that holds the V3 company of each row' },
  { flags: '--new-column <name>', says: 'name of the new column (default: <column>_v4)' },
  OUTPUT,
  { flags: '--delimiter <text>', says: 'field separator of a CSV file (default: detected)' },
  { flags: '--no-header', says: 'the CSV file has no header row; columns are #1, #2, …' },
];

const POLICY: readonly OptionSpec[] = [
  { flags: '--in-place', says: 'rewrite the column or file itself instead of adding a new one' },
  {
    flags: '--missing <what>',
    says: 'ids that have no V4 id: fail (default, nothing is written), keep or null',
    choices: ['fail', 'keep', 'null'],
  },
  {
    flags: '--unknown <what>',
    says: 'values that are not a V3 id of the model: fail (default) or keep',
    choices: ['fail', 'keep'],
  },
  {
    flags: '--others <what>',
    says: 'cells that other programs added or changed during or after a run: fail (default, exit code 1) or keep',
    choices: ['fail', 'keep'],
  },
  { flags: '--map-deleted', says: 'also map deleted records that have a V4 id' },
  { flags: '--again', says: 'include rows that a finished run left alone or that were added since' },
];

const TUNING: readonly OptionSpec[] = [
  { flags: '--batch-rows <n>', says: 'rows changed per transaction (default: 20000)' },
  { flags: '--lock-timeout <duration>', says: 'longest wait for a lock (default: 10s)' },
  { flags: '--statement-timeout <duration>', says: 'longest single statement in PostgreSQL (default: 10m)' },
];

const JSON_OUT: OptionSpec = { flags: '--json <file>', says: 'the result as JSON (- is stdout)' };

/** Your own tables and files. */
export const APPLY_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'apply',
    args: '[targets...]',
    says: 'rewrite the V3 ids in your own tables and files, each exactly once',
    more: 'Without --yes it writes nothing and prints the plan. It then exits with 0 if nothing is in the way, 1 if some ids have no V4 id, 6 if something else is in the way. Targets are those of the configuration (all, or the ones named), or one given by options.',
    options: [
      { flags: '--yes', says: 'carry the plan out' },
      {
        flags: '--plan <file>',
        says: 'write the plan to this file; with --yes: carry out exactly this plan, or refuse',
      },
      { flags: '--check', says: 'check whether all stored ids have a V4 id; exits with 0 or 1' },
      {
        flags: '--verify',
        says: 'check what finished runs wrote against ledger and remap; exits with 0 or 1',
      },
      { flags: '--scan', says: 'find columns and paths that contain V3 ids, and propose targets' },
      JSON_OUT,
      { flags: '--unmapped <file>', says: 'write every value that is left without a V4 id, as NDJSON' },
      ...POLICY,
      ...ONE_TARGET,
      ...TUNING,
      ALLOW_INCOMPLETE,
    ],
    examples: [
      {
        line: 'svc-migrate apply --csv orders.csv --ids invoice_id=accounting/invoices',
        does: 'plan for one file',
      },
      { line: 'svc-migrate apply --scan --sqlite shop.db', does: 'find columns that contain ids' },
      { line: 'svc-migrate apply --in-place --plan plan.json', does: 'plan for all configured targets' },
      { line: 'svc-migrate apply --check', does: 'check all configured targets, in CI' },
    ],
    load: async () => (await import('../apply.js')).runApply,
  },
  {
    name: 'undo',
    args: '[run]',
    says: 'undo a run of apply',
    more: 'Restores each value that the run changed, if it is still what the run wrote. Rows that changed since are listed and left alone. Without the name of a run, lists the runs.',
    options: [...PLACE, OUTPUT, JSON_OUT, ...TUNING],
    examples: [
      { line: 'svc-migrate undo', does: 'list the runs in the ledgers of the configured targets' },
      { line: 'svc-migrate undo --sqlite shop.db', does: 'list the runs in one database' },
    ],
    load: async () => (await import('../undo.js')).runUndo,
  },
];

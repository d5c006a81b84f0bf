import type { CommandSpec, OptionSpec } from '../command.js';
import { ALLOW_INCOMPLETE } from './options.js';

/** Where the data are, for one target that the configuration does not name. */
const PLACE: readonly OptionSpec[] = [
  { flags: '--csv <file>', says: 'one target instead of the configured ones: a CSV file' },
  { flags: '--ndjson <file>', says: 'the same: an NDJSON file' },
  { flags: '--sqlite <file>', says: 'the same: a table of a SQLite database' },
  {
    flags: '--postgres-env <name>',
    says: 'the same: a table of the PostgreSQL whose address this variable holds',
  },
  { flags: '--postgres-file <file>', says: 'the same: a file that holds the address' },
  { flags: '--ledger-schema <name>', says: 'PostgreSQL schema for the ledger (default: svc_migrate)' },
];

const OUTPUT: OptionSpec = {
  flags: '--output <file>',
  says: 'the new file of a CSV or NDJSON file (default: with .v4 in its name)',
};

const ONE_TARGET: readonly OptionSpec[] = [
  ...PLACE,
  { flags: '--table <name>', says: 'the table of a database' },
  {
    flags: '--key <columns>',
    says: 'columns that identify a row, separated by commas (default: the primary key)',
  },
  {
    flags: '--ids <column[=model]>',
    says: 'a column (NDJSON: JSON path) that holds ids, and their V3 model; repeatable',
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
  { flags: '--delimiter <text>', says: 'field separator of a CSV file (default: found out)' },
  { flags: '--no-header', says: 'the CSV file has no header row; columns are #1, #2, …' },
];

const POLICY: readonly OptionSpec[] = [
  { flags: '--in-place', says: 'rewrite the column or file itself instead of a new one beside it' },
  {
    flags: '--missing <what>',
    says: 'ids without a twin in V4: fail (default, nothing is written), keep or null',
    choices: ['fail', 'keep', 'null'],
  },
  {
    flags: '--unknown <what>',
    says: 'values that are no V3 id of the model: fail (default) or keep',
    choices: ['fail', 'keep'],
  },
  {
    flags: '--others <what>',
    says: 'cells that other programs added or changed during or after a run: fail (default, exit code 1) or keep',
    choices: ['fail', 'keep'],
  },
  { flags: '--map-deleted', says: 'deleted records that V4 has count as mapped' },
  { flags: '--again', says: 'also rows that a finished run left alone or that came since' },
];

const TUNING: readonly OptionSpec[] = [
  { flags: '--batch-rows <n>', says: 'rows changed per transaction (default: 20000)' },
  { flags: '--lock-timeout <duration>', says: 'longest wait for a lock (default: 10s)' },
  { flags: '--statement-timeout <duration>', says: 'longest single statement in PostgreSQL (default: 10m)' },
];

const JSON_OUT: OptionSpec = { flags: '--json <file>', says: 'the result as JSON (- is stdout)' };

export const APPLY: CommandSpec = {
  name: 'apply',
  args: '[targets...]',
  says: 'rewrite the V3 ids in your own tables and files, exactly once',
  more: 'Without --yes it only looks, read-only, and prints the plan; exits with 0 where nothing is in the way, 1 where ids do not map, 6 where something else is. Targets are those of the configuration (all, or the ones named), or one given by options.',
  options: [
    { flags: '--yes', says: 'carry the plan out' },
    {
      flags: '--plan <file>',
      says: 'write the plan there; with --yes: carry out exactly that one, or refuse',
    },
    { flags: '--check', says: 'the gate: do all ids you store map? Exits with 0 or 1' },
    {
      flags: '--verify',
      says: 'recompute from ledger and remap what finished runs wrote; exits with 0 or 1',
    },
    { flags: '--scan', says: 'look for columns and paths that hold V3 ids and propose targets' },
    JSON_OUT,
    { flags: '--unmapped <file>', says: 'list every value that is left without a V4 id, as NDJSON' },
    ...POLICY,
    ...ONE_TARGET,
    ...TUNING,
    ALLOW_INCOMPLETE,
  ],
  examples: [
    {
      line: 'svc-migrate apply --csv orders.csv --ids invoice_id=accounting/invoices',
      does: 'look at one file',
    },
    { line: 'svc-migrate apply --scan --sqlite shop.db', does: 'look for columns that hold ids' },
    { line: 'svc-migrate apply --in-place --plan plan.json', does: 'plan all configured targets' },
    { line: 'svc-migrate apply --check', does: 'the gate over all configured targets' },
  ],
  run: async (given, io) => {
    const { parseApplyRequest } = await import('../apply-request.js');
    const { runApply } = await import('../apply.js');
    const config = await given.config();
    return runApply(config, parseApplyRequest(given, config), io);
  },
};

export const UNDO: CommandSpec = {
  name: 'undo',
  args: '[run]',
  says: 'take an apply back',
  more: 'Restores what the run changed, each value only while it is what the run wrote; rows changed since are listed and left alone. Without a run it lists those that there are.',
  options: [...PLACE, OUTPUT, JSON_OUT, ...TUNING],
  examples: [
    { line: 'svc-migrate undo', does: 'list the runs that the ledgers of the configured targets know' },
    { line: 'svc-migrate undo --sqlite shop.db', does: 'the runs of one database' },
  ],
  run: async (given, io) => {
    const { parseUndoRequest } = await import('../apply-request.js');
    const { runUndo } = await import('../undo.js');
    const config = await given.config();
    return runUndo(config, parseUndoRequest(given, config), io);
  },
};

import type { CommandSpec } from '../command.js';
import { BASELINE, baselineOf } from './baseline.js';
import { ALLOW_INCOMPLETE, COMPANY, MODEL, narrowed, OUTPUTS, outputsOf } from './options.js';
import { SINCE, sinceOf } from './since.js';

export const REMAP: CommandSpec = {
  name: 'remap',
  says: 'join the two exports on model, company and platform_id',
  more: 'Rebuilds the whole remap table in one transaction. Needs no network.',
  options: [],
  examples: [
    { line: 'svc-migrate remap', does: 'rebuild the remap from what is in the database' },
    { line: 'svc-migrate remap --db rehearsal.db', does: 'the same for another database' },
  ],
  run: async (given, io) => {
    const { runRemap } = await import('../remap.js');
    return runRemap({ config: await given.config() }, io);
  },
};

export const REPORT: CommandSpec = {
  name: 'report',
  says: 'show what matched and what did not, and why',
  more: 'Needs no network and does not judge: that is for check. Without an output option it prints a summary.',
  options: [MODEL, COMPANY, SINCE, ...OUTPUTS],
  examples: [
    { line: 'svc-migrate report', does: 'a summary to read' },
    {
      line: 'svc-migrate report --model crm/companies --ndjson findings.ndjson',
      does: 'write every finding of one model, for a script',
    },
    {
      line: 'svc-migrate report --full-sync request.md --full-sync-csv request.csv',
      does: 'write what to ask the operator for',
    },
    { line: 'svc-migrate report --since previous', does: 'show what the last build of the remap changed' },
  ],
  run: async (given, io) => {
    const { runReport } = await import('../report.js');
    const since = sinceOf(given.text('since'));
    return runReport({ ...(await narrowed(given)), outputs: outputsOf(given), since }, io);
  },
};

export const CHECK: CommandSpec = {
  name: 'check',
  says: 'judge the remap by the configured limits; the gate for CI',
  more: 'Prints the report. Exits with 0 if the cutover is safe, 1 if there are more findings than the limits allow, 4 if data are incomplete, 5 if V4 is not ready.',
  options: [MODEL, COMPANY, ...BASELINE, ...OUTPUTS],
  examples: [
    { line: 'svc-migrate check', does: 'judge the remap in the database' },
    { line: 'svc-migrate check --quiet --json report.json', does: 'the same in CI, with a file for scripts' },
    {
      line: 'svc-migrate check --write-baseline baseline.json --expires 14d --force',
      does: 'accept the present findings for two weeks',
    },
    {
      line: 'svc-migrate check --baseline baseline.json',
      does: 'judge the findings that are not accepted in baseline.json',
    },
  ],
  run: async (given, io) => {
    const { runCheck } = await import('../check.js');
    return runCheck({ ...(await narrowed(given)), outputs: outputsOf(given), ...baselineOf(given) }, io);
  },
};

export const STATUS: CommandSpec = {
  name: 'status',
  says: 'show what the database contains, what is unfinished, and what the next run will do',
  options: [],
  examples: [
    { line: 'svc-migrate status', does: 'show the present state' },
    { line: 'svc-migrate status --db rehearsal.db', does: 'the same for another database' },
  ],
  run: async (given, io) => {
    const { runStatus } = await import('../status.js');
    return runStatus({ config: await given.config() }, io);
  },
};

export const DUMP: CommandSpec = {
  name: 'dump',
  says: 'write the whole remap table as csv, ndjson or sql',
  options: [
    {
      flags: '--format <format>',
      says: 'format of the output (default: csv)',
      choices: ['csv', 'ndjson', 'sql'],
    },
    { flags: '--output <file>', says: 'write to this file instead of stdout' },
    MODEL,
    COMPANY,
    ALLOW_INCOMPLETE,
  ],
  examples: [
    { line: 'svc-migrate dump --output remap.csv', does: 'write the table as CSV with a header' },
    {
      line: 'svc-migrate dump --format sql --model accounting/invoices',
      does: 'print one model as INSERT statements',
    },
  ],
  run: async (given, io) => {
    const { runDump } = await import('../dump.js');
    const format = given.text('format') ?? 'csv';
    return runDump(
      {
        ...(await narrowed(given)),
        format: format === 'ndjson' || format === 'sql' ? format : 'csv',
        output: given.text('output'),
        allowIncomplete: given.isSet('allowIncomplete'),
      },
      io,
    );
  },
};

export const LOOKUP: CommandSpec = {
  name: 'lookup',
  args: '<model> [ids...]',
  says: 'translate V3 ids to V4 ids',
  more: 'Prints one line per id, in the order given: V3 id, V4 id or -, status and reason, separated by tabs.',
  options: [
    { flags: '--stdin', says: 'also read ids from stdin, one per line' },
    { flags: '--json', says: 'print one JSON object per line' },
    { flags: '--region <name>', says: 'V3 region of the ids, if regions use the same ids' },
    { flags: '--company <id>', says: 'V3 company of the ids' },
    { flags: '--path <field>', says: 'ids of children in this field, such as line_items' },
    ALLOW_INCOMPLETE,
  ],
  examples: [
    { line: 'svc-migrate lookup accounting/invoices 1001 1002', does: 'translate two ids' },
    {
      line: 'svc-migrate lookup accounting/invoices --stdin --json < ids.txt',
      does: 'translate any number of ids, as NDJSON',
    },
  ],
  run: async (given, io) => {
    const { runLookup } = await import('../lookup.js');
    const { requireId } = await import('../narrow.js');
    const [model = '', ...ids] = given.args;
    const company = given.text('company');
    return runLookup(
      {
        config: await given.config(),
        model,
        ids,
        input: given.isSet('stdin') ? given.input : undefined,
        json: given.isSet('json'),
        region: given.text('region'),
        company: company === undefined ? undefined : requireId(company, 'company id'),
        path: given.text('path'),
        allowIncomplete: given.isSet('allowIncomplete'),
      },
      io,
    );
  },
};

export const PURGE: CommandSpec = {
  name: 'purge',
  says: 'delete record payloads, keep ids and the remap',
  more: 'Rewrites the file, so that no part of the payloads remains in it. Drift can no longer be measured afterwards.',
  options: [{ flags: '--payloads', says: 'required: confirms that payloads are deleted' }],
  examples: [
    { line: 'svc-migrate purge --payloads', does: 'delete everything that the remap does not need' },
    { line: 'svc-migrate purge --payloads --db rehearsal.db', does: 'the same for another database' },
  ],
  run: async (given, io) => {
    const { runPurge } = await import('../purge.js');
    return runPurge({ config: await given.config(), payloads: given.isSet('payloads') }, io);
  },
};

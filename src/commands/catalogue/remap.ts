import type { CommandSpec } from '../command.js';
import { BASELINE, baselineOf } from './baseline.js';
import { ALLOW_INCOMPLETE, COMPANY, MODEL, narrowed, OUTPUTS, outputsOf } from './options.js';
import { SINCE, sinceOf } from './since.js';

export const REMAP: CommandSpec = {
  name: 'remap',
  says: 'join the two exports on model, company and platform_id',
  more: 'Rebuilds the remap table at once or not at all; needs no network.',
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
  more: 'Needs no network and judges nothing. Without an output option: a readable summary on stdout.',
  options: [MODEL, COMPANY, SINCE, ...OUTPUTS],
  examples: [
    { line: 'svc-migrate report', does: 'a summary to read' },
    {
      line: 'svc-migrate report --model crm/companies --ndjson findings.ndjson',
      does: 'every finding of one model, for a script',
    },
    {
      line: 'svc-migrate report --full-sync request.md --full-sync-csv request.csv',
      does: 'what to ask the operator for',
    },
    { line: 'svc-migrate report --since previous', does: 'what the last build of the remap changed' },
  ],
  run: async (given, io) => {
    const { runReport } = await import('../report.js');
    const since = sinceOf(given.text('since'));
    return runReport({ ...(await narrowed(given)), outputs: outputsOf(given), since }, io);
  },
};

export const CHECK: CommandSpec = {
  name: 'check',
  says: 'the gate: the report, judged by the configured limits',
  more: 'Exits with 0 where the cutover is safe, 1 over the limits, 4 on incomplete data, 5 where V4 is not ready.',
  options: [MODEL, COMPANY, ...BASELINE, ...OUTPUTS],
  examples: [
    { line: 'svc-migrate check', does: 'judge the remap in the database' },
    { line: 'svc-migrate check --quiet --json report.json', does: 'the same in CI, with a file for scripts' },
    {
      line: 'svc-migrate check --write-baseline baseline.json --expires 14d --force',
      does: 'accept what stands now, for two weeks',
    },
    { line: 'svc-migrate check --baseline baseline.json', does: 'judge what is not accepted there' },
  ],
  run: async (given, io) => {
    const { runCheck } = await import('../check.js');
    return runCheck({ ...(await narrowed(given)), outputs: outputsOf(given), ...baselineOf(given) }, io);
  },
};

export const STATUS: CommandSpec = {
  name: 'status',
  says: 'what the database holds, what is unfinished, what the next run will do',
  options: [],
  examples: [
    { line: 'svc-migrate status', does: 'where things stand' },
    { line: 'svc-migrate status --db rehearsal.db', does: 'the same for another database' },
  ],
  run: async (given, io) => {
    const { runStatus } = await import('../status.js');
    return runStatus({ config: await given.config() }, io);
  },
};

export const DUMP: CommandSpec = {
  name: 'dump',
  says: 'the whole remap table as csv, ndjson or sql',
  options: [
    { flags: '--format <format>', says: 'csv unless said otherwise', choices: ['csv', 'ndjson', 'sql'] },
    { flags: '--output <file>', says: 'a file instead of stdout' },
    MODEL,
    COMPANY,
    ALLOW_INCOMPLETE,
  ],
  examples: [
    { line: 'svc-migrate dump --output remap.csv', does: 'the table as CSV with a header' },
    {
      line: 'svc-migrate dump --format sql --model accounting/invoices',
      does: 'one model as INSERT statements, to stdout',
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
  says: 'V3 ids to V4 ids',
  more: 'One line per id, in the order given: V3 id, V4 id or -, status and reason, separated by tabs.',
  options: [
    { flags: '--stdin', says: 'read ids from stdin too, one a line' },
    { flags: '--json', says: 'one JSON object a line' },
    { flags: '--region <name>', says: 'V3 region of the ids, where regions share ids' },
    { flags: '--company <id>', says: 'V3 company of the ids' },
    { flags: '--path <field>', says: 'ids of children in this field, such as line_items' },
    ALLOW_INCOMPLETE,
  ],
  examples: [
    { line: 'svc-migrate lookup accounting/invoices 1001 1002', does: 'two ids' },
    {
      line: 'svc-migrate lookup accounting/invoices --stdin --json < ids.txt',
      does: 'as many as there are, as NDJSON',
    },
  ],
  run: async (given, io) => {
    const { runLookup } = await import('../lookup.js');
    const { parseId } = await import('../narrow.js');
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
        company: company === undefined ? undefined : parseId(company, 'company id'),
        path: given.text('path'),
        allowIncomplete: given.isSet('allowIncomplete'),
      },
      io,
    );
  },
};

export const PURGE: CommandSpec = {
  name: 'purge',
  says: 'drop record payloads, keep ids and the remap',
  more: 'The file is rewritten, so that nothing of the payloads stays in it. Drift can then no longer be measured.',
  options: [{ flags: '--payloads', says: 'yes, the payloads' }],
  examples: [
    { line: 'svc-migrate purge --payloads', does: 'keep only what the remap needs' },
    { line: 'svc-migrate purge --payloads --db rehearsal.db', does: 'the same for another database' },
  ],
  run: async (given, io) => {
    const { runPurge } = await import('../purge.js');
    return runPurge({ config: await given.config(), payloads: given.isSet('payloads') }, io);
  },
};

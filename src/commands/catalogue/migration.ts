import type { CommandSpec } from '../command.js';
import {
  ACCEPTED,
  BASELINE,
  COMPANY,
  IN_ACTIONS,
  MAX_WAIT,
  MODEL,
  OUTPUTS,
  RESTART,
  SINCE,
  WAITING,
} from './options.js';

/** Commands from a new configuration to the verdict. */
export const MIGRATION_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'init',
    summary: 'write a commented starter configuration',
    more: 'On a terminal it asks for addresses, names of key variables and models; elsewhere it asks nothing. It never overwrites a file without --force.',
    options: { '--force': 'replace an existing file' },
    examples: {
      'svc-migrate init': 'write svc-migrate.config.jsonc',
      'svc-migrate init --config staging.jsonc': 'write to another file',
    },
    load: async () => (await import('../init.js')).runInit,
  },
  {
    name: 'doctor',
    summary: 'check everything a migration needs, and say what to fix',
    more: 'Checks configuration, API keys, both APIs, V4 model names, which parameters V4 honours, page sizes, clocks, disk and database, and previews company pairs. Sends a limited number of requests and changes nothing. Exits with 0 if ready; otherwise 2 (configuration), 3 (API key refused), 4 (network), 5 (V4 not ready) or 6 (this machine).',
    options: {
      '--all': 'check the models of every V4 company, not of a sample of ten',
      '--write-config <file>':
        'write the configuration with the names, addresses, page sizes and parameters that both APIs answered to',
      '--force': 'replace an existing file',
      '--json <file>': 'the findings and the facts behind them as JSON (- is stdout)',
      ...MAX_WAIT,
    },
    examples: {
      'svc-migrate doctor': 'before the first export, and when something looks wrong',
      'svc-migrate doctor --write-config corrected.jsonc': 'write a configuration with the names that answer',
      'svc-migrate doctor --all --json doctor.json': 'check every company, for a script',
    },
    load: async () => (await import('../doctor.js')).runDoctor,
  },
  {
    name: 'export v3',
    summary: 'read every V3 list into the database',
    more: 'Continues where an earlier run stopped. If V3 was read in full before, reads only what changed since.',
    options: { ...MODEL, ...COMPANY, ...RESTART, ...MAX_WAIT },
    examples: {
      'svc-migrate export v3': 'read V3, continue where the last run stopped, or read what changed',
      'svc-migrate export v3 --model accounting/invoices --restart': 'read one model again from the start',
    },
    load: async () => (await import('../export.js')).runExportV3,
  },
  {
    name: 'export v4',
    summary: 'read every V4 list into the database',
    more: 'Reads V4 again in full, or continues an unfinished export. Records that V4 no longer returns are removed from the database.',
    options: { ...MODEL, ...COMPANY, ...RESTART, ...MAX_WAIT, ...WAITING },
    examples: {
      'svc-migrate export v4': 'read V4 again, or continue an unfinished export',
      'svc-migrate export v4 --company 4711': 'read one V4 company',
      'svc-migrate export v4 --wait --settle 10m':
        'read V4 once all counts have stayed the same for ten minutes',
    },
    load: async () => (await import('../export.js')).runExportV4,
  },
  {
    name: 'remap',
    summary: 'join the two exports on model, company and platform_id',
    more: 'Rebuilds the whole remap table in one transaction. Needs no network.',
    options: {},
    examples: {
      'svc-migrate remap': 'rebuild the remap from what is in the database',
      'svc-migrate remap --db rehearsal.db': 'the same for another database',
    },
    load: async () => (await import('../remap.js')).runRemap,
  },
  {
    name: 'report',
    summary: 'show what matched and what did not, and why',
    more: 'Needs no network and does not judge: that is for check. Without an output option it prints a summary.',
    options: { ...MODEL, ...COMPANY, ...SINCE, ...OUTPUTS },
    examples: {
      'svc-migrate report': 'a summary to read',
      'svc-migrate report --model crm/companies --ndjson findings.ndjson':
        'write every finding of one model, for a script',
      'svc-migrate report --full-sync request.md --full-sync-csv request.csv':
        'write what to ask the operator for',
      'svc-migrate report --since previous': 'show what the last build of the remap changed',
    },
    load: async () => (await import('../report.js')).runReport,
  },
  {
    name: 'check',
    summary: 'judge the remap by the configured limits; the gate for CI',
    more: 'Prints the report. Exits with 0 if the cutover is safe, 1 if there are more findings than the limits allow, 4 if data are incomplete, 5 if V4 is not ready.',
    options: { ...MODEL, ...COMPANY, ...BASELINE, ...OUTPUTS, ...IN_ACTIONS },
    examples: {
      'svc-migrate check': 'judge the remap in the database',
      'svc-migrate check --quiet --json report.json': 'the same in CI, with a file for scripts',
      'svc-migrate check --write-baseline baseline.json --expires 14d --force':
        'accept the present findings for two weeks',
      'svc-migrate check --baseline baseline.json':
        'judge the findings that are not accepted in baseline.json',
    },
    load: async () => (await import('../check.js')).runCheck,
  },
  {
    name: 'run',
    summary: 'run export v3, export v4, remap and check',
    more: 'After an incomplete export it continues, so that the report shows what is known, and then exits with 4.',
    options: {
      ...MODEL,
      ...COMPANY,
      ...RESTART,
      ...MAX_WAIT,
      ...WAITING,
      ...ACCEPTED,
      ...OUTPUTS,
      ...IN_ACTIONS,
    },
    examples: {
      'svc-migrate run': 'the whole migration up to the report, with a readable summary',
      'svc-migrate run --quiet --json report.json --ndjson findings.ndjson':
        'the same in CI, with files for scripts',
      'svc-migrate run --baseline baseline.json': 'the same, with the findings in baseline.json accepted',
    },
    load: async () => (await import('../run.js')).runRun,
  },
];

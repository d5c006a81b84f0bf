import { GENERATIONS } from '../../domain.js';
import * as z from '../../zod.js';
import { defineCommand } from '../command.js';
import { flag, optionalArgument, output } from '../option.js';
import { COMPANY, MAX_WAIT, MODEL, OUTPUTS, RESTART, WAITING, WAITING_NEEDS } from './options.js';

export const run = defineCommand({
  name: 'run',
  summary: 'export V3 and V4 at the same time, remap, check',
  more: 'After an incomplete export it continues, so that the report shows what is known, and then exits with 4.',
  options: z.object({
    ...MODEL,
    ...COMPANY,
    ...RESTART,
    ...MAX_WAIT,
    ...WAITING,
    ...OUTPUTS,
  }),
  needs: WAITING_NEEDS,
  examples: {
    'svc-migrate run': 'the whole migration up to the report, with a readable summary',
    'svc-migrate run --quiet --json report.json --ndjson findings.ndjson':
      'the same in CI, with files for scripts',
  },
  runsWithoutConfig: true,
});

export const exportBoth = defineCommand({
  name: 'export',
  summary: 'read every list of V3, V4 or both into the database',
  more: 'Without a generation, both are read at the same time. Continues where an earlier run stopped. If V3 was read in full before, reads only what changed since. Reads V4 again in full: records that V4 no longer returns are removed from the database.',
  options: z.object({
    generation: optionalArgument('[generation]', 'v3 or v4; both without it', z.enum(GENERATIONS)),
    ...MODEL,
    ...COMPANY,
    ...RESTART,
    ...MAX_WAIT,
    ...WAITING,
  }),
  needs: WAITING_NEEDS,
  examples: {
    'svc-migrate export': 'read V3 and V4, or continue where the last run stopped',
    'svc-migrate export v3 --model accounting/invoices --restart': 'read one model again from the start',
    'svc-migrate export v4 --company 4711': 'read one V4 company',
    'svc-migrate export --wait --settle 10m': 'read V4 once its counts have stayed the same for ten minutes',
  },
});

export const remap = defineCommand({
  name: 'remap',
  summary: 'join both on model, company and platform_id',
  more: 'Rebuilds the whole remap table in one transaction. Needs no network.',
  options: z.object({}),
  examples: {
    'svc-migrate remap': 'rebuild the remap from what is in the database',
    'svc-migrate remap --db rehearsal.db': 'the same for another database',
  },
});

export const report = defineCommand({
  name: 'report',
  summary: 'show what matched and what did not, and why',
  more: 'Needs no network and does not judge: check does that. Without an output option it prints a summary.',
  options: z.object({
    ...MODEL,
    ...COMPANY,
    ...OUTPUTS,
    open: flag('open the HTML page in the browser; without --html it is a temporary file'),
  }),
  examples: {
    'svc-migrate report': 'a summary to read',
    'svc-migrate report --open': 'the same as a page in the browser',
    'svc-migrate report --model crm/companies --ndjson findings.ndjson':
      'write every finding of one model, for a script',
  },
});

export const check = defineCommand({
  name: 'check',
  summary: 'judge the remap by the limits: the gate for CI',
  more: 'Prints the report. Exits with 0 if the cutover is safe, 1 if there are more findings than the limits allow, 4 if data are incomplete, 5 if V4 is not ready.',
  options: z.object({ ...MODEL, ...COMPANY, ...OUTPUTS }),
  examples: {
    'svc-migrate check': 'judge the remap in the database',
    'svc-migrate check --quiet --json report.json': 'the same in CI, with a file for scripts',
  },
  runsWithoutConfig: true,
});

export const status = defineCommand({
  name: 'status',
  summary: 'what the database contains, and what to run next',
  options: z.object({
    json: output('the state as JSON, with the command to run next (- is stdout)'),
  }),
  runsWithoutTargets: true,
  examples: {
    'svc-migrate status': 'show the present state',
    'svc-migrate status --json -': 'for a script',
    'svc-migrate status --db rehearsal.db': 'the same for another database',
  },
});

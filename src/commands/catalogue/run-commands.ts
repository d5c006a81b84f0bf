import { GENERATIONS } from '../../domain.js';
import * as z from '../../zod.js';
import { defineCommand } from '../command.js';
import {
  flag,
  httpAddress,
  jsonOutput,
  listOption,
  option,
  optionalArgument,
  optionOr,
  text,
  v3Addresses,
  v4Address,
  wholeNumber,
} from '../option.js';
import { COMPANY, EXPORTED, FORCE, MAX_WAIT, MODEL, OUTPUTS, WAITING, WAITING_NEEDS } from './options.js';

const MAX_LATENCY_MS = 60_000;
const MAX_RECORDS = 10_000_000;
const LARGEST_PORT = 65_535;
const LARGEST_SEED = 2 ** 32 - 1;
const MAX_COMPANIES = 1000;
const MIN_DAYS = 7;
const MAX_DAYS = 700;
const MAX_SECONDS = 86_400;

export const init = defineCommand({
  name: 'init',
  summary: 'write a commented starter configuration',
  more: 'It never overwrites a file without --force.',
  options: z.object({
    v3: option('<url>', 'address of V3, with /v3; several as region=url, separated by commas', v3Addresses),
    v4: option('<url>', 'address of V4, without /v4', v4Address),
    ...FORCE,
  }),
  examples: {
    'svc-migrate init': 'write svc-migrate.config.jsonc',
    'svc-migrate init --v3 https://eu.example/v3 --v4 https://api.example': 'with both addresses',
    'svc-migrate init --config staging.jsonc': 'write to another file',
  },
});

export const doctor = defineCommand({
  name: 'doctor',
  summary: 'check everything a migration needs; say what to fix',
  more: 'Checks configuration, API keys, both APIs, V4 model names, which parameters V4 honours, page sizes, clocks, disk and database, and previews company pairs. Sends a limited number of requests and changes nothing. Exits with 0 if ready; otherwise 2 (configuration), 3 (API key refused), 4 (network), 5 (V4 not ready) or 6 (this machine).',
  options: z.object({
    offline: flag('send nothing: check the configuration alone, and show what is in force'),
    writeConfig: option(
      '<file>',
      'write a copy of the configuration, with names, addresses, page sizes and parameters corrected to what both APIs accept',
      text,
    ),
    ...FORCE,
    json: jsonOutput('doctor', 'the findings as JSON (- is stdout)'),
    ...MAX_WAIT,
  }),
  examples: {
    'svc-migrate doctor': 'before the first export, and when something looks wrong',
    'svc-migrate doctor --write-config corrected.jsonc': 'write a corrected configuration',
    'svc-migrate doctor --offline': 'what is configured, with flags, environment and defaults',
    'svc-migrate doctor --json doctor.json': 'for a script',
  },
  conflicts: [['offline', 'writeConfig']],
  runsWithoutConfig: true,
});

export const demo = defineCommand({
  name: 'demo',
  summary: 'a whole migration in a sandbox, step by step',
  more: 'From a red gate to a green one, then to rewritten ids and back, each step as the command that does it. Needs no configuration and no network. Keeps its files in a folder whose name it prints, where every command can be run again.',
  options: z.object({
    seed: optionOr('<n>', 'seed of the test data', wholeNumber(), '1'),
    output: option('<folder>', 'new folder for the files (default: a temporary folder)', text),
    ...OUTPUTS,
  }),
  examples: {
    'svc-migrate demo': 'see what svc-migrate does',
    'svc-migrate demo --seed 7 --output rehearsal': 'use other data and a folder of your choice',
  },
  runsWithoutConfig: true,
});

export const sandbox = defineCommand({
  name: 'sandbox',
  summary: 'a local V3 and V4 service for rehearsal and tests',
  more: 'When ready, prints its addresses and API key: as one line of JSON, on a terminal as lines to copy. Runs until Ctrl-C. The same seed always gives the same service.',
  options: z.object({
    seed: optionOr('<n>', 'seed of the test data', wholeNumber(0, LARGEST_SEED), '1'),
    port: option('<n>', 'port on 127.0.0.1 (default: any free port)', wholeNumber(0, LARGEST_PORT)),
    records: option('<n>', 'approximate number of V3 records (default: 800)', wholeNumber(0, MAX_RECORDS)),
    companies: option('<n>', 'number of companies (default: 4, ugly: 5)', wholeNumber(0, MAX_COMPANIES)),
    scenario: optionOr(
      '<name>',
      'how difficult the data are; story: the service of demo, after its full sync',
      z.enum(['clean', 'ugly', 'story']),
      'clean',
    ),
    window: option('<days>', "length of V4's history (default: 90)", wholeNumber(MIN_DAYS, MAX_DAYS)),
    backfillSeconds: option(
      '<n>',
      'how long V4 takes to load its data (default: 0)',
      wholeNumber(0, MAX_SECONDS),
    ),
    latency: option('<ms>', 'how long every answer takes (default: 0)', wholeNumber(0, MAX_LATENCY_MS)),
    truth: option('<file>', 'write the correct answer for each V3 id, as NDJSON', text),
    configOut: option('<file>', 'write a configuration for this service', text),
    events: option('<url>', 'send webhook events to this address', httpAddress),
    fault: listOption(
      '<name[:rate]>',
      'inject a fault into this share of the requests (default: 0.05): 429, 500, reset, truncate, hang, cursor-expiry, cursor-loop, duplicate-pages, mutate; repeatable',
      text,
    ),
    quirk: listOption(
      '<name[=value]>',
      'differ from the specification: ignore=gte, refuse=select (parameters and operators of V4), page-cap=50, page-limit=50, clock-skew=3600, absent-v3=crm/stages, malformed=0.02, gzip, total-count=1000, any-model; repeatable',
      text,
    ),
  }),
  examples: {
    'svc-migrate sandbox --config-out sandbox.json': 'start a service and write a configuration for it',
    'svc-migrate sandbox --scenario ugly --fault 429:0.1 --truth truth.ndjson':
      'start one that misbehaves, and write the correct answers',
  },
});

export const run = defineCommand({
  name: 'run',
  summary: 'export V3 and V4 at the same time, remap, check',
  more: 'After an incomplete export it continues, so that the report shows what is known, and then exits with 4.',
  options: z.object({
    ...MODEL,
    ...EXPORTED,
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
    ...EXPORTED,
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
    json: jsonOutput('status', 'the state as JSON, with the command to run next (- is stdout)'),
  }),
  runsWithoutTargets: true,
  examples: {
    'svc-migrate status': 'show the present state',
    'svc-migrate status --json -': 'for a script',
    'svc-migrate status --db rehearsal.db': 'the same for another database',
  },
});

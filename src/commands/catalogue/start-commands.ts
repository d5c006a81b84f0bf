import * as z from '../../zod.js';
import { defineCommand } from '../command.js';
import {
  flag,
  httpAddress,
  listOption,
  option,
  optionOr,
  output,
  text,
  v3Addresses,
  v4Address,
  wholeNumber,
} from '../option.js';
import { FORCE, MAX_WAIT, OUTPUTS } from './options.js';

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
    json: output('the findings as JSON (- is stdout)'),
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

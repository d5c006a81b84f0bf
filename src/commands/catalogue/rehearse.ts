import type { CommandSpec } from '../command.js';
import { countOption, OUTPUTS, outputsOf } from './options.js';

export const SANDBOX: CommandSpec = {
  name: 'sandbox',
  says: 'run a local V3 and V4 service with test data and faults',
  more: 'When ready, prints its addresses and API key as one line of JSON. Runs until Ctrl-C. The same seed always gives the same service.',
  options: [
    { flags: '--seed <n>', says: 'seed of the test data (default: 1)' },
    { flags: '--port <n>', says: 'port on 127.0.0.1 (default: any free port)' },
    { flags: '--records <n>', says: 'approximate number of V3 records' },
    { flags: '--companies <n>', says: 'number of companies' },
    {
      flags: '--scenario <name>',
      says: 'how difficult the data are (default: clean)',
      choices: ['clean', 'ugly'],
    },
    { flags: '--window <days>', says: 'length of the backfill window' },
    { flags: '--backfill-seconds <n>', says: 'how long V4 takes to load its data' },
    { flags: '--truth <file>', says: 'write the correct answer for each V3 id, as NDJSON' },
    { flags: '--config-out <file>', says: 'write a configuration for this service' },
    { flags: '--events <url>', says: 'send webhook events to this address' },
    {
      flags: '--fault <name[:rate]>',
      says: '429, 500, reset, truncate, hang, cursor-expiry, cursor-loop, duplicate-pages, mutate; repeatable',
      repeatable: true,
    },
    {
      flags: '--quirk <name[=value]>',
      says: 'ignore=gte, refuse=select (parameters and operators of V4), page-cap=50, page-limit=50, clock-skew=3600, absent-v3=crm/stages, malformed=0.02, gzip, total-count=1000, any-model; repeatable',
      repeatable: true,
    },
  ],
  examples: [
    {
      line: 'svc-migrate sandbox --config-out sandbox.json',
      does: 'start a service and write a configuration for it',
    },
    {
      line: 'svc-migrate sandbox --seed 7 --scenario ugly --fault 429:0.1 --truth truth.ndjson',
      does: 'start one that misbehaves, and write the correct answers',
    },
  ],
  run: async (given, io) => {
    const { runSandbox } = await import('../sandbox.js');
    const names = ['seed', 'port', 'records', 'companies', 'scenario', 'truth', 'configOut', 'window'];
    const texts = [...names, 'backfillSeconds', 'events'].map((name) => [name, given.text(name)] as const);
    const [faults, quirks] = [given.texts('fault'), given.texts('quirk')];
    return runSandbox({ ...Object.fromEntries(texts), faults, quirks }, io);
  },
};

export const DEMO: CommandSpec = {
  name: 'demo',
  says: 'run a whole migration against the sandbox and show the report',
  more: 'Needs no configuration and no network. Keeps its files in a folder whose name it prints.',
  options: [
    { flags: '--seed <n>', says: 'seed of the test data (default: 1)' },
    { flags: '--output <folder>', says: 'new folder for the files (default: a temporary folder)' },
    ...OUTPUTS,
  ],
  examples: [
    { line: 'svc-migrate demo', does: 'see what svc-migrate does' },
    {
      line: 'svc-migrate demo --seed 7 --output rehearsal',
      does: 'use other data and a folder of your choice',
    },
  ],
  run: async (given, io) => {
    const { runDemo } = await import('../demo.js');
    const seed = countOption(given, 'seed') ?? 1;
    return runDemo({ seed, folder: given.text('output'), outputs: outputsOf(given) }, io);
  },
};

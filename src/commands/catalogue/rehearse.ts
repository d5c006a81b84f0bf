import type { CommandSpec } from '../command.js';
import { countOption, OUTPUTS, outputsOf } from './options.js';

export const SANDBOX: CommandSpec = {
  name: 'sandbox',
  says: 'a local V3 and V4 service with seeded data and faults',
  more: 'Prints one JSON line with addresses and key when ready; serves until Ctrl-C. The same seed is the same service.',
  options: [
    { flags: '--seed <n>', says: 'what everything is made from (default: 1)' },
    { flags: '--port <n>', says: 'port on 127.0.0.1 (default: a free one)' },
    { flags: '--records <n>', says: 'about how many V3 records' },
    { flags: '--companies <n>', says: 'how many companies' },
    { flags: '--scenario <name>', says: 'clean unless said otherwise', choices: ['clean', 'ugly'] },
    { flags: '--window <days>', says: 'length of the backfill window' },
    { flags: '--backfill-seconds <n>', says: 'how long V4 takes to fill' },
    { flags: '--truth <file>', says: 'write what each V3 id became, as NDJSON' },
    { flags: '--config-out <file>', says: 'write a configuration that fits' },
    { flags: '--events <url>', says: 'post webhook events there' },
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
    { line: 'svc-migrate sandbox --config-out sandbox.json', does: 'a service and a configuration for it' },
    {
      line: 'svc-migrate sandbox --seed 7 --scenario ugly --fault 429:0.1 --truth truth.ndjson',
      does: 'one that misbehaves, and what is true about it',
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
  says: 'the whole job against the sandbox, with the report at the end',
  more: 'Needs no configuration and no network; leaves its files in a folder that it names.',
  options: [
    { flags: '--seed <n>', says: 'what the sandbox is made from (default: 1)' },
    { flags: '--output <folder>', says: 'a new folder for the files (default: a temporary one)' },
    ...OUTPUTS,
  ],
  examples: [
    { line: 'svc-migrate demo', does: 'see what it does' },
    {
      line: 'svc-migrate demo --seed 7 --output rehearsal',
      does: 'other data, files in a folder of your choice',
    },
  ],
  run: async (given, io) => {
    const { runDemo } = await import('../demo.js');
    const seed = countOption(given, 'seed') ?? 1;
    return runDemo({ seed, folder: given.text('output'), outputs: outputsOf(given) }, io);
  },
};

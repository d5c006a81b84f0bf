import { SvcError } from '../../errors.js';
import type { CommandSpec, Given } from '../command.js';
import { MAX_WAIT, withMaxWait } from './max-wait.js';
import { countOption, durationOption } from './options.js';

/** Pairs that `verify` draws unless told: none wrong then means under 0.6 % with 95 % confidence. */
const USUAL_SAMPLE = 500;

export const VERIFY: CommandSpec = {
  name: 'verify',
  says: 'read mapped pairs from both APIs again and compare them',
  more: 'Compares the remap with the export, then reads pairs by id and compares company and platform_id. Exits with 1 if anything differs, with 4 if pairs could not be read. No export can run on the database meanwhile; for a long run with --all, verify a copy with --db.',
  options: [
    { flags: '--sample <n>', says: `how many pairs to read (default: ${USUAL_SAMPLE})` },
    { flags: '--seed <n>', says: 'seed of the random sample (default: derived from the remap)' },
    { flags: '--all', says: 'read every pair instead of a sample' },
    { flags: '--json', says: 'print the result as JSON, with every pair that differs' },
    MAX_WAIT,
  ],
  examples: [
    { line: 'svc-migrate verify', does: `read ${USUAL_SAMPLE} pairs, spread over models and companies` },
    { line: 'svc-migrate verify --all --json > verify.json', does: 'read every pair, for a script' },
  ],
  run: async (given, io) => {
    const { runVerify } = await import('../verify.js');
    return runVerify(
      {
        config: withMaxWait(await given.config(), given),
        sample: sampleOf(given),
        seed: countOption(given, 'seed') ?? null,
        json: given.isSet('json'),
      },
      io,
    );
  },
};

/** Between two rounds of `recheck`, unless told. */
const USUAL_PAUSE_MS = 60_000;

export const RECHECK: CommandSpec = {
  name: 'recheck',
  says: 'read open findings again from both APIs, then remap',
  more: 'Reads single records where the APIs support it, and otherwise the lists that contain them. Reports which findings were resolved and which remain. Does not judge: that is for check.',
  options: [
    { flags: '--times <n>', says: 'how many times to read them (default: 1)' },
    { flags: '--every <duration>', says: 'pause between two times, such as 10m (default: 1m)' },
    { flags: '--json', says: 'print the result as JSON, with every finding that was resolved' },
    MAX_WAIT,
  ],
  examples: [
    { line: 'svc-migrate recheck', does: 'read open findings once' },
    { line: 'svc-migrate recheck --times 2 --every 2s', does: 'read twice, and report what remains open' },
  ],
  run: async (given, io) => {
    const { runRecheck } = await import('../recheck.js');
    const times = countOption(given, 'times') ?? 1;
    if (times === 0) throw new SvcError('usage', '--times takes a whole number from 1 up.');
    return runRecheck(
      {
        config: withMaxWait(await given.config(), given),
        times,
        everyMs: durationOption(given, 'every', 'every') ?? USUAL_PAUSE_MS,
        json: given.isSet('json'),
      },
      io,
    );
  },
};

export const EXPLAIN: CommandSpec = {
  name: 'explain',
  args: '<model> [id]',
  says: 'show everything known about one record, and why it has its status',
  more: 'Takes V3 and V4 ids of records and children. V3 and V4 ids overlap: if both have the id, both records are shown.',
  options: [
    { flags: '--platform-id <key>', says: 'a platform_id instead of an id' },
    { flags: '--path <field>', says: 'only children in this field, such as line_items' },
    { flags: '--region <name>', says: 'only this V3 region' },
    { flags: '--company <id>', says: 'only this company: a V3 company for V3 ids, a V4 company for V4 ids' },
    { flags: '--json', says: 'print the result as JSON' },
  ],
  examples: [
    { line: 'svc-migrate explain accounting/invoices 1001', does: 'show everything known about one id' },
    {
      line: 'svc-migrate explain accounting/invoices --platform-id INV-1 --json',
      does: 'the same by platform_id, for a script',
    },
  ],
  run: async (given, io) => {
    const { runExplain } = await import('../explain.js');
    const { requireId } = await import('../narrow.js');
    const [model = '', id] = given.args;
    const company = given.text('company');
    return runExplain(
      {
        config: await given.config(),
        model,
        id,
        platformId: given.text('platformId') ?? null,
        path: given.text('path') ?? null,
        region: given.text('region') ?? null,
        companyId: company === undefined ? null : requireId(company, 'company id'),
        json: given.isSet('json'),
      },
      io,
    );
  },
};

function sampleOf(given: Given): number | null {
  const sample = countOption(given, 'sample');
  if (given.isSet('all') && sample !== undefined) {
    throw new SvcError('usage', '--all and --sample exclude each other.', { hint: 'Leave one of them out.' });
  }
  if (sample === 0) throw new SvcError('usage', '--sample takes a whole number from 1 up.');
  return given.isSet('all') ? null : (sample ?? USUAL_SAMPLE);
}

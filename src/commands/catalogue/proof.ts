import { SvcError } from '../../errors.js';
import type { CommandSpec, Given } from '../command.js';
import { MAX_WAIT, withMaxWait } from './max-wait.js';
import { countOption, durationOption } from './options.js';

/** Pairs that `verify` draws unless told: none wrong then means under 0.6 % with 95 % confidence. */
const USUAL_SAMPLE = 500;

export const VERIFY: CommandSpec = {
  name: 'verify',
  says: 'prove the remap: read mapped pairs live from both APIs',
  more: 'Holds the remap against the export, then reads pairs by id and compares company and platform_id. Exits with 1 where anything disagrees, with 4 where pairs could not be read. Keeps exports out of the database meanwhile: for hours of --all, verify a copy with --db.',
  options: [
    { flags: '--sample <n>', says: `how many pairs to draw (default: ${USUAL_SAMPLE})` },
    { flags: '--seed <n>', says: 'what the draw is made from (default: the remap)' },
    { flags: '--all', says: 'every pair instead of a sample' },
    { flags: '--json', says: 'the result as JSON, with every pair that disagrees' },
    MAX_WAIT,
  ],
  examples: [
    { line: 'svc-migrate verify', does: `${USUAL_SAMPLE} pairs, spread over models and companies` },
    { line: 'svc-migrate verify --all --json > verify.json', does: 'every pair, for a script' },
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
  says: 'ask both APIs again about the open findings only, then remap',
  more: 'Reads single records where the APIs honour that, else the lists concerned, and tells what healed and what persists. Judges nothing: that is for `check`.',
  options: [
    { flags: '--times <n>', says: 'how often to ask (default: 1)' },
    { flags: '--every <duration>', says: 'pause between two times, such as 10m (default: 1m)' },
    { flags: '--json', says: 'the result as JSON, with every finding that healed' },
    MAX_WAIT,
  ],
  examples: [
    { line: 'svc-migrate recheck', does: 'ask once more' },
    { line: 'svc-migrate recheck --times 2 --every 2s', does: 'what is still open then, persists' },
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
  says: 'the whole story of one record: what was seen, when, why this status',
  more: 'Takes V3 and V4 ids, of records and of children. The two overlap: where an id exists on both sides, both stories are told.',
  options: [
    { flags: '--platform-id <key>', says: 'a key of the platform instead of an id' },
    { flags: '--path <field>', says: 'only children in this field, such as line_items' },
    { flags: '--region <name>', says: 'only this V3 region' },
    { flags: '--company <id>', says: 'only this company, of the side that the id is of' },
    { flags: '--json', says: 'the story as JSON' },
  ],
  examples: [
    { line: 'svc-migrate explain accounting/invoices 1001', does: 'everything known about one id' },
    {
      line: 'svc-migrate explain accounting/invoices --platform-id INV-1 --json',
      does: 'the same by its key, for a script',
    },
  ],
  run: async (given, io) => {
    const { runExplain } = await import('../explain.js');
    const { parseId } = await import('../narrow.js');
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
        companyId: company === undefined ? null : parseId(company, 'company id'),
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

import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { parseConfigValue } from '../../src/config/load-config.js';
import { EXIT_BY_CODE } from '../../src/errors.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.js';
import { describeError } from '../../src/text/describe-error.js';
import { answerFaults } from '../support/answer-faults.js';
import { campaign } from '../support/campaign.js';
import type { Expected, FaultKind, Persistence, Position } from '../support/fault-kinds.js';
import { type FaultServer, type Script, startFaultServer } from '../support/fault-server.js';
import { pagingFaults } from '../support/paging-faults.js';
import { type Recordings, recordSandbox } from '../support/recordings.js';
import { serveFile } from '../support/serve-http.js';
import { createSmallJob, createVirtualTime, type Ending, type SmallJob } from '../support/small-job.js';
import { TRANSPORT_FAULTS } from '../support/transport-faults.js';

const ATTEMPTS = 4;
const MODEL = 'accounting/bill_credit_notes';
/** Whether only one combination of each fault is tried. */
const IS_SMALL = campaign({ small: true, full: false });
const POSITIONS: readonly Position[] = ['first', 'middle', 'last'];
const PERSISTENCES: readonly Persistence[] = ['once', 'until the last attempt', 'for ever'];

let sandbox: Sandbox;
let recordings: Recordings;
let askedElsewhere = 0;
const elsewhere = serveFile((_, response) => {
  askedElsewhere += 1;
  response.end('{}');
});
/** Addresses of the pages of one V3 and one V4 list, in order, and the digest of an undisturbed remap. */
let pages: Record<'v3' | 'v4', Record<Position | 'companies', string>>;
let undisturbed = '';
let tried = 0;

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 26, scale: 90, companies: 1 });
  recordings = recordSandbox(sandbox);
  const server = await startFaultServer({ recordings });
  const job = createSmallJob((file) => configFor(server, file, 20_000), sandbox.apiKey);
  const { error } = await job.exportBoth(createVirtualTime());
  if (error !== null) throw error;
  undisturbed = job.remap();
  pages = { v3: pagesOf(server, '/v3/'), v4: pagesOf(server, '/v4/core/companies/') };
  job.close();
  await server.close();
});
afterAll(() => sandbox.close());

function configFor(server: FaultServer, database: string, timeoutMs: number): Config {
  const text = JSON.stringify(sandbox.config()).replaceAll(sandbox.v4, server.origin);
  const value = JSON.parse(text) as { v3: object; v4: object; models: { v3: string }[] };
  const speed = { pageSize: 3, concurrency: 1, requestsPerSecond: 10_000 };
  return parseConfigValue(
    {
      ...value,
      database,
      v3: { ...value.v3, ...speed },
      v4: { ...value.v4, ...speed },
      models: value.models.filter(({ v3 }) => v3 === MODEL),
      http: { attempts: ATTEMPTS, timeoutMs, maxWaitMs: 60_000, maxBodyMiB: 1 },
    },
    `${database}.json`,
    0,
  );
}

/** First, middle and last page of the longest list below a path. */
function pagesOf(server: FaultServer, path: string): Record<Position | 'companies', string> {
  const lists = new Map<string, string[]>();
  for (const { address } of server.log) {
    if (!address.startsWith(path) || address.includes('updated_at')) continue;
    const list = address.split('?')[0] ?? '';
    lists.set(list, [...(lists.get(list) ?? []), address]);
  }
  const [longest = []] = [...lists.values()].sort((a, b) => b.length - a.length);
  expect(longest.length).toBeGreaterThanOrEqual(3);
  const at = (index: number): string => longest.at(index) ?? '';
  const companies =
    server.log.find(({ address }) => address.startsWith('/v4/core/companies?'))?.address ?? '';
  return { first: at(0), middle: at(longest.length >> 1), last: at(-1), companies };
}

interface Combination {
  readonly kind: FaultKind;
  readonly generation: 'v3' | 'v4';
  readonly position: Position | 'companies';
  readonly persistence: Persistence;
}

/** Every position with every persistence; or `sampled`, each persistence at one position, another for each kind. */
function combinationsOf(
  kinds: readonly FaultKind[],
  isSampled: (generation: 'v3' | 'v4') => boolean,
): Combination[] {
  return kinds.flatMap((kind, index) =>
    (['v3', 'v4'] as const)
      .filter((generation) => (kind.only ?? generation) === generation)
      .flatMap((generation) =>
        PERSISTENCES.flatMap((persistence, turn) =>
          POSITIONS.filter((_, at) => !isSampled(generation) || at === (index + turn) % POSITIONS.length)
            .filter((position) => position !== 'first' || kind.notFirst !== true)
            .map((position) => ({ kind, generation, position, persistence })),
        ),
      ),
  );
}

/**
 * One combination of each fault, which differs from that of its neighbours in everything; where it `lasts`, one that goes on for
 * ever: only that shows whether a broken answer is taken for a whole one.
 */
function oneOf(kind: FaultKind, index: number, lasts: boolean): Combination[] {
  const all = combinationsOf([kind], () => false);
  const fitting = lasts ? all.filter(({ persistence }) => persistence === 'for ever') : all;
  // 7 is coprime to their number.
  return fitting.slice((index * 7) % fitting.length).slice(0, 1);
}

function scriptOf({ kind, generation, position, persistence }: Combination): Script {
  const target = pages[generation][position];
  const strikes = {
    left: { once: 1, 'until the last attempt': ATTEMPTS - 1, 'for ever': Infinity }[persistence],
  };
  return ({ address }) => {
    if (address !== target || strikes.left === 0) return null;
    strikes.left -= 1;
    return { strike: kind.strike, strikes };
  };
}

/**
 * Runs one combination to its end and then on to a healthy one; what is wrong with it, or null. On a busy machine whole answers
 * may be late, too: what is wrong at a short timeout is tried at a longer one.
 */
async function tryCombination(combination: Combination): Promise<string | null> {
  if (combination.kind.slow !== true) return tryWithin(combination, 20_000);
  return (await tryWithin(combination, 1000)) === null ? null : tryWithin(combination, 10_000);
}

async function tryWithin(combination: Combination, timeoutMs: number): Promise<string | null> {
  const { kind, generation, position, persistence } = combination;
  const time = createVirtualTime(() => server.tick());
  const server = await startFaultServer({ recordings, clock: time.clock, script: scriptOf(combination) });
  const job = createSmallJob((file) => configFor(server, file, timeoutMs), sandbox.apiKey);
  try {
    const wrong = await judge(job, server, await job.exportBoth(time), expectedOf(combination));
    return wrong === null ? null : `${kind.name}, ${generation} ${position} page, ${persistence}: ${wrong}`;
  } finally {
    job.close();
    await server.close();
  }
}

function expectedOf({ kind, persistence, position }: Combination): Expected {
  return kind.expect(persistence, position === 'companies' ? 'middle' : position);
}

async function judge(
  job: SmallJob,
  server: FaultServer,
  ending: Ending,
  expected: Expected,
): Promise<string | null> {
  const found = outcomeOf(ending);
  if (found !== expected) return `expected ${expected}, found ${found}: ${ending.error?.message ?? ''}`;
  const complaint = ending.error === null ? null : complainAbout(ending.error);
  if (complaint !== null) return complaint;
  if (expected === 'same') return job.remap() === undisturbed ? null : 'another remap';
  if (job.look((db) => db.pragma('integrity_check', { simple: true })) !== 'ok') return 'damaged database';
  await server.heal();
  const restart = expected === 'short' || expected === 'rejected';
  const again = await job.exportBoth(createVirtualTime(), { restart });
  if (outcomeOf(again) !== 'same') return `healed, but ${outcomeOf(again)}`;
  return job.remap() === undisturbed ? null : 'another remap after the resume';
}

function outcomeOf({ error, states, rejected }: Ending): Expected {
  if (error !== null) return error.code;
  if (states.has('short')) return 'short';
  if (states.has('absent')) return 'absent';
  return rejected > 0 ? 'rejected' : 'same';
}

/** A documented exit code, a sentence that says where, what to do about it, and no secret. */
function complainAbout(error: NonNullable<Ending['error']>): string | null {
  const text = describeError(error, false);
  if (!(error.code in EXIT_BY_CODE) || ![2, 3, 4].includes(error.exitCode))
    return `exit code ${error.exitCode}`;
  if (text.includes(sandbox.apiKey)) return `the key in: ${text}`;
  if (!/V[34]|127\.0\.0\.1|server|cursor|page/.test(error.message)) return `a vague sentence: ${text}`;
  if (error.hint === undefined) return `no hint: ${text}`;
  if (/[^\n\x20-\x7e→…]/.test(text)) return `odd characters: ${JSON.stringify(text)}`;
  return null;
}

/** `full`: the generations of which every combination is tried. */
async function tryAll(
  title: string,
  kinds: readonly FaultKind[],
  options: { readonly full: readonly ('v3' | 'v4')[]; readonly lasts?: boolean; readonly parallel?: number },
): Promise<void> {
  const { full, lasts = false, parallel = 3 } = options;
  const isSampled = (generation: 'v3' | 'v4') => !full.includes(generation);
  const combinations = IS_SMALL
    ? kinds.flatMap((kind, index) => oneOf(kind, index, lasts))
    : combinationsOf(kinds, isSampled);
  const wrong = await tryEach(combinations, parallel);
  const resumed = combinations.filter((one) => expectedOf(one) !== 'same').length;
  process.stdout.write(
    `${title}: ${kinds.length} faults, ${combinations.length} combinations, ${resumed} of them resumed, ${wrong.length} wrong\n`,
  );
  expect(wrong).toEqual([]);
}

async function tryEach(combinations: readonly Combination[], parallel: number): Promise<string[]> {
  const limit = pLimit(parallel);
  tried += combinations.length;
  const results = await Promise.all(combinations.map((one) => limit(tryCombination, one)));
  return results.filter((result) => result !== null);
}

describe('a fault on any page, once, until the last attempt or for ever, ends in the same remap or in a clear error that a second run gets over', () => {
  const isSlow = ({ slow }: FaultKind): boolean => slow === true;
  it('in the transport', () =>
    tryAll(
      'transport',
      TRANSPORT_FAULTS.filter((kind) => !isSlow(kind)),
      { full: [], lasts: true },
    ));
  it('in time', () => tryAll('time', TRANSPORT_FAULTS.filter(isSlow), { full: [], parallel: 12 }));
  it('in status, headers and body', () =>
    tryAll('answers', answerFaults({ origin: elsewhere.origin }), { full: [] }));
  it('in paging', () => tryAll('paging', pagingFaults(elsewhere.origin), { full: ['v3'] }));
  it('in the list of companies', async () => {
    const faults = TRANSPORT_FAULTS.filter((kind, at) => !isSlow(kind) && (!IS_SMALL || at % 5 === 0));
    const wrong = await tryEach(
      faults.map((kind, index) => {
        const persistence = PERSISTENCES[index % PERSISTENCES.length] ?? 'once';
        return { kind, generation: 'v4', position: 'companies', persistence } as const;
      }),
      3,
    );
    process.stdout.write(`company list: ${faults.length} combinations, ${wrong.length} wrong\n`);
    expect(wrong).toEqual([]);
  });
  it('without a request to any other place', () => {
    expect(tried).toBeGreaterThanOrEqual(campaign({ small: 90, full: 600 }));
    expect(askedElsewhere).toBe(0);
  });
});

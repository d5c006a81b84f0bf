import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXIT_BY_CODE } from '../../src/errors.js';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.js';
import { at, must } from '../../src/text/at.js';
import { readCells, readRemapRows } from '../contract.js';
import { answerFaults } from '../support/answer-faults.js';
import { campaignCases, campaignSize } from '../support/campaign.js';
import { makeFastFolder } from '../support/fast-folder.js';
import type { Expected, FaultKind, Persistence, Position } from '../support/fault-kinds.js';
import { type FaultServer, type Script, startFaultServer } from '../support/fault-server.js';
import { pagingFaults } from '../support/paging-faults.js';
import { type Recordings, recordSandbox } from '../support/recordings.js';
import { type Ended, keysOf, runAnywhere } from '../support/run-cli.js';
import { serveFile } from '../support/serve-http.js';
import { TRANSPORT_FAULTS } from '../support/transport-faults.js';

/** More than two: to strike once is not to strike until the last attempt. */
const ATTEMPTS = 3;
const MODEL = 'accounting/bill_credit_notes';
const POSITIONS: readonly Position[] = ['first', 'middle', 'last'];
const PERSISTENCES: readonly Persistence[] = ['once', 'until the last attempt', 'for ever'];
/** Longer than any answer of the sandbox takes, also on a busy machine. */
const TIMEOUT_MS = 20_000;
const SLOW_TIMEOUT_MS = 1_500;
/** Retry-After of the faults is shorter than this, or much longer. */
const MAX_WAIT_MS = 30_000;

let sandbox: Sandbox;
let recordings: Recordings;
let root: string;
let askedElsewhere = 0;
const elsewhere = serveFile((_, response) => {
  askedElsewhere += 1;
  response.end('{}');
});
/** Addresses of the pages of a V3 and a V4 list, in order, and the remap of an undisturbed run. */
let pages: Record<'v3' | 'v4', Record<Position | 'companies', string>>;
let undisturbed: string;
let tried = 0;

beforeAll(async () => {
  root = makeFastFolder();
  sandbox = await startSandbox({ seed: 26, scale: 90, companies: 1 });
  recordings = recordSandbox(sandbox);
  const server = await startFaultServer({ recordings });
  const job = openJob(server, TIMEOUT_MS);
  const { code, stderr } = await job.run('run');
  expect([code, stderr]).toEqual([0, expect.anything()]);
  undisturbed = job.remap();
  pages = { v3: pagesOf(server, '/v3/'), v4: pagesOf(server, '/v4/core/companies/') };
  await server.close();
});
afterAll(async () => {
  await sandbox.close();
  rmSync(root, { recursive: true, force: true });
});

interface Job {
  run(...args: readonly string[]): Promise<Ended>;
  /** Every row of the remap, in order. */
  remap(): string;
  /** What became of the lists: states, codes of errors, and the number of rejected objects. */
  lists(): { readonly states: readonly string[]; readonly code: string | null; readonly rejected: number };
  close(): void;
}

let jobs = 0;

function openJob(server: FaultServer, timeoutMs: number): Job {
  const folder = join(root, `job-${++jobs}`);
  const config = join(folder, 'config.json');
  const text = JSON.stringify(sandbox.config()).replaceAll(sandbox.v4, server.origin);
  const value = JSON.parse(text) as { v3: object; v4: object; models: { v3: string }[] };
  const speed = { pageSize: 3, concurrency: 1, requestsPerSecond: 10_000 };
  mkdirSync(folder);
  writeFileSync(
    config,
    JSON.stringify({
      ...value,
      database: join(folder, 'svc-migrate.db'),
      v3: { ...value.v3, ...speed },
      v4: { ...value.v4, ...speed },
      models: value.models.filter(({ v3 }) => v3 === MODEL),
      http: { attempts: ATTEMPTS, timeoutMs, maxWaitMs: MAX_WAIT_MS, maxBodyMiB: 1 },
    }),
  );
  const env = keysOf(sandbox.apiKey);
  return {
    run: (...args) => runAnywhere([...args, '--quiet', '--config', config], { env }),
    remap: () => textOf(readRemapRows(folder)),
    lists: () => {
      const rows = readCells<{ state: string; error: string | null; rejected: bigint }>(
        join(folder, 'svc-migrate.db'),
        'select state, error, rejected from stream order by finished_at',
      );
      const error = rows.find((row) => row.error !== null)?.error ?? null;
      return {
        states: rows.map(({ state }) => state),
        code: error === null ? null : String(JSON.parse(error).code),
        rejected: rows.reduce((sum, { rejected }) => sum + Number(rejected), 0),
      };
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function textOf(rows: readonly object[]): string {
  return rows
    .map((row) => JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value)))
    .join('\n');
}

/** First, middle and last page of the longest list below a path. */
function pagesOf(server: FaultServer, path: string): Record<Position | 'companies', string> {
  const lists = new Map<string, string[]>();
  for (const { address } of server.log) {
    if (!address.startsWith(path) || address.includes('updated_at')) continue;
    const list = at(address.split('?'), 0);
    lists.set(list, [...(lists.get(list) ?? []), address]);
  }
  const [longest = []] = [...lists.values()].sort((a, b) => b.length - a.length);
  expect(longest.length).toBeGreaterThanOrEqual(3);
  const companies = server.log.find(({ address }) => address.startsWith('/v4/core/companies?'));
  return {
    first: at(longest, 0),
    middle: at(longest, longest.length >> 1),
    last: at(longest, -1),
    companies: must(companies).address,
  };
}

interface Combination {
  readonly kind: FaultKind;
  readonly generation: 'v3' | 'v4';
  readonly position: Position | 'companies';
  readonly persistence: Persistence;
}

/**
 * Each persistence at one position, another one for each kind. A kind that ends strikes once in one generation, and until
 * the last attempt in the other.
 */
function combinationsOf(kinds: readonly FaultKind[]): Combination[] {
  return kinds.flatMap((kind, index) =>
    (['v3', 'v4'] as const)
      .filter((generation) => (kind.only ?? generation) === generation)
      .flatMap((generation, side) =>
        PERSISTENCES.flatMap((persistence, turn) =>
          POSITIONS.filter((_, place) => place === (index + turn) % POSITIONS.length)
            .filter((position) => position !== 'first' || kind.notFirst !== true)
            .filter(() => kind.only !== undefined || turn !== (index + side) % 2)
            .map((position) => ({ kind, generation, position, persistence })),
        ),
      ),
  );
}

function scriptOf({ kind, generation, position, persistence }: Combination): Script {
  const target = pages[generation][position];
  const strikes = {
    left: { once: 1, 'until the last attempt': ATTEMPTS - 1, 'for ever': Number.POSITIVE_INFINITY }[
      persistence
    ],
  };
  return ({ address }) => {
    if (address !== target || strikes.left === 0) return null;
    strikes.left -= 1;
    return { strike: kind.strike, strikes };
  };
}

function expectedOf({ kind, persistence, position }: Combination): Expected {
  if (position !== 'companies') return kind.expect(persistence, position);
  const expected = kind.expect(persistence, 'first');
  return expected === 'absent' ? 'http_status' : expected;
}

/** What is wrong about one combination; null if nothing is. */
async function tryCombination(combination: Combination): Promise<string | null> {
  const server = await startFaultServer({ recordings });
  server.script = scriptOf(combination);
  const job = openJob(server, combination.kind.slow === true ? SLOW_TIMEOUT_MS : TIMEOUT_MS);
  try {
    const wrong = await judge(combination, server, job);
    const { kind, generation, position, persistence } = combination;
    return wrong === null ? null : `${kind.name}, ${generation} ${position}, ${persistence}: ${wrong}`;
  } finally {
    job.close();
    await server.close();
  }
}

/** Exit codes by what is expected; those of error codes follow from the code. */
const EXITS: Readonly<Record<string, number>> = { same: 0, short: 1, rejected: 1 };
/** The list is the only one: V3 has none of what is configured, and V4 nothing to compare. */
const ABSENT_EXITS = { v3: 2, v4: 5 };

async function judge(combination: Combination, server: FaultServer, job: Job): Promise<string | null> {
  const expected = expectedOf(combination);
  const ended = await job.run('run');
  const exit =
    expected === 'absent'
      ? ABSENT_EXITS[combination.generation]
      : (EXITS[expected] ?? EXIT_BY_CODE[expected as keyof typeof EXIT_BY_CODE]);
  const complaint = complainAbout(ended);
  if (complaint !== null) return complaint;
  if (ended.code !== exit)
    return `expected ${expected}, but exit ${ended.code}: ${ended.stderr.slice(0, 300)}`;
  if (expected === 'same') return job.remap() === undisturbed ? null : 'another remap';
  const { states, code, rejected } = job.lists();
  if (expected === 'rejected' ? rejected === 0 : !(expected in EXITS) && exit === 4 && code !== expected)
    return `expected ${expected}, but ${code}`;
  if ((expected === 'short' || expected === 'absent') && !states.includes(expected)) return `not ${expected}`;
  await server.heal();
  const restart = expected === 'short' || expected === 'rejected' || expected === 'absent';
  const again = await job.run(...(restart ? ['run', '--restart'] : ['run']));
  if (again.code !== 0) return `healed, but exit ${again.code}: ${again.stderr.slice(0, 300)}`;
  return job.remap() === undisturbed ? null : 'another remap after the resume';
}

/** Outputs never hold the key, control characters or a stack trace. */
function complainAbout({ stdout, stderr }: Ended): string | null {
  if (`${stdout}${stderr}`.includes(sandbox.apiKey)) return 'the key was printed';
  if (/\n\s+at |this is a bug/.test(stderr)) return `a bug: ${stderr.slice(0, 300)}`;
  if (/[^\n\x20-\x7e\u2018-\u201d\u2026\u2192\u00b7]/.test(stderr))
    return `odd characters: ${JSON.stringify(stderr.slice(0, 300))}`;
  return null;
}

async function tryAll(
  title: string,
  kinds: readonly FaultKind[],
  small: number,
  parallel: number,
): Promise<void> {
  const combinations = campaignCases(combinationsOf(kinds), small);
  const wrong = await tryEach(combinations, parallel);
  const resumed = combinations.filter((combination) => expectedOf(combination) !== 'same').length;
  process.stdout.write(
    `${title}: ${kinds.length} faults, ${combinations.length} combinations, ${resumed} of them resumed, ${wrong.length} wrong\n`,
  );
  expect(wrong).toEqual([]);
}

async function tryEach(combinations: readonly Combination[], parallel: number): Promise<string[]> {
  const limit = pLimit(parallel);
  tried += combinations.length;
  const results = await Promise.all(combinations.map((combination) => limit(tryCombination, combination)));
  return results.filter((result) => result !== null);
}

const isSlow = ({ slow }: FaultKind): boolean => slow === true;

describe('a fault on any page, once, until the last attempt or for ever, ends in the same remap or in an error that the next run recovers from', () => {
  it('in the transport', () =>
    tryAll(
      'transport',
      TRANSPORT_FAULTS.filter((kind) => !isSlow(kind)),
      9,
      8,
    ));
  it('in time', () => tryAll('time', TRANSPORT_FAULTS.filter(isSlow), 3, 12));
  it('in status, headers and body', () =>
    tryAll('answers', answerFaults({ origin: elsewhere.origin }), 15, 12));
  it('in paging', () => tryAll('paging', pagingFaults(elsewhere.origin), 8, 8));
  it('in the list of companies', async () => {
    const faults = campaignCases(
      TRANSPORT_FAULTS.filter((kind) => !isSlow(kind)),
      2,
    );
    const wrong = await tryEach(
      faults.map((kind, index) => {
        const persistence = at(PERSISTENCES, index % PERSISTENCES.length);
        return { kind, generation: 'v4', position: 'companies', persistence } as const;
      }),
      8,
    );
    process.stdout.write(`company list: ${faults.length} combinations, ${wrong.length} wrong\n`);
    expect(wrong).toEqual([]);
  });
  it('without a request to any other place', () => {
    expect(tried).toBeGreaterThanOrEqual(campaignSize({ small: 30, full: 400 }));
    expect(askedElsewhere).toBe(0);
  });
});

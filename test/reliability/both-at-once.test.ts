import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Sqlite } from '../../src/store/sqlite.js';
import { keysOf, makeFolder, runCli } from '../cli/run-cli.js';
import { spawnCli } from '../cli/spawn-cli.js';
import { campaignCases } from '../support/campaign.js';
import { serveFile } from '../support/serve-http.js';

/** A service on one host whose lists have three pages of two records each; `strike` answers instead where it returns true. */
const PAGES = 3;

interface Seen {
  readonly generation: 'v3' | 'v4';
  readonly kind: 'list' | 'companies' | 'sweep';
  /** The last part of the path. */
  readonly model: string;
  readonly cursor: string | null;
  readonly atMs: number;
}

type Strike = (seen: Seen, response: ServerResponse) => boolean | Promise<boolean>;

const server = serveFile((request, response) => void answer(request, response));
let log: Seen[] = [];
let strike: Strike = () => false;
/** `total_count`s that are not those of the pages, by model. */
let counts: Readonly<Record<string, number>> = {};
let pending = 0;
let mostPending = 0;

afterEach(() => {
  log = [];
  strike = () => false;
  counts = {};
  mostPending = 0;
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
  const generation = pathname.startsWith('/v4/') ? 'v4' : 'v3';
  const isSweep = [...searchParams.keys()].some((name) => name.includes('[gte]'));
  const kind = pathname.endsWith('/companies') ? 'companies' : isSweep ? 'sweep' : 'list';
  const model = pathname.split('/').at(-1) ?? '';
  const seen: Seen = { generation, kind, model, cursor: searchParams.get('next'), atMs: performance.now() };
  log.push(seen);
  pending += 1;
  mostPending = Math.max(mostPending, pending);
  response.on('close', () => {
    pending -= 1;
  });
  if (await strike(seen, response)) return;
  reply(response, 200, pageOf(seen));
}

function pageOf({ generation, kind, model, cursor }: Seen): unknown {
  if (kind === 'companies') return inV4([{ svc_id: 1, name: 'One' }], null, 1);
  if (kind === 'sweep') return { data: [], prev: null, next: null, total_count: 0 };
  const page = Number(cursor ?? '0');
  const data = [1, 2].map((at) => {
    const id = page * 2 + at;
    return { svc_id: generation === 'v3' ? id : id + 100, svc_company_id: 1, platform_id: `p${id}` };
  });
  const next = page + 1 === PAGES ? null : String(page + 1);
  const total = counts[model] ?? PAGES * 2;
  return generation === 'v4' ? inV4(data, next, total) : { data, prev: null, next, total_count: total };
}

function inV4(data: unknown[], next: string | null, total: number): unknown {
  return { data: { data, prev: null, next, total_count: total }, request_id: 'r' };
}

function reply(response: ServerResponse, status: number, body: unknown, headers = {}): true {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
  return true;
}

/** Resolves once the condition holds for the requests that arrived. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((done) => setTimeout(done, 5));
}

interface Settings {
  readonly speed?: object;
  readonly http?: object;
  /** Another name of the same host, to which limits apply of their own. */
  readonly v4Host?: string;
  readonly models?: readonly string[];
}

function setUp(settings: Settings = {}): string {
  const { speed = {}, http = {}, v4Host = '127.0.0.1', models = ['invoices'] } = settings;
  const base = server.origin;
  return makeFolder({
    v3: { regions: { default: { baseUrl: `${base}/v3` } }, requestsPerSecond: 1000, ...speed },
    v4: { baseUrl: base.replace('127.0.0.1', v4Host), requestsPerSecond: 1000, ...speed },
    models: models.map((v4) => ({ v3: `accounting/${v4}`, v4 })),
    http: { attempts: 1, ...http },
  });
}

const run = (cwd: string, ...args: string[]) => runCli(args, { cwd, env: keysOf('key') });
const asked = (generation: Seen['generation'], kind: Seen['kind'] = 'list') =>
  log.filter((seen) => seen.generation === generation && seen.kind === kind);

/** The states of the lists in the database. */
function states(cwd: string): Record<string, unknown> {
  const db = new Sqlite(join(cwd, 'svc-migrate.db'), { readonly: true });
  const rows = db.prepare("SELECT generation, state FROM stream WHERE model LIKE 'accounting/%'").raw().all();
  db.close();
  return Object.fromEntries(rows as [string, string][]);
}

describe('V3 and V4 at the same time', () => {
  it.each(['export', 'run'])('%s reads the one while the other is being read', async (command) => {
    // V3's first page waits for V4's, and V4's second for V3's: one after the other would never end.
    strike = async ({ generation, kind, cursor }) => {
      if (kind !== 'list') return false;
      if (generation === 'v3' && cursor === null) await until(() => asked('v4').length > 0);
      if (generation === 'v4' && cursor === '1') await until(() => asked('v3').length > 1);
      return false;
    };
    const cwd = setUp();
    const ended = await run(cwd, command);
    expect(ended).toMatchObject({ code: 0 });
    expect(ended.stderr).toContain('export v3: 6 records received in 4 pages');
    expect(ended.stderr).toContain('export v4: 6 records received in 3 pages');
    if (command === 'run') return;
    expect(ended.stdout).toMatch(
      /V3: .*, 6 records,[\s\S]*V4: .*, 6 records,[\s\S]*\nNext: svc-migrate remap\n$/,
    );
    expect(ended.stdout.match(/Next:/g)).toHaveLength(1);
  });

  it.each([
    ['v3', 'v4'],
    ['v4', 'v3'],
  ] as const)('%s out of order leaves %s to be read, and is resumed alone', async (broken, other) => {
    strike = ({ generation, cursor }, response) =>
      generation === broken && cursor === '1' && reply(response, 500, {});
    const cwd = setUp();
    const ended = await run(cwd, 'export', '--quiet');
    expect(ended).toMatchObject({ code: 4 });
    expect(ended.stderr).toContain(`1 of 1 ${broken.toUpperCase()} list could not be read to the end`);
    expect(ended.stdout).toContain(`Next: svc-migrate export ${broken}\n`);
    expect(states(cwd)).toEqual({ [broken]: 'failed', [other]: 'complete' });
    expect((await run(cwd, 'run', '--quiet')).code).toBe(4);
    strike = () => false;
    log = [];
    expect(await run(cwd, 'export', broken, '--quiet')).toMatchObject({ code: 0 });
    expect(asked(broken).map(({ cursor }) => cursor)).toEqual(['1', '2']);
  });

  it('V3 without any list is exit 2 after V4 was read', async () => {
    strike = ({ generation }, response) => generation === 'v3' && reply(response, 404, {});
    for (const command of ['export', 'run']) {
      const cwd = setUp();
      expect(await run(cwd, command, '--quiet')).toMatchObject({ code: 2 });
      expect(states(cwd)).toMatchObject({ v4: 'complete' });
    }
  });

  it.each([401, 403])(
    'a key of V3 that is refused (%i) ends both, and what was read is kept',
    async (status) => {
      const cwd = setUp();
      strike = async ({ generation, kind, cursor }, response) => {
        if (kind !== 'list') return false;
        if (generation === 'v3') {
          await until(() => asked('v4').some((seen) => seen.cursor === '2'));
          return reply(response, status, {});
        }
        // V4's last page would never come.
        if (cursor === '2') await once(response, 'close');
        return cursor === '2';
      };
      for (const command of ['run', 'export']) {
        log = [];
        expect(await run(cwd, command, '--quiet')).toMatchObject({ code: 3 });
        expect(states(cwd)).toEqual({ v3: 'running', v4: 'running' });
      }
      strike = () => false;
      log = [];
      expect(await run(cwd, 'export', '--quiet')).toMatchObject({ code: 0 });
      expect(asked('v4').map(({ cursor }) => cursor)).not.toContain(null);
      expect(states(cwd)).toEqual({ v3: 'complete', v4: 'complete' });
    },
  );

  it('limits hold for a host that serves both', async () => {
    strike = async ({ kind }) => {
      if (kind === 'list') await new Promise((done) => setTimeout(done, 30));
      return false;
    };
    const cwd = setUp({ speed: { requestsPerSecond: 5, concurrency: 1 } });
    expect(await run(cwd, 'export', '--quiet')).toMatchObject({ code: 0 });
    expect(mostPending).toBe(1);
    const times = log.map(({ atMs }) => atMs);
    const within = times.map((from) => times.filter((at) => at >= from && at < from + 1000).length);
    expect(Math.max(...within)).toBeLessThanOrEqual(5);
  });

  it('a wait that V3 asks for holds V4 on the same host', async () => {
    let askedAtMs = 0;
    strike = ({ generation, kind }, response) => {
      if (generation !== 'v3' || kind !== 'list' || askedAtMs > 0) return false;
      askedAtMs = performance.now();
      return reply(response, 429, {}, { 'retry-after': '1' });
    };
    const cwd = setUp({ speed: { concurrency: 1 }, http: { attempts: 2 } });
    expect(await run(cwd, 'export', '--quiet')).toMatchObject({ code: 0 });
    const after = log.filter(({ atMs }) => atMs > askedAtMs + 5);
    expect(Math.min(...after.map(({ atMs }) => atMs)) - askedAtMs).toBeGreaterThan(900);
    expect(after.some(({ generation }) => generation === 'v4')).toBe(true);
  });

  it('--wait holds back V4 alone', async () => {
    const cwd = setUp();
    const ended = await run(cwd, 'export', '--wait', '--settle', '1s', '--quiet');
    expect(ended).toMatchObject({ code: 0 });
    const pages = log.filter(({ generation, cursor }) => generation === 'v4' && cursor !== null);
    expect(Math.max(...asked('v3').map(({ atMs }) => atMs))).toBeLessThan(pages[0]?.atMs ?? 0);
    expect(asked('v3')[0]?.atMs ?? Infinity).toBeLessThan((pages[0]?.atMs ?? 0) - 900);
  });

  it('--wait reads lists of V4 again that were read before the backfill had settled', async () => {
    const cwd = setUp({ models: ['invoices', 'orders', 'items'] });
    strike = ({ model }, response) => model === 'orders' && reply(response, 500, {});
    expect(await run(cwd, 'export', 'v4', '--quiet')).toMatchObject({ code: 4 });
    [log, strike, counts] = [[], () => false, { items: PAGES * 2 + 1 }];
    await run(cwd, 'export', 'v4', '--wait', '--settle', '1s', '--quiet');
    const read = asked('v4').flatMap(({ model, cursor }) => (cursor === null ? [] : [model]));
    expect([...new Set(read)].sort()).toEqual(['items', 'orders']);
  });
});

/** Answers that no request gets over, and the exit code of `run`. */
const FAULTS: Readonly<Record<string, readonly [code: number, (response: ServerResponse) => true]>> = {
  'status 500': [4, (response) => reply(response, 500, {})],
  'status 401': [3, (response) => reply(response, 401, {})],
  'a redirect': [2, (response) => reply(response, 302, {}, { location: 'http://example.com/' })],
  'a reset connection': [4, (response) => response.destroy() && true],
  silence: [4, () => true],
  'half a page': [
    4,
    (response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write('{"data":[', () => response.destroy());
      return true;
    },
  ],
  'no envelope': [4, (response) => reply(response, 200, [])],
  'a wait that is too long': [4, (response) => reply(response, 429, {}, { 'retry-after': '2' })],
};
const PLACES = [
  ['v3', 'list', null],
  ['v3', 'list', '2'],
  ['v3', 'sweep', null],
  ['v4', 'companies', null],
  ['v4', 'list', null],
  ['v4', 'list', '2'],
] as const;

describe('the next run ends as if nothing had happened', () => {
  const remapOf = (cwd: string) => {
    const db = new Sqlite(join(cwd, 'svc-migrate.db'), { readonly: true });
    const sha = db.prepare('SELECT sha256 FROM remap_run ORDER BY id DESC LIMIT 1').pluck().get();
    db.close();
    return sha;
  };
  let expected: unknown;
  let requests = 0;
  beforeAll(async () => {
    const cwd = setUp();
    expect(await run(cwd, 'run', '--quiet')).toMatchObject({ code: 0 });
    expected = remapOf(cwd);
    requests = log.length;
    log = [];
  });
  const expectRecovery = async (cwd: string) => {
    strike = () => false;
    expect(await run(cwd, 'run', '--quiet', '--max-wait', '10s')).toMatchObject({ code: 0 });
    expect(remapOf(cwd)).toBe(expected);
  };

  const faults = Object.keys(FAULTS).flatMap((fault) => PLACES.map((place) => [fault, ...place] as const));
  it.each(campaignCases(faults, 8))('after %s (%s %s %s), and the other is read', async (fault, ...place) => {
    const [code, spoil] = FAULTS[fault] ?? [0, () => true];
    const cwd = setUp({ http: { timeoutMs: 2000, maxWaitMs: 1000 }, v4Host: 'localhost' });
    const [generation] = place;
    strike = (seen, response) =>
      [seen.generation, seen.kind, seen.cursor].join() === place.join() && spoil(response);
    expect(await run(cwd, 'run', '--quiet')).toMatchObject({ code });
    const other = generation === 'v3' ? 'v4' : 'v3';
    if (code !== 3) expect(states(cwd)).toMatchObject({ [other]: 'complete' });
    await expectRecovery(cwd);
  });

  const signals = ['SIGKILL', 'SIGINT', 'SIGTERM'] as const;
  const moments = Array.from({ length: 8 }, (_, at) => at + 1).flatMap((request) =>
    signals.map((signal) => [signal, request] as const),
  );
  it.each(campaignCases(moments, 3))('after %s at request %i', async (signal, request) => {
    const cwd = setUp();
    let child: ChildProcess | undefined;
    expect(requests).toBe(8);
    strike = () => {
      if (log.length === request) child?.kill(signal);
      return false;
    };
    const onStart = (started: ChildProcess) => {
      child = started;
    };
    const ended = await spawnCli(['run', '--quiet'], { cwd, env: keysOf('key'), onStart });
    expect(ended.code).toBe(128 + constants.signals[signal]);
    await expectRecovery(cwd);
  });
});

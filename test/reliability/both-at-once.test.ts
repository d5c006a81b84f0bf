import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Sqlite } from '../../src/store/sqlite.js';
import { keysOf, makeFolder, runCli } from '../cli/run-cli.js';
import { serveFile } from '../support/serve-http.js';

/** A service on one host whose lists have three pages of two records each; `strike` answers instead where it returns true. */
const PAGES = 3;

interface Seen {
  readonly generation: 'v3' | 'v4';
  readonly kind: 'list' | 'companies' | 'sweep';
  readonly cursor: string | null;
  readonly atMs: number;
}

type Strike = (seen: Seen, response: ServerResponse) => boolean | Promise<boolean>;

const server = serveFile((request, response) => void answer(request, response));
let log: Seen[] = [];
let strike: Strike = () => false;
let pending = 0;
let mostPending = 0;

afterEach(() => {
  log = [];
  strike = () => false;
  mostPending = 0;
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
  const generation = pathname.startsWith('/v4/') ? 'v4' : 'v3';
  const isSweep = [...searchParams.keys()].some((name) => name.includes('[gte]'));
  const kind = pathname.endsWith('/companies') ? 'companies' : isSweep ? 'sweep' : 'list';
  const seen: Seen = { generation, kind, cursor: searchParams.get('next'), atMs: performance.now() };
  log.push(seen);
  pending += 1;
  mostPending = Math.max(mostPending, pending);
  response.on('close', () => {
    pending -= 1;
  });
  if (await strike(seen, response)) return;
  reply(response, 200, pageOf(seen));
}

function pageOf({ generation, kind, cursor }: Seen): unknown {
  if (kind === 'companies') return inV4([{ svc_id: 1, name: 'One' }], null, 1);
  if (kind === 'sweep') return { data: [], prev: null, next: null, total_count: 0 };
  const page = Number(cursor ?? '0');
  const data = [1, 2].map((at) => {
    const id = page * 2 + at;
    return { svc_id: generation === 'v3' ? id : id + 100, svc_company_id: 1, platform_id: `p${id}` };
  });
  const next = page + 1 === PAGES ? null : String(page + 1);
  return generation === 'v4'
    ? inV4(data, next, PAGES * 2)
    : { data, prev: null, next, total_count: PAGES * 2 };
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

function setUp({ speed = {}, http = {} }: { speed?: object; http?: object } = {}): string {
  const base = server.origin;
  return makeFolder({
    v3: { regions: { default: { baseUrl: `${base}/v3` } }, requestsPerSecond: 1000, ...speed },
    v4: { baseUrl: base, requestsPerSecond: 1000, ...speed },
    models: [{ v3: 'accounting/invoices', v4: 'invoices' }],
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
    expect(ended.stderr).toContain('export v3: 6 records in 4 pages');
    expect(ended.stderr).toContain('export v4: 6 records in 3 pages');
    if (command === 'run') return;
    expect(ended.stdout).toMatch(
      /V3: 6 records in [\s\S]*V4: 6 records in [\s\S]*\nNext: svc-migrate remap\n$/,
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

  it('both out of order are both named', async () => {
    strike = ({ cursor }, response) => cursor === '1' && reply(response, 500, {});
    const ended = await run(setUp(), 'export', '--quiet');
    expect(ended).toMatchObject({ code: 4 });
    expect(ended.stderr).toMatch(/Warning: V4 was not read in full\.[\s\S]*1 of 1 V3 list could not be read/);
    expect(ended.stdout).toMatch(/\nNext: svc-migrate export\n$/);
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
});

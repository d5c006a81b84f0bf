import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readHostWaits } from '../../src/store/meta.js';
import { closeDatabase, openDatabase } from '../../src/store/open.js';
import { keysOf, makeFolder, runCli } from '../cli/run-cli.js';
import { spawnCli } from '../cli/spawn-cli.js';
import { campaignCases } from '../support/campaign.js';
import { serveFile } from '../support/serve-http.js';

let requests: string[] = [];
/** Answers to requests instead of 429. */
let pages: Readonly<Record<string, object>> = {};
let retryAfter = '3600';

const server = serveFile((request, response) => {
  requests.push(String(request.url));
  const page = pages[String(request.url).replace(/\?.*/, '')];
  if (page === undefined) response.writeHead(429, { 'retry-after': retryAfter }).end('{}');
  else response.end(JSON.stringify(page));
});
let config: object;

beforeAll(() => {
  const baseUrl = server.origin;
  config = { v3: { regions: { default: { baseUrl: `${baseUrl}/v3` } }, concurrency: 1 }, v4: { baseUrl } };
});
beforeEach(() => {
  requests = [];
  pages = {};
  retryAfter = '3600';
});

describe('an hour of Retry-After', () => {
  it('holds in all phases of a run, and in the commands after it', async () => {
    const cwd = makeFolder(config);
    const env = keysOf('k');
    const run = await runCli(['run'], { cwd, env });
    expect(run.code).toBe(4);
    expect(requests).toHaveLength(1);
    expect(run.stderr).toMatch(/asked to wait (1 h|59 min \d+ s), until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    for (const args of [['export', 'v4'], ['export', 'v3'], ['run'], ['doctor']]) {
      const again = await runCli(args, { cwd, env });
      expect(again.code, args.join(' ')).toBe(4);
      expect(again.stdout + again.stderr, args.join(' ')).toMatch(/asked to wait (1 h|59 min \d+ s), until/);
      expect(requests, args.join(' ')).toHaveLength(1);
    }
  });

  it('concerns no other host', async () => {
    const cwd = makeFolder(config);
    const env = keysOf('k');
    await runCli(['export', 'v3'], { cwd, env });
    const other = makeFolder(JSON.parse(JSON.stringify(config).replaceAll('127.0.0.1', 'localhost')));
    await runCli(['export', 'v3'], { cwd: other, env });
    expect(requests).toHaveLength(2);
  });
});

describe('a wait that ends with kill -9', () => {
  const COMPANIES = '/v4/core/companies';
  const COMPANY = { data: { data: [{ svc_id: 2 }], next: null, total_count: 1 }, request_id: 'r' };
  const V3_LIST = '/v3/accounting/invoices';
  const INVOICE = { svc_id: 1, svc_company_id: 2, platform_id: 'a' };

  const cases = [
    ['export v3', {}],
    ['run', {}],
    ['export v4', {}],
    ['export v4', { [COMPANIES]: COMPANY }],
    ['doctor', {}],
    ['recheck', { [COMPANIES]: COMPANY }],
  ] as const;
  it.each(campaignCases(cases, 2))('is still kept by the next command: %s', async (line, answered) => {
    const cwd = makeFolder({ ...config, models: [{ v3: 'accounting/invoices', v4: 'invoices' }] });
    const options = { cwd, env: keysOf('k') };
    const args = line.split(' ');
    const page = { data: [INVOICE, { ...INVOICE, svc_id: 3, platform_id: 'b' }], next: null };
    const v4Page = { data: { data: [INVOICE], next: null, total_count: 1 }, request_id: 'r' };
    if (line === 'recheck') {
      pages = { [V3_LIST]: page, [COMPANIES]: COMPANY, [`${COMPANIES}/2/invoices`]: v4Page };
      expect((await runCli(['run'], options)).code).toBe(1);
    }
    if (line === 'doctor') {
      pages = { [V3_LIST]: page };
      expect((await runCli(['export', 'v3'], options)).code).toBe(0);
    }
    pages = answered;
    retryAfter = '250';
    const killed = await spawnCli(args, {
      ...options,
      onStart: (child) => {
        void untilSaved(join(cwd, 'svc-migrate.db'), child).then(() => child.kill('SIGKILL'));
      },
    });
    expect(killed.code).toBe(137);
    requests = [];
    const again = await runCli([...args, '--max-wait', '1s'], options);
    expect(again.code).toBe(4);
    expect(again.stdout + again.stderr).toMatch(/asked to wait \d+ (s|min).*, until/);
    expect(requests).toEqual([]);
  });
});

/** Resolves when the database holds a wait, or the process has ended. */
async function untilSaved(file: string, child: ChildProcess): Promise<void> {
  while (child.exitCode === null && !hasWait(file)) await sleep(50);
}

function hasWait(file: string): boolean {
  try {
    const db = openDatabase(file, 'read');
    try {
      return readHostWaits(db, Date.now()).length > 0;
    } finally {
      closeDatabase(db);
    }
  } catch {
    // The command is about to make it.
    return false;
  }
}

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Draw } from '../../src/sandbox/seeded-random.js';
import { openDatabase } from '../../src/store/open.js';
import { keysOf, makeFolder, runCli } from '../support/run-cli.js';
import { serveFile } from '../support/serve-http.js';

const MODEL = 'accounting/invoices';
const COMPANIES = [1, 2, 3, 4, 5];
const RECORDS = 40;

/** All companies number their records 1, 2, 3 …; only what a record says tells companies apart. */
function recordsOf(generation: 'v3' | 'v4', company: number): object[] {
  const isV3 = generation === 'v3';
  return Array.from({ length: RECORDS }, (_, number) => {
    const draw = new Draw(20261129 + company * 1000 + number);
    const amount = draw.below(100_000) / 100;
    const posted = `2026-10-${String(1 + draw.below(28)).padStart(2, '0')}`;
    const id = (isV3 ? 0 : 50_000) + company * 1000 + number;
    const line = { svc_id: id * 10, platform_id: 'line' };
    return {
      svc_id: id,
      svc_company_id: isV3 ? company : 100 - company,
      platform_id: String(number),
      total_amount: isV3 ? amount : amount.toFixed(2),
      posted_date: isV3 ? posted : `${posted}T00:00:00Z`,
      due_date: `2026-11-${posted.slice(-2)}`,
      document_number: draw.below(3) === 0 ? null : `N-${draw.below(1_000_000)}`,
      line_items: [line],
      taxes: [{ ...line, svc_id: id * 10 + 1 }],
    };
  });
}

const service = serveFile(({ url = '' }, response) => {
  const { pathname } = new URL(url, 'http://x');
  const [, company] = /^\/v4\/core\/companies\/(\d+)\/invoices$/.exec(pathname) ?? [];
  const page = (data: object[]) => ({ data, next: null });
  const listed = COMPANIES.map((id) => ({ svc_id: 100 - id }));
  const v3 = pathname === `/v3/${MODEL}` ? page(COMPANIES.flatMap((id) => recordsOf('v3', id))) : null;
  const v4 = pathname === '/v4/core/companies' ? listed : company && recordsOf('v4', 100 - Number(company));
  const body = v3 ?? (v4 ? { data: page(v4) } : null);
  response.writeHead(body === null ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body ?? {}));
});

interface Settings {
  readonly payload: 'full' | 'ids';
  readonly children?: readonly string[];
  readonly dateFields?: readonly string[];
}

function project() {
  const cwd = makeFolder();
  const set = ({ payload, children = ['line_items'], dateFields = ['posted_date'] }: Settings) => {
    const config = {
      v3: { regions: { default: { baseUrl: `${service.origin}/v3` } } },
      v4: { baseUrl: service.origin },
      models: [{ v3: MODEL, v4: 'invoices', expand: [], children }],
      backfill: { dateFields },
      payload,
    };
    writeFileSync(join(cwd, 'svc-migrate.config.json'), JSON.stringify(config));
  };
  const run = async (...args: readonly string[]) => {
    const { code, stderr } = await runCli([...args, '--quiet'], { cwd, env: keysOf('secret-key-1') });
    return { code, stderr };
  };
  const read = () => {
    const db = openDatabase(join(cwd, 'svc-migrate.db'), 'read');
    const rows = (sql: string) => db.prepare(sql).raw().all();
    const stored = {
      companies: rows('select * from company order by v3_company_id'),
      remap: rows('select * from remap order by model, path, v3_company_id, v3_svc_id, v4_svc_id'),
      sha256: db.prepare('select sha256 from remap_run').pluck().get(),
      pages: db.prepare('select count(*) from page').pluck().get(),
    };
    db.close();
    return stored;
  };
  return { set, run, read };
}

/** What a new database holds after a run with these settings. */
async function runAnew(settings: Settings) {
  const { set, run, read } = project();
  set(settings);
  expect(await run('export')).toEqual({ code: 0, stderr: '' });
  expect(await run('remap')).toEqual({ code: 0, stderr: '' });
  return read();
}

describe('with payload: "ids"', () => {
  it('companies pair as with stored pages, and every row of the remap is the same', async () => {
    const full = await runAnew({ payload: 'full' });
    const ids = await runAnew({ payload: 'ids' });
    expect(full.companies.map((row) => (row as unknown[]).slice(1, 4))).toEqual(
      COMPANIES.map((id) => [BigInt(id), BigInt(100 - id), 'overlap']),
    );
    expect(ids.pages).toBe(0n);
    expect({ ...ids, pages: full.pages }).toEqual(full);
  });

  const other: Settings = { payload: 'ids', children: ['taxes'], dateFields: ['due_date'] };

  it('an export under other children and dates needs a restart of each list, and is then as new', async () => {
    const { set, run, read } = project();
    set({ payload: 'ids' });
    await run('export');
    set(other);
    expect((await run('remap')).code).toBe(6);
    await run('export');
    expect((await run('remap')).code).toBe(6);
    expect((await run('export', 'v3', '--restart')).code).toBe(0);
    expect((await run('remap')).code).toBe(0);
    expect(read()).toEqual(await runAnew(other));
    set({ payload: 'ids' });
    expect((await run('export', '--restart')).code).toBe(0);
    expect((await run('remap')).code).toBe(0);
    expect(read()).toEqual(await runAnew({ payload: 'ids' }));
  });

  it('settings can change again once pages are stored', async () => {
    const { set, run, read } = project();
    set({ payload: 'ids' });
    await run('export');
    set({ ...other, payload: 'full' });
    expect((await run('export', '--restart')).code).toBe(0);
    expect((await run('remap')).code).toBe(0);
    set({ payload: 'full', children: ['taxes', 'line_items'] });
    expect((await run('remap')).code).toBe(0);
    const { remap, sha256 } = await runAnew({ payload: 'full', children: ['taxes', 'line_items'] });
    expect(read()).toMatchObject({ remap, sha256 });
  });
});

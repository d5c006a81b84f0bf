import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyEdits, modify, parse as parseJsonc } from 'jsonc-parser';
import { beforeAll, describe, expect, it } from 'vitest';
import { openProject, type Project } from '../support/project.js';
import { keysOf, makeFolder, runCli } from '../support/run-cli.js';
import { serveFile, serveHttp } from '../support/serve-http.js';

const MODEL = 'accounting/bill_credit_notes';

interface Row {
  readonly v3_svc_id: string;
  readonly v4_svc_id: string;
}

describe('after a run', () => {
  let project: Project;
  let matched: Row;

  beforeAll(async () => {
    project = await openProject({ seed: 11 });
    await project.run('run');
    const dump = await project.run('dump', '--format', 'ndjson');
    const rows = dump.stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    matched = rows.find((row) => row.model === MODEL && row.path === '' && row.status === 'matched');
  });

  const jsonOf = async (...args: readonly string[]) => {
    const { code, stdout, stderr } = await project.run(...args, '--json', '-');
    try {
      return { code, json: JSON.parse(stdout) };
    } catch {
      throw new Error(`${args.join(' ')}: ${code}\n${stdout}\n${stderr}`);
    }
  };

  it('explain shows both records, their lists and the V4 id', async () => {
    const { code, json } = await jsonOf('explain', MODEL, matched.v3_svc_id);
    const entry = json.entries.find((one: { row: Row }) => one.row.v3_svc_id === matched.v3_svc_id);
    expect(code).toBe(0);
    expect(entry.row.v4_svc_id).toBe(matched.v4_svc_id);
    expect(entry.fields).toContainEqual(
      expect.objectContaining({
        name: 'svc_id',
        v3: matched.v3_svc_id,
        v4: matched.v4_svc_id,
        verdict: 'service',
      }),
    );
    expect(entry.fields).toContainEqual(expect.objectContaining({ name: 'platform_id', verdict: 'same' }));
    expect(entry.lists.map((list: { generation: string }) => list.generation)).toEqual(['v3', 'v4']);
    expect((await project.run('explain', MODEL, matched.v3_svc_id)).stdout).toContain('Next: ');
  });

  it.each([
    [1, [MODEL, '999999999']],
    [2, ['accounting/unknown', '1']],
    [2, [MODEL, 'x']],
    [2, [MODEL, '1', '--region', 'nowhere']],
  ])('explain exits with %i for %j', async (code, args) => {
    expect((await project.run('explain', ...args)).code).toBe(code);
  });

  it('verify finds all pairs right, and reads V3 by its filter', async () => {
    const { code, json } = await jsonOf('verify', '--sample', '50');
    expect(code).toBe(0);
    expect(json).toMatchObject({ disagree: 0, failed: 0 });
    expect(json.coverage.drawn).toBeLessThan(json.coverage.pairs);
    expect(json.agree + json.gone).toBe(json.coverage.drawn);
    expect(json.coverage.readInV3).toBeGreaterThan(0);
  });

  it('doctor is ready, and says how companies are listed', async () => {
    const { code, json } = await jsonOf('doctor');
    expect([code, json.ready]).toEqual([0, true]);
    const codes = json.findings.map((finding: { code: string }) => finding.code);
    expect(codes).toEqual(
      expect.arrayContaining(['key_accepted', 'v4_companies', 'models_answer', 'clock_agrees']),
    );
  });

  it.each([
    ['a wrong key', 3, (config: Config) => config, { SVC_MIGRATE_V4_API_KEY: 'wrong' }],
    ['no key', 2, (config: Config) => config, { SVC_MIGRATE_V4_API_KEY: '' }],
    [
      'a wrong V3 address',
      2,
      (config: Config) => ({ ...config, v3: { regions: { default: { baseUrl: config.v4.baseUrl } } } }),
      {},
    ],
    [
      'an unknown V4 name',
      2,
      (config: Config) => ({ ...config, models: [{ v3: MODEL, v4: 'bill_credit_note' }] }),
      {},
    ],
    ['an unknown setting', 2, (config: Config) => ({ ...config, colour: 'red' }), {}],
    [
      'a port where nobody listens',
      4,
      (config: Config) => ({ ...config, v4: { baseUrl: 'http://127.0.0.1:9' }, http: { attempts: 1 } }),
      {},
    ],
  ] as const)('doctor names %s and exits with %i', async (_name, code, change, env) => {
    const config = JSON.parse(readFileSync(join(project.cwd, 'svc-migrate.config.json'), 'utf8'));
    const cwd = makeFolder(change(config));
    const ended = await runCli(['doctor', '--json', '-'], { cwd, env: { ...project.at.env, ...env } });
    expect(ended.code).toBe(code);
    expect(JSON.parse(ended.stdout)).toMatchObject({ ready: false, exitCode: code });
  });

  it('doctor proposes the near name that answers, in lines that it accepts', async () => {
    const config = JSON.parse(readFileSync(join(project.cwd, 'svc-migrate.config.json'), 'utf8'));
    const cwd = makeFolder({ ...config, models: [{ v3: MODEL, v4: 'bill_credit_note' }] });
    const first = await runCli(['doctor', '--json', '-'], { cwd, env: project.at.env });
    const corrections: Correction[] = JSON.parse(first.stdout).corrections;
    expect(corrections).toContainEqual({
      path: ['models'],
      value: [expect.objectContaining({ v3: MODEL, v4: 'bill_credit_notes' })],
    });
    const models = corrections.find(({ path }) => path[0] === 'models')?.value;
    writeFileSync(join(cwd, 'svc-migrate.config.json'), JSON.stringify({ ...config, models }));
    expect((await runCli(['doctor'], { cwd, env: project.at.env })).code).toBe(0);
  });
});

interface Config {
  readonly v4: { readonly baseUrl: string };
}

interface Correction {
  readonly path: readonly string[];
  readonly value: unknown;
}

describe('a record that is explained', () => {
  const MODEL = 'accounting/invoices';
  const service = serveFile(({ url = '' }, response) => {
    const { pathname } = new URL(url, 'http://x');
    const record = (svc_id: number, company: number, key: string) => ({
      svc_id,
      svc_company_id: company,
      platform_id: key,
      platform_unique_id: `unique-${key}`,
      line_items: [{ svc_id: 700 + svc_id, platform_id: `line-${key}` }],
    });
    const listOf = (company: number, first: number, region: string) =>
      Array.from({ length: 9 }, (_, index) => record(first + index, company, `${region}-${index}`));
    // Both regions use the ids 1 to 9.
    const lists: Readonly<Record<string, object>> = {
      '/eu/accounting/invoices': { data: listOf(1, 1, 'eu'), next: null },
      '/us/accounting/invoices': { data: [...listOf(1, 1, 'us'), 'no record with 66'], next: null },
      '/v4/core/companies': { data: { data: [{ svc_id: 31 }, { svc_id: 32 }], next: null } },
      '/v4/core/companies/31/invoices': { data: { data: listOf(31, 70, 'eu'), next: null } },
      '/v4/core/companies/32/invoices': { data: { data: listOf(32, 71, 'us'), next: null } },
    };
    const body = lists[pathname];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? {}));
  });

  const open = async (payload: 'full' | 'ids') => {
    const region = (name: string) => ({ baseUrl: `${service.origin}/${name}` });
    const cwd = makeFolder({
      v3: { regions: { eu: region('eu'), us: region('us') } },
      v4: { baseUrl: service.origin },
      models: [{ v3: MODEL, v4: 'invoices' }],
      payload,
    });
    const at = { cwd, env: keysOf('secret-key-1') };
    const { code, stderr } = await runCli(['run', '--quiet'], at);
    expect(code, stderr).toBe(1);
    const explain = (...args: readonly string[]) => runCli(['explain', MODEL, ...args, '--json', '-'], at);
    return { explain, cwd };
  };

  it('needs its region where several have the id', async () => {
    const { explain } = await open('full');
    expect((await explain('7')).code).toBe(2);
    for (const [region, v4Id] of [
      ['eu', '76'],
      ['us', '77'],
    ] as const) {
      const { entries } = JSON.parse((await explain('7', '--region', region)).stdout);
      expect(entries).toMatchObject([
        { row: { region, v3_svc_id: '7', v4_svc_id: v4Id, status: 'matched' } },
      ]);
      // Not the lists of the other region or company.
      expect(entries[0].lists.map(({ name }: { name: string }) => name)).toEqual([
        expect.stringContaining(region),
        expect.stringContaining(region === 'eu' ? '31' : '32'),
      ]);
    }
    expect((await explain('77', '--region', 'us')).code).toBe(0);
  });

  it('shows its keys alone where pages are not stored', async () => {
    const { explain } = await open('ids');
    const { code, stdout } = await explain('7', '--region', 'us');
    expect(code).toBe(0);
    expect(JSON.parse(stdout).entries[0].fields).toEqual([
      { name: 'svc_id', v3: '7', v4: '77', verdict: 'service' },
      { name: 'platform_id', v3: 'us-6', v4: 'us-6', verdict: 'same' },
      { name: 'platform_unique_id', v3: 'unique-us-6', v4: 'unique-us-6', verdict: 'same' },
      { name: 'deleted', v3: 'false', v4: 'false', verdict: 'same' },
    ]);
  });

  it('is shown with its record if it is a line item', async () => {
    const { explain } = await open('full');
    const { entries } = JSON.parse((await explain('709', '--region', 'us')).stdout);
    expect(entries).toMatchObject([
      { row: { path: 'line_items', v3_svc_id: '709' }, parent: { v3_svc_id: '9', v4_svc_id: '79' } },
    ]);
    expect(entries[0].fields).toEqual([
      { name: 'svc_id', v3: '709', v4: '779', verdict: 'service' },
      { name: 'platform_id', v3: 'line-us-8', v4: 'line-us-8', verdict: 'same' },
    ]);
  });

  it('is said to be of a stale remap after a setting changed, and to be unknown', async () => {
    const { explain, cwd } = await open('full');
    const file = join(cwd, 'svc-migrate.config.json');
    const config = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...config, companies: { match: 'same_id' } }));
    const { code, stdout } = await explain('66');
    expect([code, JSON.parse(stdout)]).toMatchObject([1, { stale: true, entries: [] }]);
    expect(JSON.parse(stdout).unknown).toEqual([expect.stringContaining('rejected')]);
  });
});

/** The settings that doctor prints to paste, by their paths. */
function pastedSettings(text: string): { path: string[]; value: unknown }[] {
  const lines = text.split('To paste into the configuration:\n')[1]?.split('\n\n')[0]?.split('\n') ?? [];
  let parents: string[] = [];
  const settings: { path: string[]; value: unknown }[] = [];
  let block = '';
  for (const line of lines) {
    if (line.startsWith('  // in ')) parents = JSON.parse(`[${line.slice(8).replaceAll(' > ', ', ')}]`);
    else block += line;
    if (!/^ {2}.*,$/.test(line) || line.startsWith('    ')) continue;
    const [[name, value] = ['', null]] = Object.entries(parseJsonc(`{${block}}`));
    settings.push({ path: [...parents, name], value });
    [parents, block] = [[], ''];
  }
  return settings;
}

describe('what doctor prints to paste', () => {
  const service = serveFile(({ url = '' }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://x');
    const send = (body: object, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (pathname === '/v4/core/companies') return send({ data: { data: [{ svc_id: 5 }], next: null } });
    const isV3 = /^\/(eu|us)\/v3\/accounting\/(invoices|company_info)$/.test(pathname);
    if (!isV3 && !/^\/v4\/.*\/(invoices|company-info)$/.test(pathname))
      return send({ error: 'no such route' }, 404);
    const isDeleted = !isV3 && searchParams.has('include_deleted_records');
    if (isDeleted) return send({ error: 'unknown parameter' }, 400);
    const limit = Number(searchParams.get('limit') ?? 10);
    const largest = pathname.startsWith('/eu') ? 50 : 200;
    if (limit > largest) return send({ error: `limit must be at most ${largest}` }, 422);
    const data = Array.from({ length: limit }, (_, index) => ({
      svc_id: index,
      svc_company_id: 5,
      platform_id: `k${index}`,
    }));
    const page = { data, next: 'more', total_count: 300 };
    return send(isV3 ? page : { data: page });
  });

  it.each([
    ['one region', ['eu']],
    ['two regions', ['eu', 'us']],
  ])('is accepted by doctor, with %s', async (_name, regions) => {
    const { origin } = service;
    const cwd = makeFolder();
    const file = join(cwd, 'svc-migrate.config.jsonc');
    const init = regions.flatMap((region) => ['--v3', `${region}=${origin}/${region}`]);
    const at = { cwd, env: keysOf('secret-key-1') };
    expect((await runCli(['init', ...init, '--v4', origin], at)).code).toBe(0);
    const models = ['invoices', 'company_info'].map((v4) => ({ v3: `accounting/${v4}`, v4 }));
    const set = (path: string[], value: unknown) => {
      const text = readFileSync(file, 'utf8');
      writeFileSync(file, applyEdits(text, modify(text, path, value, {})));
    };
    set(['models'], models);
    set(['v3', 'requestsPerSecond'], 1000);
    set(['v4', 'requestsPerSecond'], 1000);
    // Each answer can reveal the next problem.
    const codes: number[] = [];
    for (let round = 0; round < 3 && codes.at(-1) !== 0; round++) {
      const { code, stdout } = await runCli(['doctor'], at);
      codes.push(code);
      for (const { path, value } of pastedSettings(stdout)) set(path, value);
    }
    expect(codes.at(-1)).toBe(0);
    const config = parseJsonc(readFileSync(file, 'utf8'));
    expect(config).toMatchObject({
      v3: {
        pageSize: 50,
        regions: Object.fromEntries(regions.map((name) => [name, { baseUrl: `${origin}/${name}/v3` }])),
      },
      v4: { pageSize: 200, includeDeleted: false },
      models: [{ v4: 'invoices' }, { v4: 'company-info' }],
    });
  });
});

describe('a service that refuses large pages', () => {
  it('is understood, its answer shown, and the largest page proposed', async () => {
    const records = Array.from({ length: 300 }, (_, at) => ({
      svc_id: at,
      svc_company_id: 5,
      platform_id: `k${at}`,
    }));
    const { origin, close } = await serveHttp(({ url = '' }, response) => {
      const query = new URL(url, 'http://x');
      const limit = Number(query.searchParams.get('limit'));
      response.setHeader('content-type', 'application/json');
      if (query.pathname.includes('no_such')) return response.writeHead(404).end('{}');
      if (query.pathname === '/v4/core/companies')
        return response.end('{"data":[{"company":{"svc_id":"5"}}],"next":null}');
      if (limit > 100) return response.writeHead(400).end('{"message":"limit must be at most 100"}');
      const page = { data: records.slice(0, limit), next: 'c', total_count: 300 };
      return response.end(JSON.stringify(query.pathname.startsWith('/v4') ? { data: page } : page));
    });
    const region = (name: string) => ({ baseUrl: `${origin}/${name}`, apiKeyEnv: 'KEY' });
    const cwd = makeFolder({
      v3: { regions: { eu: region('eu'), us: region('us') } },
      v4: { baseUrl: origin, apiKeyEnv: 'KEY' },
      models: [{ v3: 'accounting/invoices', v4: 'invoices' }],
    });
    const ended = await runCli(['doctor', '--json', '-'], { cwd, env: { KEY: 'secret-key-1' } });
    await close();
    const { findings, corrections } = JSON.parse(ended.stdout);
    expect(ended.code).toBe(2);
    expect(corrections).toEqual(
      expect.arrayContaining([
        { path: ['v3', 'pageSize'], value: 100 },
        { path: ['v4', 'pageSize'], value: 100 },
      ]),
    );
    expect(JSON.stringify(findings)).toContain('limit must be at most 100');
    expect(JSON.stringify(findings)).toContain('company.svc_id');
    expect(ended.stdout).not.toContain('secret-key-1');
  });
});

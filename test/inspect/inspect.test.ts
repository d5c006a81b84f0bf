import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openProject, type Project } from '../support/project.js';
import { makeFolder, runCli } from '../support/run-cli.js';
import { serveHttp } from '../support/serve-http.js';

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
    const story = json.stories.find((one: { row: Row }) => one.row.v3_svc_id === matched.v3_svc_id);
    expect(code).toBe(0);
    expect(story.row.v4_svc_id).toBe(matched.v4_svc_id);
    expect(story.fields).toContainEqual(
      expect.objectContaining({
        name: 'svc_id',
        v3: matched.v3_svc_id,
        v4: matched.v4_svc_id,
        verdict: 'service',
      }),
    );
    expect(story.fields).toContainEqual(expect.objectContaining({ name: 'platform_id', verdict: 'same' }));
    expect(story.lists.map((list: { generation: string }) => list.generation)).toEqual(['v3', 'v4']);
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
    expect(json).toMatchObject({ disagree: 0, failed: 0, unread: 0, coverage: { kind: 'sample' } });
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

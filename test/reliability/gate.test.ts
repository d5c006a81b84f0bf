import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { SandboxOptions } from '../../src/sandbox/start-sandbox.js';
import { readRemapRows } from '../contract.js';
import { sandboxStarter } from '../sandbox/sandboxes.js';
import { campaignCases } from '../support/campaign.js';
import { DECISIONS_HEADER } from '../support/decide-by-truth.js';
import { type Strike, send, startFaultServer } from '../support/fault-server.js';
import { type HostileItem, startHostileService } from '../support/hostile-service.js';
import { openProject } from '../support/project.js';
import { recordSandbox } from '../support/recordings.js';
import { keysOf, makeFolder, runCli } from '../support/run-cli.js';

type Settings = Readonly<Record<string, unknown>>;

describe('check judges only what is complete, current and of this configuration', async () => {
  const { sandbox, cwd, run } = await openProject({ seed: 3, scale: 200 });
  const base = sandbox.config();
  const configure = (settings: Settings) =>
    writeFileSync(join(cwd, 'svc-migrate.config.json'), JSON.stringify({ ...base, ...settings }));
  const withModels = (change: (model: object) => object) =>
    (base['models'] as unknown as object[]).map((model) => change(model));
  writeFileSync(join(cwd, 'companies.csv'), 'region,v3_company_id,v4_company_id\n');
  writeFileSync(join(cwd, 'decisions.csv'), `${DECISIONS_HEADER}\n`);

  it('and passes if nothing is wrong', async () => {
    expect((await run('check')).code).not.toBe(0);
    expect([(await run('run')).code, (await run('check')).code]).toEqual([0, 0]);
  });

  /** Settings that the remap is built from, and the exit code of `check` once it was built again. */
  const STALE: readonly (readonly [string, Settings, number])[] = [
    ['backfill.since', { backfill: { since: '2019-01-01T00:00:00Z' } }, 1],
    ['backfill.days', { backfill: { days: 36_000 } }, 1],
    ['backfill.dateFields', { backfill: { ...Object(base['backfill']), dateFields: ['created_at'] } }, 0],
    ['companies.match', { companies: { match: { file: 'companies.csv' } } }, 0],
    ['a decisions file', { decisions: 'decisions.csv' }, 0],
    ['children', { models: withModels((model) => ({ ...model, children: [] })) }, 0],
  ];
  it.each(campaignCases(STALE, 3))(
    'not after a change of %s, until the remap is built again',
    async (_, settings, code) => {
      configure(settings);
      const refused = [];
      for (const line of ['check', 'dump']) refused.push((await run(line)).code);
      expect([refused, (await run('remap')).code, (await run('check')).code]).toEqual([[4, 4], 0, code]);
      const answers = [];
      for (const line of ['report', 'status', 'findings']) answers.push((await run(line)).code);
      expect(answers).toEqual([0, 0, 0]);
      configure({});
      expect([(await run('check')).code, (await run('remap')).code, (await run('check')).code]).toEqual([
        4, 0, 0,
      ]);
    },
  );

  it('nor with other hosts, prefixes or models: 6, naming the difference', async () => {
    const others = [
      { fieldPrefix: 'other_' },
      { v4: { ...Object(base['v4']), baseUrl: 'http://127.0.0.1:9' } },
      { models: withModels((model) => ({ ...model, expand: [] })) },
    ];
    for (const settings of others) {
      configure(settings);
      for (const line of ['check', 'remap']) {
        const { code, stderr } = await run(line);
        expect([code, stderr.length > 40], `${line} ${JSON.stringify(settings)}`).toEqual([6, true]);
      }
    }
    configure({});
  });

  /** Limits, and the exit code of `check`. */
  const LIMITS: readonly (readonly [Settings, number])[] = [
    [{ limits: {} }, 1],
    [{ limits: { unmatched: '100%' } }, 0],
    [{ limits: { unmatched: '100%', deleted: 0 } }, 1],
    [{ limits: { outside_backfill_window: '0%', unmatched: '100%' } }, 1],
    [{ limits: { unmatched: '100%', models: { 'accounting/invoices': { unmatched: 0 } } } }, 1],
    [{ limits: { unmatched: '100%' }, maxAge: '1ms' }, 1],
  ];
  it.each(LIMITS)('with %j: exit %i', async (settings, code) => {
    configure(settings);
    const { stdout, ...ended } = await run('check', '--json', '-');
    const { outcome, exitCode } = JSON.parse(stdout);
    expect([ended.code, exitCode, outcome]).toEqual([code, code, code === 0 ? 'pass' : 'fail']);
    configure({});
  });
});

describe('run ends with the code of what it met', () => {
  const openSandbox = sandboxStarter();
  const CASES: readonly (readonly [string, Partial<SandboxOptions>, number, object])[] = [
    ['findings that nobody accepted', { scenario: 'ugly' }, 1, {}],
    ['V4 without records', { backfillSeconds: 1000, clock: () => 0 }, 5, {}],
    ['a service that fails', { faults: [{ name: '500', rate: 1 }] }, 4, { http: { attempts: 1 } }],
  ];
  it.each(CASES)('%s', async (_, options, code, settings) => {
    const sandbox = await openSandbox({ seed: 5, ...options });
    const cwd = makeFolder({ ...sandbox.config(), ...settings });
    const ended = await runCli(['run', '--quiet', '--json', '-'], { cwd, env: keysOf(sandbox.apiKey) });
    expect([ended.code, JSON.parse(ended.stdout).exitCode], ended.stderr).toEqual([code, code]);
  });

  /** How a service's true answers are altered. */
  const ALTERED: readonly (readonly [string, number, (text: string, isV3: boolean) => string | null])[] = [
    ['no V3 list at all', 2, (text, isV3) => (isV3 ? null : text)],
    [
      'malformed objects',
      1,
      (text, isV3) => (isV3 ? text.replace('"data":[{', '"data":[null,{"svc_id":1.5},{') : text),
    ],
    [
      'malformed line items',
      1,
      (text, isV3) => (isV3 ? text.replace('"line_items":[{', '"line_items":[{"svc_id":"1"},{') : text),
    ],
    ['a count that is too high', 1, (text) => text.replace(/"total_count":\d+/, '"total_count":1000000')],
  ];
  it.each(ALTERED)('%s', async (_, code, alter) => {
    const sandbox = await openSandbox({ seed: 5 });
    const strike: Strike = ({ response, answer, seen }) => {
      const text = alter(String(answer.body), seen.address.startsWith('/v3'));
      const altered = text === null ? { status: 404, body: Buffer.from('{}') } : { body: Buffer.from(text) };
      send(response, { ...answer, ...altered });
    };
    const script = () => ({ strike, strikes: { left: 0 } });
    const server = await startFaultServer({ recordings: recordSandbox(sandbox), script });
    const config = JSON.stringify(sandbox.config()).replaceAll(sandbox.v4, server.origin);
    const cwd = makeFolder(JSON.parse(config));
    const ended = await runCli(['run', '--quiet', '--json', '-'], { cwd, env: keysOf(sandbox.apiKey) });
    await server.close();
    expect([ended.code, JSON.parse(ended.stdout).exitCode], ended.stderr).toEqual([code, code]);
  });

  it('a refused key', async () => {
    const sandbox = await openSandbox({ seed: 5 });
    const cwd = makeFolder(sandbox.config());
    const ended = await runCli(['run', '--json', '-'], { cwd, env: keysOf('wrong') });
    expect([ended.code, JSON.parse(ended.stdout).code]).toEqual([3, 'auth']);
  });
});

describe('deletion fields that say nothing', () => {
  const services: { close(): Promise<void> }[] = [];
  afterAll(async () => {
    for (const service of services) await service.close();
  });

  const item = (company: number, id: number, deleted: string): HostileItem => ({
    svcId: BigInt(id),
    platformId: `p${id % 100}`,
    text: `{"svc_id":${id},"svc_company_id":${company},"svc_deleted_at":${deleted},"platform_id":"p${id % 100}","name":"n${id % 100}"}`,
  });

  async function migrate(deletedInV3: readonly string[], deletedInV4: readonly string[]) {
    const service = await startHostileService({
      v4CompanyId: 7n,
      texts: ['a', 'b'],
      lists: {
        v3: { 'crm/stages': deletedInV3.map((deleted, at) => item(7, 100 + at, deleted)) },
        v4: { stages: deletedInV4.map((deleted, at) => item(7, 500 + at, deleted)) },
      },
    });
    services.push(service);
    const cwd = makeFolder({
      v3: { regions: { default: { baseUrl: `${service.origin}/v3` } } },
      v4: { baseUrl: service.origin },
      models: [{ v3: 'crm/stages', v4: 'stages' }],
    });
    const { code } = await runCli(['run', '--quiet'], { cwd, env: keysOf('k') });
    return { code, mapped: readRemapRows(cwd).map((row) => [row.v3_svc_id, row.v4_svc_id, row.status]) };
  }

  const EMPTY = ['""', 'false', '0', '"0000-00-00 00:00:00"'];

  it('are rejected, and the gate is red', async () => {
    const live = ['null', 'null'];
    const { code, mapped } = await migrate([...live, ...EMPTY], [...live, ...live, ...live]);
    expect(code).toBe(1);
    expect(mapped.filter(([, , status]) => status === 'matched')).toEqual([
      [100n, 500n, 'matched'],
      [101n, 501n, 'matched'],
    ]);
    expect(mapped.filter(([, , status]) => status === 'deleted')).toEqual([]);
  });

  it('on every record leave nothing to compare: 5', async () => {
    expect((await migrate(EMPTY, ['null'])).code).toBe(5);
    expect((await migrate(['null'], EMPTY)).code).toBe(5);
  });
});

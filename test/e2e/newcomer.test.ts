import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readRemapRows } from '../contract.js';
import { type Ended, keysOf, makeFolder, runCli } from '../support/run-cli.js';
import { type NewcomerService, startNewcomerService } from './newcomer-service.js';

let service: NewcomerService;
let cwd: string;

beforeAll(async () => {
  service = await startNewcomerService();
  cwd = makeFolder();
});
afterAll(() => service.close());

const run = (...args: readonly string[]): Promise<Ended> =>
  runCli([...args, '--quiet'], { cwd, env: keysOf(service.key) });

function configure(settings: object, v4Names = true): void {
  const { origin, models } = service;
  const speed = { pageSize: 100, requestsPerSecond: 1000 };
  const config = {
    v3: {
      regions: { eu: { baseUrl: `${origin}/eu/v3` }, us: { baseUrl: `${origin}/us/v3` } },
      ...speed,
    },
    v4: { baseUrl: origin, companyIdField: 'company.svc_id', ...speed },
    models: Object.entries(models).map(([v3, v4]) => (v4Names ? { v3, v4 } : { v3 })),
    ...settings,
  };
  writeFileSync(join(cwd, 'svc-migrate.config.json'), JSON.stringify(config));
}

describe('a service of two regions with equal ids and odd names', () => {
  it('is read as far as its names are known: doctor finds the others', async () => {
    configure({}, false);
    const { code, stdout } = await run('doctor', '--json', '-');
    expect([0, 1, 2, 4]).toContain(code);
    for (const v4 of Object.values(service.models)) expect(stdout).toContain(v4);
  });

  it('is mapped id for id', async () => {
    configure({ backfill: { since: service.since }, limits: { outside_backfill_window: '100%' } });
    const ended = await run('run');
    expect([ended.code, ended.stderr]).toEqual([0, expect.anything()]);
    const twins = readRemapRows(cwd).flatMap(({ region, model, v3_svc_id, v4_svc_id }) =>
      v3_svc_id === null || v4_svc_id === null
        ? []
        : [[`${region} ${model} ${v3_svc_id}`, Number(v4_svc_id)] as const],
    );
    expect(twins).toHaveLength(service.twins.size);
    expect(new Map(twins)).toEqual(service.twins);
  });

  it('says that the start of its history is doubtful if that is inferred', async () => {
    configure({ limits: { outside_backfill_window: '100%' } });
    expect((await run('check')).code).toBe(4);
    expect((await run('remap')).code).toBe(0);
    const { code, stdout } = await run('check', '--json', '-');
    const { windows, next } = JSON.parse(stdout);
    expect(code).toBe(1);
    expect(windows.some(({ doubtful }: { doubtful: number }) => doubtful > 0)).toBe(true);
    expect(next).toContain('backfill');
  });
});

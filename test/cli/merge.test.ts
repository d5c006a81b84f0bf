import { copyFileSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/start.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { keysOf, makeFolder, runCli } from './run-cli.js';

/** Evidence of `created_after_export` holds the time at which V3 was read. */
const NOW = Date.parse('2026-11-20T00:00:00Z');

let sandbox: Sandbox;
let folder: string;
/** Configurations in the folder: the whole, split by company, and one for each region. */
const BY_COMPANY = 'by-company.json';
const regions: string[] = [];
const companies = { v3: [] as string[], v4: [] as string[] };
let models: string[] = [];
let digest = '';

const run = (...args: readonly string[]) =>
  runCli([...args, '--quiet'], { cwd: folder, env: keysOf(sandbox.apiKey) });

async function succeed(...args: readonly string[]): Promise<void> {
  const { code, stderr } = await run(...args);
  expect([code, stderr]).toEqual([0, expect.anything()]);
}

function query(file: string, sql: string): string[] {
  const db = new Sqlite(join(folder, file), { readonly: true }).defaultSafeIntegers(true);
  try {
    return db.prepare<[], unknown>(sql).pluck().all().map(String);
  } finally {
    db.close();
  }
}

const digestOf = (file: string) =>
  query(file, 'SELECT sha256 FROM remap_run ORDER BY id DESC LIMIT 1').join();

/** Merges parts, remaps, and compares the remap with that of an undivided export of the same configuration. */
async function expectWhole(
  parts: readonly string[],
  output: string,
  config: string,
  expected = digest,
): Promise<void> {
  await succeed('merge', ...parts, '--output', output, '--config', config);
  await succeed('remap', '--db', output, '--config', config);
  expect(digestOf(output)).toBe(expected);
  const checked = await run('check', '--db', output, '--config', config);
  expect([0, 1]).toContain(checked.code);
}

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 3, scenario: 'ugly', scale: 150, clock: () => NOW });
  const whole = sandbox.config();
  folder = makeFolder(whole);
  const { v3 } = JSON.parse(JSON.stringify(whole)) as { v3: { regions: Record<string, object> } };
  for (const generation of ['v3', 'v4']) await succeed('export', generation, '--db', 'whole.db');
  await succeed('remap', '--db', 'whole.db');
  digest = digestOf('whole.db');
  models = query('whole.db', "SELECT DISTINCT model FROM stream WHERE generation = 'v3' ORDER BY 1");
  companies.v3 = query(
    'whole.db',
    "SELECT DISTINCT r.company_id FROM record r JOIN stream s ON s.id = r.stream_id WHERE s.generation = 'v3' ORDER BY 1",
  );
  companies.v4 = query('whole.db', 'SELECT company_id FROM v4_company ORDER BY 1');
  const write = (name: string, change: object) =>
    writeFileSync(join(folder, name), JSON.stringify({ ...whole, v3: { ...v3, ...change } }));
  write(BY_COMPANY, { companies: companies.v3 });
  for (const [region, endpoint] of Object.entries(v3.regions)) {
    regions.push(region);
    write(`region-${region}.json`, { regions: { [region]: endpoint } });
  }
}, 60_000);
afterAll(() => sandbox.close());

const flags = (name: string, values: readonly string[]) => values.flatMap((value) => [name, value]);

describe('parts of one whole', () => {
  it('split by model give the remap of the undivided export', async () => {
    const half = Math.ceil(models.length / 2);
    for (const [part, own] of [
      ['m1.db', models.slice(0, half)],
      ['m2.db', models.slice(half)],
    ] as const) {
      for (const generation of ['v3', 'v4'])
        await succeed('export', generation, '--db', part, ...flags('--model', own));
    }
    await expectWhole(['m1.db', 'm2.db'], 'by-model.db', 'svc-migrate.config.json');
  });

  it('split by company too', async () => {
    for (const [at, part] of ['c1.db', 'c2.db', 'c3.db'].entries()) {
      for (const generation of ['v3', 'v4'] as const) {
        const own = companies[generation].filter((_, nth) => nth % 3 === at);
        await succeed('export', generation, '--db', part, '--config', BY_COMPANY, ...flags('--company', own));
      }
    }
    // A list of a company that a region does not have makes it a company of that region: the same lists, undivided.
    for (const generation of ['v3', 'v4'])
      await succeed('export', generation, '--db', 'split.db', '--config', BY_COMPANY);
    await succeed('remap', '--db', 'split.db', '--config', BY_COMPANY);
    await expectWhole(['c1.db', 'c2.db', 'c3.db'], 'by-company.db', BY_COMPANY, digestOf('split.db'));
  });

  it('split by region too, with V4 in a part of its own', async () => {
    expect(regions.length).toBeGreaterThan(1);
    for (const region of regions)
      await succeed('export', 'v3', '--db', `r-${region}.db`, '--config', `region-${region}.json`);
    await succeed('export', 'v4', '--db', 'v4.db');
    const parts = [...regions.map((region) => `r-${region}.db`), 'v4.db'];
    await expectWhole(parts, 'by-region.db', 'svc-migrate.config.json');
  });
});

describe('parts that are not one whole', () => {
  /** What `merge` says, and that it wrote nothing. */
  async function refused(...parts: readonly string[]): Promise<string> {
    const before = readdirSync(folder)
      .filter((file) => !file.endsWith('.lock'))
      .sort();
    const { code, stderr } = await run('merge', ...parts, '--output', 'c.db');
    expect(
      readdirSync(folder)
        .filter((file) => !file.endsWith('.lock'))
        .sort(),
    ).toEqual(before);
    expect(existsSync(join(folder, 'c.db'))).toBe(false);
    return `${code} ${stderr}`;
  }

  it('are refused by name: missing, doubled, unfinished, of other settings, damaged, written over', async () => {
    expect(await refused('m1.db')).toContain(`no part has V3 ${models.at(-1)}`);
    expect(await refused('m1.db')).toMatch(/^4 /);
    expect(await refused('m1.db', 'm2.db', 'whole.db')).toMatch(
      /^6 .*These parts do not fit together: V3 .* is in .*m1\.db and .*whole\.db/,
    );
    expect(await refused(...regions.map((region) => `r-${region}.db`))).toMatch(
      /^4 .*V4 was not exported yet/,
    );
    expect(await refused(`r-${regions[0]}.db`, 'v4.db')).toMatch(
      new RegExp(`^4 .*V3 lists? not started: .* in ${regions[1]}`),
    );
    expect(await refused('c1.db', 'c2.db', 'c3.db')).toMatch(/^6 .*c1\.db was exported with v3\.companies/);
    expect(await refused('none.db')).toMatch(/^4 .*no database at/);
    const damage = (file: string, sql: string) => {
      copyFileSync(join(folder, 'm2.db'), join(folder, file));
      const db = new Sqlite(join(folder, file));
      db.exec(sql);
      db.close();
    };
    damage('hurt.db', "UPDATE record SET platform_id = 'x' WHERE id = (SELECT max(id) FROM record)");
    expect(await refused('m1.db', 'hurt.db')).toMatch(/^6 .*hurt\.db: A stored record of/);
    damage('lost.db', 'DELETE FROM payload WHERE record_id = (SELECT max(record_id) FROM payload)');
    expect(await refused('m1.db', 'lost.db')).toMatch(
      /^6 .*lost\.db: \d+ of \d+ records? ha(s|ve) no payload/,
    );
    damage('altered.db', "UPDATE payload SET body = x'7b7d' WHERE record_id = 1");
    expect(await refused('m1.db', 'altered.db')).toMatch(/^6 .*altered\.db: A stored payload/);
    damage('purged.db', 'DELETE FROM payload');
    await succeed('merge', 'm1.db', 'purged.db', '--output', 'purged-whole.db');
    const { code, stderr } = await run('merge', 'm1.db', 'm2.db', '--output', 'm1.db');
    expect([code, stderr]).toEqual([2, expect.stringContaining('m1.db is an input')]);
    expect((await run('merge', 'm1.db', 'm2.db')).code).toBe(2);
    expect((await run('merge', '--output', 'c.db')).code).toBe(2);
  });
});

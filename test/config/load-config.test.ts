import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findConfigFile, loadConfig } from '../../src/config/load-config.js';
import { DEFAULT_MODELS } from '../../src/config/settings.js';
import { SvcError } from '../../src/errors.js';
import { MINIMAL, NOW_MS, sampleConfig } from './sample.js';

function fileWith(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'svc-config-')), 'svc-migrate.config.json');
  writeFileSync(file, text);
  return file;
}

function load(text: string, env: Record<string, string> = {}, db?: string) {
  return loadConfig({ env, flags: { config: fileWith(text), db }, nowMs: NOW_MS });
}

async function problemsOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    if (error instanceof SvcError && error.code === 'config') return error.message;
    throw error;
  }
  return 'no problem';
}

describe('the configuration file', () => {
  it('is the one named, else .jsonc, else .json', () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-config-')));
    const started = process.cwd();
    process.chdir(folder);
    try {
      const found = () => findConfigFile({}, undefined).slice(folder.length + 1);
      expect(found()).toBe('svc-migrate.config.jsonc');
      writeFileSync('svc-migrate.config.json', '');
      expect(found()).toBe('svc-migrate.config.json');
      writeFileSync('svc-migrate.config.jsonc', '');
      expect(found()).toBe('svc-migrate.config.jsonc');
      expect(findConfigFile({ SVC_MIGRATE_CONFIG: '' }, undefined)).toBe(findConfigFile({}, undefined));
      expect(findConfigFile({ SVC_MIGRATE_CONFIG: '/env.json' }, undefined)).toBe('/env.json');
      expect(findConfigFile({ SVC_MIGRATE_CONFIG: '/env.json' }, '/flag.json')).toBe('/flag.json');
    } finally {
      process.chdir(started);
    }
  });
});

describe('a configuration that leaves everything open', () => {
  it('gets the documented defaults', () => {
    const config = sampleConfig();
    expect(config).toEqual({
      file: '/project/svc-migrate.config.json',
      database: '/project/svc-migrate.db',
      fieldPrefix: 'svc_',
      v3: {
        regions: [
          {
            region: 'default',
            baseUrl: 'https://v3.example/v3',
            keySource: 'SVC_MIGRATE_V3_API_KEY',
            pageSize: 500,
            concurrency: 8,
            requestsPerSecond: 20,
          },
        ],
        companies: [],
      },
      v4: {
        region: '',
        baseUrl: 'https://v4.example',
        keySource: 'SVC_MIGRATE_V4_API_KEY',
        pageSize: 500,
        concurrency: 8,
        requestsPerSecond: 20,
        includeDeleted: 'auto',
        companies: [],
        companyIdField: null,
      },
      models: DEFAULT_MODELS,
      companies: { match: 'auto', include: [], exclude: [] },
      decisions: null,
      backfill: {
        sinceMs: null,
        dateFields: ['posted_date', 'created_at', 'updated_at', 'org_created_at'],
      },
      http: {
        timeoutMs: 60_000,
        attempts: 6,
        maxWaitMs: 300_000,
        maxBodyBytes: 32 * 1024 * 1024,
        allowHttp: false,
      },
      payload: 'full',
      limits: { global: {}, models: {} },
      apply: expect.objectContaining({ targets: [] }),
      maxAgeMs: 86_400_000,
    });
  });

  it('names the V4 models it guesses as guesses', () => {
    const names = DEFAULT_MODELS.map(({ v3, v4, v4Guessed }) => `${v3} ${v4}${v4Guessed ? '?' : ''}`);
    expect(names).toEqual([
      'accounting/bill_credit_notes bill_credit_notes?',
      'accounting/company_info company_info?',
      'accounting/invoices invoices',
      'payments/items payment_items?',
      'payments/orders payment_orders?',
      'payments/tax_rates tax_rates?',
      'ecommerce/orders ecommerce_orders?',
      'crm/companies crm_companies?',
      'crm/stages stages?',
    ]);
  });
});

describe('what the file says', () => {
  it('is read with comments, trailing commas, a byte order mark and $schema', async () => {
    const text = `\uFEFF{ // a comment
      "$schema": "./schema.json", /* another */
      "v3": { "regions": { "eu": { "baseUrl": "https://v3.example/v3/" } }, "pageSize": 7 },
      "v4": { "baseUrl": "https://v4.example", },
    }`;
    const config = await load(text);
    expect(config.v3.regions).toMatchObject([
      { region: 'eu', baseUrl: 'https://v3.example/v3', pageSize: 7 },
    ]);
  });

  it('takes ids as numbers and, beyond what numbers hold, as text', () => {
    const config = sampleConfig({ companies: { include: [7, '9223372036854775807'] } });
    expect(config.companies.include).toEqual([7n, 9223372036854775807n]);
  });

  it('makes limits counts and shares', () => {
    const { limits } = sampleConfig({
      limits: { unmatched: 5, merged: '0.5%', deleted: '100%', models: { 'crm/stages': { short: 0 } } },
    });
    expect(limits).toEqual({
      global: {
        unmatched: 5,
        merged: '0.5%',
        deleted: '100%',
      },
      models: { 'crm/stages': { short: 0 } },
    });
  });

  it('resolves the window, durations and the companies file', () => {
    expect(sampleConfig({ backfill: { since: '2026-08-20T00:00:00Z' } }).backfill.sinceMs).toBe(
      Date.UTC(2026, 7, 20),
    );
    expect(sampleConfig({ backfill: { days: 90 } }).backfill.sinceMs).toBe(NOW_MS - 90 * 86_400_000);
    expect(sampleConfig({ maxAge: '90m' }).maxAgeMs).toBe(5_400_000);
    expect(sampleConfig({ decisions: 'answers.csv' }).decisions).toBe('/project/answers.csv');
    expect(sampleConfig({ companies: { match: { file: 'pairs.csv' } } }).companies.match).toEqual({
      file: '/project/pairs.csv',
    });
  });

  it('completes models from the defaults and does not ask for children it does not expand', () => {
    const { models } = sampleConfig({
      models: [
        { v3: 'accounting/invoices' },
        { v3: 'accounting/bill_credit_notes', v4: 'notes', expand: [] },
        { v3: 'hr/people' },
        { v3: 'crm/stages', v4: null },
      ],
    });
    expect(models).toEqual([
      {
        v3: 'accounting/invoices',
        v4: 'invoices',
        expand: ['line_items'],
        children: ['line_items'],
        v4Guessed: false,
      },
      { v3: 'accounting/bill_credit_notes', v4: 'notes', expand: [], children: [], v4Guessed: false },
      { v3: 'hr/people', v4: 'people', expand: [], children: [], v4Guessed: true },
      { v3: 'crm/stages', v4: null, expand: [], children: [], v4Guessed: false },
    ]);
  });
});

describe('the database', () => {
  const text = JSON.stringify({ ...MINIMAL, database: 'file.db' });

  it('is taken from the flag over the environment over the file', async () => {
    expect((await load(text)).database).toMatch(/svc-config-.*\/file\.db$/);
    expect((await load(text, { SVC_MIGRATE_DB: '/env.db' })).database).toBe('/env.db');
    expect((await load(text, { SVC_MIGRATE_DB: '/env.db' }, '/flag.db')).database).toBe('/flag.db');
  });

  it('is not taken from an empty variable', async () => {
    expect((await load(text, { SVC_MIGRATE_DB: '' })).database).toMatch(/file\.db$/);
  });

  it('comes with a configuration that the environment may name', async () => {
    const file = fileWith(text);
    expect((await loadConfig({ env: { SVC_MIGRATE_CONFIG: file }, nowMs: NOW_MS })).file).toBe(file);
  });
});

/** The path of each problem of a value, with the message. */
async function problemsAt(value: unknown): Promise<string> {
  return problemsOf(() => sampleConfig(Object(value)));
}

describe('problems', () => {
  it('come all in one message, each with its path', async () => {
    const file = fileWith(`{
      "v3": {
        "regions": { "eu": { "baseUrl": "ftp://x", "apiKeyEnv": "A-B" } },
        "pageSise": 3
      },
      "v4": { "requestsPerSecond": "7", "pageSize": 0, "concurrency": 1.5 },
      "models": [
        { "v3": "payments/orders", "v4": "orders" },
        { "v3": "ecommerce/orders", "v4": "orders" }
      ],
      "limits": { "unmatchd": 3, "ambiguous": "101%", "merged": -1, "rejected": "5" },
      "companies": { "match": "overlap", "include": [1.5], "exclude": ["x"] },
      "maxAge": "soon",
      "databse": ""
    }`);
    const message = await problemsOf(() => loadConfig({ env: {}, flags: { config: file }, nowMs: NOW_MS }));
    const places = message.split('\n').map((line) => line.trim().replace(/: .*/, ''));
    expect(places.slice(1).sort()).toEqual(
      [
        'v3.regions.eu.baseUrl',
        'v3.regions.eu.apiKeyEnv',
        'v3',
        'v4.baseUrl',
        'v4.pageSize',
        'v4.concurrency',
        'v4.requestsPerSecond',
        'companies.match',
        'companies.include[0]',
        'companies.exclude[0]',
        'limits.ambiguous',
        'limits.rejected',
        'limits.merged',
        'limits',
        'maxAge',
        'the configuration',
        'models[1].v4',
      ].sort(),
    );
  });

  it.each([
    ['a secret in a URL', { v4: { baseUrl: 'https://me:hunter2@x.example' } }, 'v4.baseUrl'],
    ['a query in a URL', { v4: { baseUrl: 'https://x.example/?a=1' } }, 'v4.baseUrl'],
    ['/v4 in a URL', { v4: { baseUrl: 'https://x.example/v4/' } }, 'v4.baseUrl'],
    ['plain http', { v4: { baseUrl: 'http://x.example' } }, 'v4.baseUrl'],
    ['a key in the file', { v4: { baseUrl: 'https://x', apiKey: 'sk' } }, 'v4: Unrecognized key'],
    ['two places for a key', { v4: { baseUrl: 'https://x', apiKeyEnv: 'A', apiKeyFile: 'b' } }, 'v4'],
    [
      'a company id field that is no path',
      { v4: { baseUrl: 'https://x', companyIdField: 'a.' } },
      'v4.companyIdField',
    ],
    ['no region', { v3: { regions: {} } }, 'v3.regions'],
    ['no V3', { v3: undefined }, 'v3'],
    [
      'an unusable region',
      { v3: { regions: { 'a b': { baseUrl: 'https://v4.example' } } } },
      'v3.regions["a b"]',
    ],
    ['companies that are no list', { v3: { ...MINIMAL.v3, companies: 'auto' } }, 'v3.companies'],
    ['a V3 model twice', { models: [{ v3: 'a/b' }, { v3: 'a/b', v4: 'c' }] }, 'models[1].v3'],
    ['guesses that collide', { models: [{ v3: 'a/b' }, { v3: 'c/b' }] }, 'models[1].v4'],
    ['no model', { models: [] }, 'models'],
    ["V4's list of companies", { models: [{ v3: 'core/companies' }] }, 'models[0].v3'],
    ['a model that is no path', { models: [{ v3: 'invoices' }] }, 'models[0].v3'],
    ['two windows', { backfill: { days: 1, since: '2026-01-01' } }, 'backfill'],
    ['a day that does not exist', { backfill: { since: '2026-02-30' } }, 'backfill.since'],
    ['a time without zone', { backfill: { since: '2026-02-01T00:00:00' } }, 'backfill.since'],
    ['a window that begins in the future', { backfill: { since: '2999-02-01T00:00:00Z' } }, 'backfill.since'],
    ['a window that begins now', { backfill: { days: 0 } }, 'backfill.days'],
    ['a limit with more behind it', { limits: { merged: '5%x' } }, 'limits.merged'],
    ['a limit on what is wanted', { limits: { matched: 1 } }, 'limits: Unrecognized key'],
    ['an id in letters', { companies: { include: ['x'] } }, 'companies.include[0]'],
    ['a field with a space', { models: [{ v3: 'a/b', children: ['line items'] }] }, 'models[0].children[0]'],
    ['a V4 name that is a path', { models: [{ v3: 'a/b', v4: 'a/b' }] }, 'models[0].v4'],
    ['a negative id', { companies: { include: [-1] } }, 'companies.include[0]'],
    ['an id beyond 64 bits', { companies: { include: ['9223372036854775808'] } }, 'companies.include[0]'],
    ['an id beyond numbers', { companies: { include: [9007199254740992] } }, 'companies.include[0]'],
    ['a company in and out', { companies: { include: [1], exclude: ['1'] } }, 'companies.exclude[0]'],
    [
      'a limit of an unknown model',
      { limits: { models: { 'crm/stage': {} } } },
      'limits.models["crm/stage"]',
    ],
    [
      'an unknown limit of a model',
      { limits: { models: { 'crm/stages': { drift: 1 } } } },
      'limits.models["crm/stages"]: Unrecognized key: "drift"',
    ],
    ['a payload that does not exist', { payload: 'id' }, 'payload'],
    ['a target that does not exist', { apply: { targets: [{}] } }, 'apply.targets[0]'],
    ['a setting that left', { drift: { ignore: {} } }, 'the configuration: Unrecognized key: "drift"'],
  ])('name %s', async (_, more, place) => {
    const message = await problemsAt(more);
    expect(message).toContain(`.json: ${place}`);
    expect(message).not.toContain('hunter2');
    expect(message).not.toMatch(/pattern|Invalid key/);
  });

  it.each([
    'https:/a',
    'https:a',
    'ftp://a',
    'a',
    'https://user@a',
    'https://a?',
    'https://a#',
    'https://fill-in.invalid',
  ])('name the address %s', async (baseUrl) => {
    expect(await problemsAt({ v4: { baseUrl } })).toContain('v4.baseUrl: ');
  });

  it('are found at __proto__ at any depth', async () => {
    for (const more of [
      '{"__proto__": 1}',
      '{"v4": {"__proto__": {"baseUrl": "https://x"}, "baseUrl": "https://v4"}}',
      '{"limits": {"models": {"__proto__": {"unmatched": "100%"}}}}',
      '{"v3": {"regions": {"__proto__": {"baseUrl": "https://x"}, "eu": {"baseUrl": "https://x"}}}}',
    ]) {
      expect(await problemsOf(() => load(more))).toContain('__proto__: is not a setting');
    }
    expect(await problemsOf(() => load('{"constructor": 2}'))).toContain('constructor');
  });

  it('allow several models that V4 lacks', async () => {
    const models = [
      { v3: 'a/b', v4: null },
      { v3: 'c/b', v4: null },
    ];
    expect(await problemsAt({ models })).toBe('no problem');
  });

  it('allow plain http to loopback, and elsewhere only on demand', async () => {
    for (const host of ['localhost:1', '127.0.0.1:80', '127.9.9.9', '[::1]:9']) {
      expect(sampleConfig({ v4: { baseUrl: `http://${host}` } }).v4.baseUrl).toBe(`http://${host}`);
    }
    for (const host of ['evil-localhost', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1']) {
      const v4 = { baseUrl: `http://${host}` };
      expect(await problemsAt({ v4 })).toContain('plain http');
      expect(await problemsAt({ v4, http: { allowHttp: true } })).toBe('no problem');
    }
  });

  it('name the place where a file is not JSON, without repeating what stands there', async () => {
    const message = await problemsOf(() => load('{\n  "v3": {},\n  "v4": sk_live_1234\n}'));
    expect(message).toMatch(/svc-migrate\.config\.json:3:9: /);
    expect(message).not.toContain('sk_live');
  });

  it('include keys set twice, empty files, missing files and endless ones', async () => {
    expect(await problemsOf(() => load('{\n "v3": {},\n "v4": {"a": 1, "a": 2},\n "v3": {}\n}'))).toMatch(
      /v4\.a: is set more than once\n {2}v3: is set more than once/,
    );
    const region = '"eu": {"baseUrl": "https://x"}';
    expect(await problemsOf(() => load(`{"v3": {"regions": {${region}, ${region}}}}`))).toMatch(
      /\.json: v3\.regions\.eu: is set more than once$/,
    );
    expect(await problemsOf(() => load(' // nothing\n'))).toContain('this is not JSON');
    expect(await problemsOf(() => load('[]'))).toContain('the configuration');
    for (const config of ['/nowhere/at/all.json', '/dev/zero', tmpdir()]) {
      expect(await problemsOf(() => loadConfig({ env: {}, flags: { config }, nowMs: NOW_MS }))).toContain(
        config,
      );
    }
  });

  const MANY = 50_000;
  it.each([
    ['opening brackets', '['.repeat(MANY)],
    ['nested lists', '['.repeat(MANY) + ']'.repeat(MANY)],
    ['opening braces', '{"a":'.repeat(MANY)],
    ['comments', '/* [ */'.repeat(MANY)],
    ['one string', `"${'['.repeat(MANY)}`],
    ['unknown settings', `{${Array.from({ length: 5000 }, (_, index) => `"k${index}":1`).join(',')}}`],
    ['one setting again and again', `{${Array(MANY).fill('"k":1').join(',')}}`],
  ])('of a file of %s come in a short message', async (_, text) => {
    const message = await problemsOf(() => load(text));
    expect(message).not.toBe('no problem');
    expect(message.length).toBeLessThan(20_000);
  });
});

import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findConfigFile, loadConfig } from '../../src/config/load-config.js';
import { DEFAULT_MODELS } from '../../src/config/settings.js';
import { SvcError } from '../../src/errors.js';
import { rowsOf } from '../support/table.js';
import { MINIMAL, NOW_MS, sampleConfig } from './sample.js';

function fileWith(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'svc-config-')), 'svc-migrate.config.json');
  writeFileSync(file, text);
  return file;
}

function load(text: string, env: Record<string, string> = {}, db?: string) {
  return loadConfig({ env, flags: { config: fileWith(text), db }, nowMs: NOW_MS });
}

function problemsOf(work: () => unknown): string {
  try {
    work();
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
        companies: 'auto',
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
        eventTypeField: 'type',
      },
      models: DEFAULT_MODELS,
      companies: { match: 'auto', include: [], exclude: [] },
      decisions: null,
      backfill: {
        sinceMs: null,
        isRelative: false,
        dateFields: ['posted_date', 'created_at', 'updated_at', 'org_created_at'],
      },
      http: {
        timeoutMs: 60_000,
        attempts: 6,
        maxWaitMs: 300_000,
        maxBodyBytes: 64 * 1024 * 1024,
        allowHttp: false,
      },
      payload: 'full',
      drift: { ignore: {} },
      limits: { global: {}, models: {} },
      apply: { batchRows: 20_000, lockTimeoutMs: 10_000, statementTimeoutMs: 600_000, targets: [] },
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
  it('is read with comments, trailing commas, a byte order mark and $schema', () => {
    const text = `\uFEFF{ // a comment
      "$schema": "./schema.json", /* another */
      "v3": { "regions": { "eu": { "baseUrl": "https://v3.example/v3/" } }, "pageSize": 7 },
      "v4": { "baseUrl": "https://v4.example", },
    }`;
    const config = load(text);
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
      limits: { unmatched: 5, drift: '0.5%', deleted: '100%', models: { 'crm/stages': { short: 0 } } },
    });
    expect(limits).toEqual({
      global: {
        unmatched: { kind: 'count', count: 5 },
        drift: { kind: 'percent', percent: 0.5, text: '0.5%' },
        deleted: { kind: 'percent', percent: 100, text: '100%' },
      },
      models: { 'crm/stages': { short: { kind: 'count', count: 0 } } },
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

  it('is taken from the flag over the environment over the file', () => {
    expect(load(text).database).toMatch(/svc-config-.*\/file\.db$/);
    expect(load(text, { SVC_MIGRATE_DB: '/env.db' }).database).toBe('/env.db');
    expect(load(text, { SVC_MIGRATE_DB: '/env.db' }, '/flag.db').database).toBe('/flag.db');
  });

  it('is not taken from an empty variable', () => {
    expect(load(text, { SVC_MIGRATE_DB: '' }).database).toMatch(/file\.db$/);
  });

  it('comes with a configuration that the environment may name', () => {
    const file = fileWith(text);
    expect(loadConfig({ env: { SVC_MIGRATE_CONFIG: file }, nowMs: NOW_MS }).file).toBe(file);
  });
});

describe('problems', () => {
  it('come all in one message, each with path, line and a suggestion', () => {
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
      "limits": { "v4_only/unexplained": 1, "unmatchd": 3, "ambiguous": "101%", "drift": -1, "rejected": "5" },
      "companies": { "match": "sameid", "include": [1.5], "exclude": ["x"] },
      "maxAge": "soon",
      "databse": ""
    }`);
    const message = problemsOf(() => loadConfig({ env: {}, flags: { config: file }, nowMs: NOW_MS }));
    expect(message.replace(file, 'FILE')).toBe(
      [
        'FILE has 18 mistakes:',
        '  v3.regions.eu.baseUrl (line 3) must be an absolute address such as "https://api.example.com"',
        '  v3.regions.eu.apiKeyEnv (line 3) must be the name of an environment variable',
        '  v3.pageSise (line 4) is not a known setting; did you mean "pageSize"?',
        '  v4.baseUrl (line 6) is missing',
        '  v4.pageSize (line 6) must be at least 1',
        '  v4.concurrency (line 6) must be a whole number, not a fraction',
        '  v4.requestsPerSecond (line 6) must be a number, not text',
        '  companies.match (line 12) must be "auto", "same_id", "overlap" or {"file": "companies.csv"}',
        '  companies.include[0] (line 12) must be an id: digits, in quotes above 9007199254740991',
        '  companies.exclude[0] (line 12) must be an id: digits, in quotes above 9007199254740991',
        '  limits.ambiguous (line 11) must not be above 100%',
        '  limits.rejected (line 11) must be a whole number of at least 0, or a share such as "2%" or "0.5%"',
        '  limits.drift (line 11) must be a whole number of at least 0, or a share such as "2%" or "0.5%"',
        '  limits.v4_only/unexplained (line 11) is not a known setting: a limit is named by a reason, "unexplained", or by a status, "v4_only"',
        '  limits.unmatchd (line 11) is not a known setting; did you mean "unmatched"?',
        '  maxAge (line 13) must be a duration such as "15m", "24h" or "90d"',
        '  databse (line 14) is not a known setting; did you mean "database"?',
        '  models[1].v4 (line 9) is orders, the V4 name of payments/orders: two V3 models must not share one',
      ].join('\n'),
    );
  });

  const cases = rowsOf(`
    a secret in a URL | {"v4":{"baseUrl":"https://me:pw@x.example"}} | v4.baseUrl must not hold a user name
    a query in a URL | {"v4":{"baseUrl":"https://x.example/?a=1"}} | v4.baseUrl must not hold a query
    /v4 in a URL | {"v4":{"baseUrl":"https://x.example/v4/"}} | v4.baseUrl must not end in /v4
    plain http | {"v4":{"baseUrl":"http://x.example"}} | v4.baseUrl would send the key over plain http
    a key in the file | {"v4":{"baseUrl":"https://x","apiKey":"sk"}} | v4.apiKey is not a setting: keys are
    two places for a key | {"v4":{"baseUrl":"https://x","apiKeyEnv":"A","apiKeyFile":"b"}} | v4 has both apiKeyEnv and
      apiKeyFile
    no region | {"v3":{"regions":{}}} | v3.regions needs at least one region
    an unusable region | {"v3":{"regions":{"a b":{"baseUrl":"https://v4.example"}}}} | v3.regions.a b is not usable as
      a region
    a V3 model twice | {"models":[{"v3":"a/b"},{"v3":"a/b","v4":"c"}]} | models[1].v3 names a/b a second time
    guesses that collide | {"models":[{"v3":"a/b"},{"v3":"c/b"}]} | models[1].v4 is b, the V4 name of a/b
    no model | {"models":[]} | models must be a list with at least one entry
    a model that is no path | {"models":[{"v3":"invoices"}]} | models[0].v3 must be category/model
    two windows | {"backfill":{"days":1,"since":"2026-01-01"}} | backfill has both since and days: keep one
    a day that is none | {"backfill":{"since":"2026-02-30"}} | backfill.since must be an ISO 8601 time
    a time without zone | {"backfill":{"since":"2026-02-01T00:00:00"}} | backfill.since must be an ISO 8601
    a window that begins now | {"backfill":{"days":0}} | backfill.days must be more than 0
    a speed of nothing | {"v4":{"baseUrl":"https://x","requestsPerSecond":0}} | v4.requestsPerSecond must be more than 0
    a limit with more behind it | {"limits":{"drift":"5%x"}} | limits.drift must be a whole number of at least 0
    a negative id | {"companies":{"include":[-1]}} | companies.include[0] must be an id
    an id beyond 64 bits | {"companies":{"include":["9223372036854775808"]}} | is beyond 64 bits
    an id beyond numbers | {"companies":{"include":[9007199254740992]}} | companies.include[0] must be an id
    a company in and out | {"companies":{"include":[1],"exclude":["1"]}} | companies.exclude[0] is 1, which
      companies.include lists too
    fields of an unknown model | {"drift":{"ignore":{"*":["memo"],"crm/stage":["name"]}}} | drift.ignore.crm/stage is
      not a configured model; did you mean "crm/stages"?
    a limit of an unknown model | {"limits":{"models":{"crm/stage":{}}}} | limits.models.crm/stage is not a configured
      model; did you mean "crm/stages"?
    a limit of every model | {"limits":{"models":{"*":{}}}} | limits.models.* is not a configured model
    not that V4 lacks two models | {"models":[{"v3":"a/b","v4":null},{"v3":"c/b","v4":null}]} | no problem
    a limit on what is wanted | {"limits":{"matched":1}} | limits.matched is not a known setting; did you mean
      "unmatched"?
    a misspelt reason | {"limits":{"conection_inert":1}} | did you mean "connection_inert"?
    a misspelt limit of a model | {"limits":{"models":{"crm/stages":{"drifft":1}}}} | limits.models.crm/stages.drifft
      is not a known setting; did you mean "drift"?
    a payload it cannot keep | {"payload":"id"} | payload must be "full" or "ids"
  `);
  it.each(cases)('names %s', (_, more = '', expected = '') => {
    expect(problemsOf(() => sampleConfig(JSON.parse(more)))).toContain(expected);
  });

  it('names what is missing', () => {
    expect(problemsOf(() => sampleConfig({ v3: undefined }))).toContain('v3 is missing');
  });

  it('never repeats a URL that may hold a password', () => {
    const message = problemsOf(() => sampleConfig({ v4: { baseUrl: 'https://me:hunter2@x.example' } }));
    expect(message).not.toContain('hunter2');
  });

  it('allow plain http to loopback, and elsewhere only on demand', () => {
    for (const host of ['localhost:1', '127.0.0.1:80', '127.9.9.9', '[::1]:9']) {
      expect(sampleConfig({ v4: { baseUrl: `http://${host}` } }).v4.baseUrl).toBe(`http://${host}`);
    }
    for (const host of ['evil-localhost', 'localhost.evil.example', '127.0.0.1.evil.example', '10.0.0.1']) {
      expect(problemsOf(() => sampleConfig({ v4: { baseUrl: `http://${host}` } }))).toContain('plain http');
      const allowed = { v4: { baseUrl: `http://${host}` }, http: { allowHttp: true } };
      expect(problemsOf(() => sampleConfig(allowed))).toBe('no problem');
    }
  });

  it('name the place where a file is no JSON, without repeating what stands there', () => {
    const message = problemsOf(() => load('{\n  "v3": {},\n  "v4": sk_live_1234\n}'));
    expect(message).toMatch(/svc-migrate\.config\.json:3:9: this is not JSON \(invalid symbol\)\.$/);
  });

  it('include keys set twice, empty files and files that are not there', () => {
    expect(problemsOf(() => load('{\n "v3": {},\n "v4": {"a": 1, "a": 2},\n "v3": {}\n}'))).toMatch(
      /v4\.a \(line 3\) is set again on line 3\n {2}v3 \(line 2\) is set again on line 4/,
    );
    const twice = JSON.stringify(MINIMAL).replace('{', '{"models":[{"v3":"a/b","v3":"c/d"}],');
    expect(problemsOf(() => load(twice))).toContain('models[0].v3 (line 1) is set again on line 1');
    expect(problemsOf(() => load(' // nothing\n'))).toContain('is empty');
    expect(problemsOf(() => load('[]'))).toContain('the configuration must be an object, not a list');
    const missing = { config: '/nowhere/at/all.json' };
    expect(problemsOf(() => loadConfig({ env: {}, flags: missing, nowMs: NOW_MS }))).toBe(
      'There is no configuration file /nowhere/at/all.json.',
    );
  });

  it('are not caused by names that JavaScript objects inherit', () => {
    expect(problemsOf(() => load('{"__proto__": 1, "constructor": 2}'))).toMatch(
      /__proto__.*is not a known setting/,
    );
  });
});

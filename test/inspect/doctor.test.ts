import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { keysOf, makeFolder, runCli } from '../support/run-cli.js';
import { serveFile } from '../support/serve-http.js';

interface Request {
  /** Such as `/v3/accounting/invoices` and `/v4/core/companies/5/invoices`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

interface Answer {
  readonly status?: number;
  readonly body: unknown;
  readonly date?: Date;
}

/** What the service answers instead of the usual; undefined: the usual. */
type Behaviour = (request: Request) => Answer | undefined;

const recordsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    svc_id: index,
    svc_company_id: 5,
    platform_id: `k${index}`,
  }));

function pageOf(path: string, records: readonly unknown[], more: object = {}): Answer {
  const page = { data: records, next: null, ...more };
  return { body: path.startsWith('/v4') ? { data: page } : page };
}

const NOT_FOUND: Answer = { status: 404, body: { error: 'no such route' } };

/** Three records of invoices and of credit notes on both sides. */
const usual = ({ path, query }: Request): Answer => {
  if (path === '/v4/core/companies') return pageOf(path, [{ svc_id: 5 }]);
  if (!/\/(invoices|bill_credit_notes)$/.test(path)) return NOT_FOUND;
  const limit = Number(query.get('limit') ?? 10);
  return pageOf(path, recordsOf(Math.min(3, limit)));
};

let behave: Behaviour = () => undefined;
const service = serveFile(({ url = '' }, response) => {
  const { pathname: path, searchParams: query } = new URL(url, 'http://x');
  const { status = 200, body, date } = behave({ path, query }) ?? usual({ path, query });
  if (date !== undefined) response.setHeader('date', date.toUTCString());
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
});

beforeEach(() => {
  behave = () => undefined;
});

const MODELS = [
  { v3: 'accounting/invoices', v4: 'invoices', expand: [], children: [] },
  { v3: 'accounting/bill_credit_notes', v4: 'bill_credit_notes', expand: [], children: [] },
];

function projectOf(settings: object) {
  const host = { requestsPerSecond: 10_000 };
  const cwd = makeFolder({
    v3: { regions: { default: { baseUrl: `${service.origin}/v3` } }, ...host },
    v4: { baseUrl: service.origin, ...host },
    models: MODELS,
    http: { attempts: 1 },
    ...settings,
  });
  return { cwd, env: keysOf('secret-key-1') };
}

async function diagnose(behaviour: Behaviour, settings: object = {}, files: Record<string, string> = {}) {
  behave = behaviour;
  const { cwd, env } = projectOf(settings);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  const { code, stdout } = await runCli(['doctor', '--json', '-'], { cwd, env });
  const { findings, corrections } = JSON.parse(stdout);
  const codes: string[] = findings.map((finding: { code: string }) => finding.code);
  return { exit: code, codes, corrections };
}

const isV4List = ({ path }: Request) => /^\/v4\/core\/companies\/5\//.test(path);
const isV3List = ({ path }: Request) => path.startsWith('/v3/');
const nameIs = ({ path }: Request, ...names: readonly string[]) =>
  names.some((name) => path.endsWith(`/${name}`));

describe('doctor', () => {
  it('finds nothing wrong with the usual service, and proposes nothing', async () => {
    expect(await diagnose(() => undefined)).toEqual({
      exit: 0,
      codes: [
        'config_valid',
        'key_set',
        'key_set',
        'database_usable',
        'key_accepted',
        'key_accepted',
        'v4_companies',
        'models_answer',
        'page_size',
        'page_size',
        'deleted_unknown',
        'clock_agrees',
        'clock_agrees',
      ],
      corrections: [],
    });
  });

  it.each<[string, number, string, Behaviour]>([
    [
      'a service that answers anything',
      0,
      'answers_anything',
      (r) => (isV4List(r) ? pageOf(r.path, recordsOf(3)) : undefined),
    ],
    [
      'no company in V4',
      5,
      'v4_no_companies',
      ({ path }) => (path === '/v4/core/companies' ? pageOf(path, []) : undefined),
    ],
    [
      'no record in V4',
      5,
      'v4_empty',
      (r) => (isV4List(r) && nameIs(r, 'invoices', 'bill_credit_notes') ? pageOf(r.path, []) : undefined),
    ],
    ['no record in V3', 0, 'v3_empty', (r) => (isV3List(r) ? pageOf(r.path, []) : undefined)],
    [
      'line items with ids that no setting names',
      0,
      'children_not_read',
      (r) =>
        isV3List(r)
          ? pageOf(
              r.path,
              recordsOf(3).map((record) => ({ ...record, line_items: [{ svc_id: 9, platform_id: 'x' }] })),
            )
          : undefined,
    ],
    [
      'a V3 model that is absent',
      0,
      'v3_model_absent',
      (r) => (isV3List(r) && nameIs(r, 'invoices') ? NOT_FOUND : undefined),
    ],
    ['V3 at another path', 2, 'v3_absent', (r) => (isV3List(r) ? NOT_FOUND : undefined)],
    ['V4 at another path', 2, 'v4_absent', ({ path }) => (path.startsWith('/v4') ? NOT_FOUND : undefined)],
    [
      'objects that are no records',
      2,
      'no_record_readable',
      (r) => (isV3List(r) ? pageOf(r.path, [{ id: 1 }]) : undefined),
    ],
    ['HTML', 2, 'bad_response', (r) => (isV3List(r) ? { body: '<html>' } : undefined)],
    ['a failing host', 4, 'unavailable', (r) => (isV3List(r) ? { status: 503, body: {} } : undefined)],
    [
      'a refused key before an empty V4',
      3,
      'auth',
      (r) =>
        isV3List(r)
          ? { status: 401, body: {} }
          : r.path === '/v4/core/companies'
            ? pageOf(r.path, [])
            : undefined,
    ],
    [
      'a wrong address before a failing host',
      2,
      'v4_absent',
      (r) => (isV3List(r) ? { status: 503, body: {} } : NOT_FOUND),
    ],
    ['a clock that is off', 0, 'clock_off', (r) => ({ ...usual(r), date: new Date(Date.now() - 120_000) })],
    [
      'deleted records',
      0,
      'deleted_shown',
      (r) =>
        r.query.has('include_deleted_records') && isV4List(r)
          ? pageOf(r.path, [{ ...recordsOf(1)[0], svc_deleted_at: '2026-01-01T00:00:00Z' }])
          : undefined,
    ],
    [
      'more records with the deleted ones',
      0,
      'deleted_shown',
      (r) =>
        isV4List(r) && nameIs(r, 'invoices')
          ? pageOf(r.path, recordsOf(3), { total_count: r.query.has('include_deleted_records') ? 4 : 3 })
          : undefined,
    ],
    [
      'a V4 that refuses to show deleted records',
      2,
      'deleted_refused',
      (r) => (r.query.has('include_deleted_records') && isV4List(r) ? { status: 400, body: {} } : undefined),
    ],
    [
      'page sizes that are all refused',
      2,
      'page_size_refused',
      (r) =>
        isV4List(r) &&
        r.query.get('limit') !== '20' &&
        !r.query.has('include_deleted_records') &&
        nameIs(r, 'invoices', 'bill_credit_notes')
          ? { status: 422, body: {} }
          : undefined,
    ],
  ])('names %s: exit %i, %s', async (_name, exit, code, behaviour) => {
    const diagnosis = await diagnose(behaviour);
    expect(diagnosis.codes).toContain(code);
    expect(diagnosis.exit).toBe(exit);
  });

  it.each([
    ['answers to two near names', ['invoice', 'accounting_invoices'], 'invoicez', 2],
    ['answers to one near name', ['invoice'], 'invoice', 2],
    ['has no near name, while V3 has the model', [], 'invoicez', 2],
  ])('proposes a V4 name only where one is left: V4 %s', async (_name, names, proposed, exit) => {
    const behaviour: Behaviour = (r) => {
      if (!isV4List(r) || nameIs(r, 'bill_credit_notes')) return undefined;
      return nameIs(r, ...names) ? pageOf(r.path, recordsOf(3)) : NOT_FOUND;
    };
    const models = [{ ...MODELS[0], v4: 'invoicez' }, MODELS[1]];
    const diagnosis = await diagnose(behaviour, { models });
    expect([diagnosis.exit, diagnosis.codes.includes('model_unknown')]).toEqual([exit, true]);
    const [value] = diagnosis.corrections.map((correction: { value: unknown }) => correction.value);
    expect(value?.[0].v4 ?? 'invoicez').toBe(proposed);
  });

  it('does not propose one name for two models', async () => {
    // `items` is near to both.
    const models = ['payments', 'shop'].map((category) => ({
      v3: `${category}/items`,
      v4: `${category}_itemz`,
    }));
    const behaviour: Behaviour = (r) =>
      isV3List(r) || nameIs(r, 'items') ? pageOf(r.path, recordsOf(3)) : undefined;
    const { codes, corrections } = await diagnose(behaviour, { models });
    expect(codes.filter((code) => code === 'model_unknown')).toHaveLength(2);
    expect(corrections).toEqual([]);
  });

  it('proposes no name for a model that V3 does not have', async () => {
    const models = ['payments', 'shop'].map((category) => ({
      v3: `${category}/items`,
      v4: `${category}_itemz`,
    }));
    const behaviour: Behaviour = (r) => {
      if (isV3List(r)) return r.path.includes('shop') ? NOT_FOUND : pageOf(r.path, recordsOf(3));
      return nameIs(r, 'items') ? pageOf(r.path, recordsOf(3)) : undefined;
    };
    const { codes, corrections } = await diagnose(behaviour, { models });
    expect(codes.filter((code) => code === 'model_unknown')).toHaveLength(1);
    expect(corrections[0]?.value).toMatchObject([{ v3: 'payments/items', v4: 'items' }]);
  });

  it('says which lists it asked for and what came, in lines that end at one edge', async () => {
    const { cwd, env } = projectOf({ models: [...MODELS, { v3: 'crm/stages' }] });
    const { stdout } = await runCli(['doctor'], { cwd, env });
    const text = stdout.replace(/\n +/g, ' ');
    expect(text).toContain(
      `V4 at ${service.origin} accepts the key from SVC_MIGRATE_V4_API_KEY. Lists of 3 models in 1 company: 2 read, with at least 6 records; 1 absent (404); 0 failed.`,
    );
    const [lines = ''] = stdout.trimEnd().split('\n\nTo paste');
    const odd = lines
      .split('\n')
      .filter((line) => !/^(\S| {2}(ok|warning|PROBLEM) | {10}\S| {12}\S)/.test(line));
    expect(odd).toEqual([]);
  });

  it.each([
    ['', '/v3'],
    ['/api', '/api/v3'],
    ['/v3', undefined],
    ['/v33', undefined],
    ['/V3/eu', undefined],
  ])('proposes for a V3 at %j that answers 404 the address %j', async (path, proposed) => {
    const v3 = { regions: { default: { baseUrl: `${service.origin}${path}` } } };
    const { corrections } = await diagnose((r) => (r.path.startsWith('/v4') ? undefined : NOT_FOUND), { v3 });
    const addresses = corrections.flatMap((one: { path: string[]; value: unknown }) =>
      one.path.includes('baseUrl') ? [one.value] : [],
    );
    expect(addresses).toEqual(proposed === undefined ? [] : [`${service.origin}${proposed}`]);
  });

  it('lists the mistakes of a configuration one a line', async () => {
    const { cwd, env } = projectOf({ maxAge: 'x', payload: 'x' });
    const { code, stdout } = await runCli(['doctor'], { cwd, env });
    expect(code).toBe(2);
    expect(stdout).toMatch(/has 2 mistakes:\n {10}payload: .*\n {10}maxAge: /);
  });

  it('leaves out models that neither API has', async () => {
    const models = [...MODELS, { v3: 'crm/stages' }];
    const { exit, corrections } = await diagnose(() => undefined, { models });
    expect(exit).toBe(0);
    expect(corrections).toMatchObject([{ path: ['models'], value: MODELS }]);
    expect(corrections[0].value).toHaveLength(2);
  });

  it('shows the one cause where a region refuses the key, and concludes nothing from its lists', async () => {
    const models = [{ v3: 'accounting/bill_credit_notes' }, { v3: 'crm/stages' }];
    const regions = { eu: `${service.origin}/v3`, us: `${service.origin}/us` };
    const settings = {
      models,
      v3: {
        regions: Object.fromEntries(Object.entries(regions).map(([name, baseUrl]) => [name, { baseUrl }])),
      },
    };
    const refuses: Behaviour = ({ path }) =>
      path.startsWith('/us/') ? { status: 401, body: {} } : undefined;
    const { exit, codes, corrections } = await diagnose(refuses, settings);
    expect([exit, codes.filter((code) => ['auth', 'model_unknown'].includes(code))]).toEqual([3, ['auth']]);
    expect(corrections).toEqual([]);
    const isShownThere: Behaviour = (r) =>
      refuses(r) ?? (r.path === '/v3/crm/stages' ? pageOf(r.path, recordsOf(3)) : undefined);
    expect((await diagnose(isShownThere, settings)).codes).toContain('model_unknown');
  });

  it.each([
    [499, 2, [{ path: ['v4', 'pageSize'], value: 499 }]],
    [500, 0, []],
    [700, 0, [{ path: ['v4', 'pageSize'], value: 700 }]],
  ])('compares a largest page of %i with the configured 500', async (largest, exit, corrections) => {
    const behaviour: Behaviour = (r) => {
      if (!isV4List(r) || !nameIs(r, 'invoices')) return undefined;
      const count = Math.min(Number(r.query.get('limit') ?? 10), largest);
      return pageOf(r.path, recordsOf(count), { next: 'more', total_count: 20_000 });
    };
    const diagnosis = await diagnose(behaviour);
    expect([diagnosis.exit, diagnosis.corrections]).toEqual([exit, corrections]);
  });

  it('accepts a V4 without deleted records where the configuration says so', async () => {
    const behaviour: Behaviour = (r) =>
      r.query.has('include_deleted_records') && isV4List(r) ? { status: 400, body: {} } : undefined;
    const v4 = { baseUrl: service.origin, includeDeleted: false };
    const { exit, codes } = await diagnose(behaviour, { v4 });
    expect([exit, codes.includes('deleted_refused')]).toEqual([0, true]);
  });

  it.each<[string, number, string, object, Record<string, string>]>([
    ['a file of decisions that is missing', 6, 'bad_input', { decisions: 'none.csv' }, {}],
    [
      'a database that is something else',
      6,
      'not_our_database',
      { database: 'notes.txt' },
      { 'notes.txt': 'x'.repeat(5000) },
    ],
    ['a folder that does not exist', 6, 'database_not_writable', { database: 'none/svc.db' }, {}],
    ['a database that is empty yet', 0, 'database_usable', { database: 'new.db' }, { 'new.db': '' }],
  ])('judges %s: exit %i, %s', async (_name, exit, code, settings, files) => {
    const diagnosis = await diagnose(() => undefined, settings, files);
    expect(diagnosis.codes).toContain(code);
    expect(diagnosis.exit).toBe(exit);
  });
});

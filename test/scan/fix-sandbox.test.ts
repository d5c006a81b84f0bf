import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import axios from 'axios';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Sandbox, startSandbox } from '../../src/sandbox/start.js';
import { scanSchema } from '../../src/scan/scan-report.js';
import { runCli } from '../cli/run-cli.js';

const CORPUS = fileURLToPath(new URL('../../fixtures/scan/typescript', import.meta.url));
const require = createRequire(import.meta.url);
const SAMPLES = [
  'fetch-literal',
  'base-constant-fixable',
  'axios-instance-fixable',
  'params-fixable',
  'crlf',
];

const record = z.looseObject({ svc_id: z.number(), platform_id: z.string().nullable(), status: z.unknown() });
const page = z.object({
  data: z.array(record),
  next: z.string().nullable(),
  total_count: z.number().nullable(),
});
const idsOf = (rows: readonly unknown[]) => rows.map((row) => record.parse(row).svc_id);

let sandbox: Sandbox;
let requestsBefore = 0;
let folder: string;
let company: { v3: string; v4: string };
const plainFetch = globalThis.fetch;

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 11, scale: 3000, companies: 2 });
  folder = mkdtempSync(join(tmpdir(), 'fix-sandbox-'));
  // The samples do not encode cursors, which may hold a plus.
  const withKey: typeof fetch = (url, init) =>
    plainFetch(String(url).replaceAll('+', '%2B'), {
      ...init,
      headers: { ...init?.headers, api_key: sandbox.apiKey },
    });
  globalThis.fetch = withKey;
  axios.defaults.headers.common['api_key'] = sandbox.apiKey;
  process.env['LEDGER_KEY'] = sandbox.apiKey;
  writeFileSync(join(folder, 'svc-migrate.config.json'), JSON.stringify(sandbox.config()));
  const env = { SVC_MIGRATE_V3_API_KEY: sandbox.apiKey, SVC_MIGRATE_V4_API_KEY: sandbox.apiKey };
  await runCli(['run', '--json', 'report.json'], { cwd: folder, env });
  company = await findCompany();
  for (const name of SAMPLES) copySample(name);
  const modules = join(folder, 'node_modules');
  mkdirSync(join(modules, 'request'), { recursive: true });
  writeFileSync(join(modules, 'request/index.js'), '');
  symlinkSync(dirname(require.resolve('axios/package.json')), join(modules, 'axios'));
}, 60_000);

afterAll(async () => {
  globalThis.fetch = plainFetch;
  delete process.env['LEDGER_KEY'];
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A company that the remap paired and that has invoices in V4. */
async function findCompany(): Promise<typeof company> {
  const dumped = await runCli(['dump', '--format', 'ndjson'], { cwd: folder });
  const rows = dumped.stdout
    .trim()
    .split('\n')
    .map((line) =>
      z
        .looseObject({
          model: z.string(),
          status: z.string(),
          v3_company_id: z.string().nullable(),
          v4_company_id: z.string().nullable(),
        })
        .parse(JSON.parse(line)),
    );
  const row = rows.find(({ model, status }) => model === 'accounting/invoices' && status === 'matched');
  return { v3: row?.v3_company_id ?? '', v4: row?.v4_company_id ?? '' };
}

/** A sample with the addresses of the sandbox and the id of a company that it has. */
function copySample(name: string): void {
  cpSync(join(CORPUS, name), join(folder, name), {
    recursive: true,
    filter: (path) => !/\/(fixed|expected\.json|svc-migrate\.config\.json)$/.test(path),
  });
  const file = join(folder, FILES[name] ?? '');
  const text = readFileSync(file, 'utf8')
    .replaceAll(/https:\/\/(eu|us)\.ledgerlink\.example\/v3/g, sandbox.v3['default'] ?? '')
    .replaceAll(/(svc_company_id\[eq\]=)\d+/g, `$1${company.v3}`);
  writeFileSync(file, text);
  writeFileSync(join(dirname(file), 'logger.ts'), 'export const logger = { debug() {} };\n');
}

const FILES: Readonly<Record<string, string>> = {
  'fetch-literal': 'fetch-literal/src/invoices.ts',
  'base-constant-fixable': 'base-constant-fixable/src/invoices.ts',
  'axios-instance-fixable': 'axios-instance-fixable/src/client.ts',
  'params-fixable': 'params-fixable/src/invoices.ts',
  crlf: 'crlf/legacy.js',
};

/** What V4 itself answers. */
async function askV4(query: string): Promise<z.output<typeof page>> {
  const res = await fetch(`${sandbox.v4}/v4/core/companies/${company.v4}/invoices?${query}`);
  return z.object({ data: page }).parse(await res.json()).data;
}

async function load(name: string): Promise<Record<string, (...args: readonly unknown[]) => unknown>> {
  const file = join(folder, FILES[name] ?? '');
  const module: unknown = file.endsWith('.js') ? require(file) : await import(file);
  return z
    .record(
      z.string(),
      z.custom<(...args: readonly unknown[]) => unknown>((one) => typeof one === 'function'),
    )
    .parse({ ...(module as object) });
}

/** A list of V4, in the form that the samples return. */
const rowsOf = (rows: unknown) => idsOf(z.array(z.unknown()).parse(rows));

describe('samples that --fix patched, run against V4', () => {
  it('are patched with what the remap knows of companies', async () => {
    const args = ['scan', '--fix', '--force', '--json', '-', ...SAMPLES];
    const { stdout } = await runCli(args, { cwd: folder });
    const { fix } = scanSchema.parse(JSON.parse(stdout));
    expect([fix?.fixed, fix?.notFixed, fix?.remapNote]).toEqual([8, 2, null]);
    for (const file of Object.values(FILES))
      expect(readFileSync(join(folder, file), 'utf8')).toContain('/v4/');
    requestsBefore = sandbox.requests().length;
  });

  it('count the records of a company, and read its first page', async () => {
    const { countInvoices, invoicesOf } = await load('fetch-literal');
    const all = await askV4('limit=100');
    expect(await countInvoices?.(sandbox.apiKey)).toBe(all.total_count);
    const first = await askV4('limit=1');
    const second = await askV4(`limit=100&next=${first.next}`);
    const read = z.object({ rows: z.unknown(), cursor: z.unknown() });
    const given = read.parse(await invoicesOf?.(sandbox.apiKey, company.v4, first.next));
    expect([rowsOf(given.rows), given.cursor]).toEqual([idsOf(second.data), second.next]);
    expect(second.data.length).toBeGreaterThan(1);
  });

  it('walk all pages, and filter', async () => {
    const { invoices, paid } = await load('base-constant-fixable');
    const expected = await askV4('limit=500');
    const found: unknown[] = [];
    for await (const row of z.custom<AsyncIterable<unknown>>().parse(invoices?.(company.v4))) found.push(row);
    expect(idsOf(found)).toEqual(idsOf(expected.data));
    expect(found.length).toBeGreaterThan(100);
    const filtered = await askV4('status[eq]=paid');
    expect(filtered.data.length).toBeGreaterThan(0);
    expect(await paid?.(company.v4)).toBe(filtered.data.length);
  });

  it('read through a client of axios, with parameters beside the address', async () => {
    const { invoicePage, hasInvoices } = await load('axios-instance-fixable');
    const expected = await askV4('limit=100');
    const read = z
      .object({ invoices: z.unknown(), next: z.unknown() })
      .parse(await invoicePage?.(company.v4));
    expect([rowsOf(read.invoices), read.next]).toEqual([idsOf(expected.data), expected.next]);
    expect(await hasInvoices?.()).toBe(true);
    const { first } = await load('params-fixable');
    expect(idsOf([await first?.(company.v4)])).toEqual(idsOf(expected.data.slice(0, 1)));
  });

  it('read from a module with line ends of Windows', async () => {
    const { first } = await load('crlf');
    expect(idsOf([await first?.()])).toEqual(idsOf((await askV4('limit=1')).data));
  });

  it('sent no request to V3', () => {
    const paths = sandbox.requests().slice(requestsBefore);
    expect(paths.length).toBeGreaterThanOrEqual(15);
    expect(paths.filter(({ address }) => !address.startsWith('/v4/'))).toEqual([]);
  });
});

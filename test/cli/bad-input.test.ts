import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { serveFile } from '../support/serve-http.js';
import { rowsOf } from '../support/table.js';
import { type Ended, filesIn, keysOf, makeFolder, runCli } from './run-cli.js';

const CANARY = 'canary-key-77aa01';
const CONFIG_NAME = 'svc-migrate.config.json';

/** Refuses every key, echoing it, with a header that tries to move the cursor. */
const server = serveFile((request, response) => {
  response.writeHead(401, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: `bad key ${String(request.headers['api_key'])} \u001b[31m` }));
});
let address: string;
beforeAll(() => {
  address = server.origin;
});

function configFor(base: string, more: object = {}) {
  return {
    v3: { regions: { default: { baseUrl: `${base}/v3` } } },
    v4: { baseUrl: base },
    http: { attempts: 1, timeoutMs: 20_000 },
    ...more,
  };
}

async function run(args: readonly string[], config: unknown, env: Record<string, string> = keysOf(CANARY)) {
  const folder = makeFolder(config);
  const before = filesIn(folder);
  const ended = await runCli(args, { cwd: folder, env });
  return { ...ended, folder, written: filesIn(folder).filter((name) => !before.includes(name)) };
}

/** What happened and what to do, both on one line; no stack, no key, nothing for a pipe to read. */
function expectPlainError({ stdout, stderr }: Ended): void {
  expect(stdout).toBe('');
  expect(stderr).toMatch(/^svc-migrate: \S.*\n( {2}→ .+\n)?( {2}\(.+\)\n)?$/);
  expect(stderr).not.toContain(CANARY);
  expect(stderr).not.toContain('\u001b');
}

describe('bad input is a one-line error with the fix, and nothing is written', () => {
  const cases = rowsOf(String.raw`
    a command close to two | stat | - | 2 | unknown command 'stat'\.\n {2}→ Did you mean "scan" or "status"\?
    an unknown command | exprt | - | 2 | unknown command 'exprt'\.\n {2}→ Did you mean "export"\?
    an unknown generation | export v5 | - | 2 | "v5" is no value for generation\.\n.*"v3"
    an unknown option | status --verbos | - | 2 | unknown option '--verbos'\.\n.*--verbose
    a key as an option | export v3 --api-key x | - | 2 | unknown option '--api-key'
    an option without its value | status --db | - | 2 | option '--db <file>' argument missing
    too many words | status now | - | 2 | too many arguments
    a missing word | lookup | - | 2 | missing required argument 'model'
    waiting for V3 | export v3 --wait | {} | 2 | --wait is for V4
    help for nothing | help chek | - | 2 | There is no command or topic "chek"\.\n.*"check"
    an unknown choice | dump --format xml | - | 2 | "xml" is no value for --format\..*\n.*Known: csv
    no configuration | status | - | 2 | There is no configuration file .*, nor
      svc-migrate.config.json\.\n.*svc-migrate init
    an unknown setting | export v3 | {"databse":"x"} | 2 | databse \(line \d+\) is not a known setting; did you mean
      "database"\?
    an address that is none | export v3 | {"v4":{"baseUrl":"api.example.com"}} | 2 | v4\.baseUrl \(line \d+\) must be
      an absolute address
    an unknown model | export v3 --model accounting/invoice | {} | 2 | There is no model "accounting/invoice" .*\n
      {2}→ Did you mean "accounting/invoices"\?
    a company that is not an id | export v4 --company 1.5 | {} | 2 | --company takes a company id: .*, not "1\.5"
    an unknown model to look up | lookup crm/stagse 1 | {} | 2 | Did you mean "crm/stages"\?
    a place to look in that is not there | lookup accounting/invoices#line_item 1 | {} | 2 | "line_item" is not
      a field with children .*\n {2}→ Did you mean "line_items"\?
    a region that is not there | explain accounting/invoices 1 --region eu | {} | 2 | There is no region "eu" .*\n
      {2}→ Known: default\.
    a missing database | status | {} | 4 | There is no database at .*\n.*svc-migrate run
  `);
  it.each(cases)('%s', async (_, line = '', more = '', code = '', message = '') => {
    const config = more === '-' ? undefined : configFor('https://x.example', JSON.parse(more));
    const ended = await run(line.split(' '), config);
    expectPlainError(ended);
    expect(ended.stderr).toMatch(new RegExp(message));
    expect(String(ended.code)).toBe(code);
    expect(ended.written).toEqual([]);
  });

  it('a missing key variable, by name', async () => {
    const ended = await run(['export', 'v3'], configFor('https://x.example'), {});
    expectPlainError(ended);
    expect(ended.stderr).toContain('SVC_MIGRATE_V3_API_KEY is not set');
    expect([ended.code, ended.written]).toEqual([2, []]);
  });

  it('a text file as --db, which is left as it was', async () => {
    const folder = makeFolder(configFor(address));
    const file = join(folder, 'notes.txt');
    writeFileSync(file, 'dear diary, this is a text file and not a database');
    for (const args of [['export', 'v3'], ['status'], ['remap'], ['run']]) {
      const ended = await runCli([...args, '--db', file], { cwd: folder, env: keysOf(CANARY) });
      expectPlainError(ended);
      expect(ended.stderr).toContain('is not a svc-migrate database; it was not touched');
      expect(ended.code).toBe(6);
    }
    expect(readFileSync(file, 'utf8')).toBe('dear diary, this is a text file and not a database');
    expect(filesIn(folder)).toEqual(['notes.txt', CONFIG_NAME]);
  });

  it('a folder that is not there', async () => {
    const ended = await run(['export', 'v3', '--db', 'no/such/folder.db'], configFor(address));
    expectPlainError(ended);
    expect(ended.code).toBe(6);
    expect(ended.written).toEqual([]);
  });
});

describe('a service that cannot be used', () => {
  it('because it refuses the key: 3, naming route and where the key came from', async () => {
    const ended = await run(['export', 'v3'], configFor(address));
    expect(ended.stdout).toBe('');
    expect(ended.stderr).toMatch(/svc-migrate: V3 refused the API key \(401\)\.\n/);
    expect(ended.stderr).toContain('SVC_MIGRATE_V3_API_KEY');
    expect(ended.stderr).toContain('api_key');
    expect(ended.stderr).not.toContain(CANARY);
    expect(ended.stderr).not.toContain('\u001b');
    expect(ended.code).toBe(3);
  });

  it('because nobody listens there: 4, telling how to go on', async () => {
    const ended = await run(['export', 'v3', '--model', 'crm/stages'], configFor('http://127.0.0.1:9'));
    expect(ended.stderr).toMatch(
      /svc-migrate: .* could not be read to the end\. First: .*ECONNREFUSED.*\n {2}→ .*again/,
    );
    expect(ended.stdout).toContain('Next: svc-migrate export v3 --model crm/stages\n');
    expect(ended.code).toBe(4);
  });
});

describe('help', () => {
  it('goes to stdout with exit code 0 and needs no configuration', async () => {
    for (const args of [['--help'], ['export', 'v3', '--help'], ['help', 'lookup'], ['--version']]) {
      const ended = await runCli(args, { cwd: makeFolder() });
      expect([ended.code, ended.stderr]).toEqual([0, '']);
      expect(ended.stdout).not.toBe('');
    }
  });
});

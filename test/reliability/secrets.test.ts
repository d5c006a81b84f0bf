import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.js';
import { campaignCases, campaignSize } from '../support/campaign.js';
import { makeFastFolder } from '../support/fast-folder.js';
import { keysOf, runCli } from '../support/run-cli.js';
import { serveFile } from '../support/serve-http.js';

const OUTPUTS = ['json', 'ndjson', 'markdown', 'html', 'junit'];
const RUN = `run --verbose ${OUTPUTS.map((flag) => `--${flag} run.${flag}`).join(' ')}`;

/** The whole job, and every command that shows a part of it. */
const COMMANDS = [
  'doctor',
  'doctor --json -',
  'export v3 --verbose',
  'export v4 --verbose',
  'remap --verbose',
  RUN,
  'report --verbose',
  `report ${OUTPUTS.map((flag) => `--${flag} report.${flag}`).join(' ')}`,
  'check --verbose',
  'status --verbose',
  'findings --verbose',
  'verify --verbose',
  'verify --json -',
  'explain accounting/invoices 1',
  'explain accounting/invoices 1 --json -',
  'lookup accounting/invoices 1 2 3 --json -',
  'dump --output dump.csv',
  'dump --format ndjson --output dump.ndjson',
  'dump --format parquet --output dump.parquet',
  'dump',
  'export v3 --company 12345 --verbose',
];

/** Commands that ask the service, and those that show the errors they left. */
const NETWORK = COMMANDS.filter((line) => /^(?:doctor|export|run|verify|status|report )/.test(line));
const OTHERS = COMMANDS.slice(COMMANDS.indexOf(RUN) + 1);

let sandbox: Sandbox;
/** What the service does with a request, besides echoing the key in its headers. */
let mood: 'fails once' | 'refuses' | 'breaks' = 'fails once';
const asked = new Set<string>();
let folder: string;
let searched = 0;

const echo = serveFile((request, response) => {
  const key = String(request.headers['api_key']);
  const headers = { 'x-request-id': key, 'x-echo': key, 'set-cookie': `k=${key}`, server: `s ${key}` };
  const body = JSON.stringify({
    error: { code: key, message: `The key ${key} …` },
    request_id: key,
    [key]: [key],
  });
  const isFirst = !asked.has(request.url ?? '');
  asked.add(request.url ?? '');
  if (mood === 'refuses') return response.writeHead(401, headers).end(body);
  if (mood === 'breaks') return response.writeHead(200, headers).end(body);
  if (isFirst) return response.writeHead(500, headers).end(body);
  fetch(sandbox.v4 + request.url, { headers: { api_key: key } })
    .then(async (answer) => {
      const text = (await answer.text()).replace(/"request_id":"[^"]*"/, `"request_id":"${key}"`);
      response.writeHead(answer.status, { ...headers, 'content-type': 'application/json' }).end(text);
    })
    .catch(() => response.destroy());
  return response;
});

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 23, scale: 60, companies: 1 });
  folder = makeFastFolder();
  const config = JSON.parse(JSON.stringify(sandbox.config()).replaceAll(sandbox.v4, echo.origin)) as object;
  const text = JSON.stringify({ ...config, http: { attempts: 2 } });
  writeFileSync(join(folder, 'svc-migrate.config.json'), text);
});
afterAll(async () => {
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The key as it may be written: plain, encoded, in other case. */
function spellings(): string[] {
  const key = sandbox.apiKey;
  const bytes = Buffer.from(key);
  return [key, key.toUpperCase(), bytes.toString('base64').replaceAll('=', ''), bytes.toString('hex')];
}

function findKey(name: string, bytes: Buffer): string[] {
  searched += bytes.length;
  return spellings().some((spelling) => bytes.includes(spelling)) ? [name] : [];
}

function findInFiles(): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .flatMap((name) => findKey(name, readFileSync(join(folder, name))));
}

async function runAll(commands: readonly string[]): Promise<void> {
  for (const line of commands) {
    asked.clear();
    const { code, stdout, stderr } = await runCli(line.split(' '), {
      cwd: folder,
      env: keysOf(sandbox.apiKey),
    });
    expect(code, `${line}: ${stderr}`).toBeLessThan(7);
    const places = [...findKey('stdout', Buffer.from(stdout)), ...findKey('stderr', Buffer.from(stderr))];
    expect([...places, ...findInFiles()], line).toEqual([]);
  }
}

describe('a key that the service echoes in headers, request ids and errors is in nothing printed or written', () => {
  it.each([
    [
      'while requests fail once and then succeed',
      'fails once',
      campaignSize({ small: [RUN, ...campaignCases(OTHERS, 4)], full: COMMANDS }),
    ],
    ['while every request is refused', 'refuses', campaignCases(NETWORK, 2)],
    ['while every answer is an error with status 200', 'breaks', campaignCases(NETWORK, 2)],
  ] as const)('%s', async (_, next, commands) => {
    mood = next;
    await runAll(commands);
    process.stdout.write(
      `${commands.length} commands (${next}), ${searched} bytes searched so far, 0 hits\n`,
    );
  });

  it('and this test would see it', () => {
    writeFileSync(join(folder, 'leak'), `x ${Buffer.from(sandbox.apiKey).toString('base64')} y`);
    expect(findInFiles()).toEqual(['leak']);
  });
});

it('files of data are readable by their owner only', () => {
  const files = ['svc-migrate.db', 'run.json', 'run.html'];
  expect(files.map((file) => (statSync(join(folder, file)).mode & 0o777).toString(8))).toEqual([
    '600',
    '600',
    '600',
  ]);
});

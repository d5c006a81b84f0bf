import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.js';
import { keysOf, runCli } from '../cli/run-cli.js';
import { campaign, campaignCases } from '../support/campaign.js';
import { makeFastFolder } from '../support/fast-folder.js';
import { serveFile } from '../support/serve-http.js';

const OUTPUTS = ['json', 'ndjson', 'markdown', 'html', 'junit'];

const RUN = `run --verbose ${OUTPUTS.map((flag) => `--${flag} run.${flag}`).join(' ')}`;

/** The whole job and every look at it. */
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
  'verify --verbose',
  'verify --json -',
  'recheck --verbose',
  'recheck --json -',
  'explain accounting/invoices 1',
  'explain accounting/invoices 1 --json -',
  'lookup accounting/invoices 1 2 3 --json -',
  'dump --output dump.csv',
  'dump --format ndjson --output dump.ndjson',
  'dump --format sql --output dump.sql',
  'dump',
  'export v3 --company 12345 --verbose',
  'purge --payloads --yes',
  'backup copy.db --force',
];

/** Those that ask the service, and what shows the errors they left. */
const NETWORK = COMMANDS.filter((line) => /^(?:doctor|export|run|verify|recheck|status|report )/.test(line));

const LOOKS = COMMANDS.slice(COMMANDS.indexOf(RUN) + 1);

let sandbox: Sandbox;
/** What the service does with a request, beside echoing the key in its headers. */
let mood: 'well' | 'fails once' | 'refuses' | 'breaks' = 'well';
const asked = new Set<string>();
let folder = '';
let searched = 0;

const echo = serveFile((request, response) => {
  const key = String(request.headers['api_key']);
  const spoken = { 'x-request-id': key, 'x-echo': key, 'set-cookie': `k=${key}`, server: `s ${key}` };
  const told = JSON.stringify({
    error: { code: key, message: `The key ${key} …` },
    request_id: key,
    [key]: [key],
  });
  const isFirst = !asked.has(request.url ?? '');
  asked.add(request.url ?? '');
  const fail = (status: number) => response.writeHead(status, spoken).end(told);
  if (mood === 'refuses') return fail(401);
  if (mood === 'breaks') return response.writeHead(200, spoken).end(told);
  if (mood === 'fails once' && isFirst) return fail(500);
  fetch(sandbox.v4 + request.url, { headers: { api_key: key } })
    .then(async (answer) => {
      const text = (await answer.text()).replace(/"request_id":"[^"]*"/, `"request_id":"${key}"`);
      response.writeHead(answer.status, { ...spoken, 'content-type': 'application/json' }).end(text);
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

/** Places of a text, or of the files of the folder, in which the key stands. */
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
    const ended = await runCli(line.split(' '), { cwd: folder, env: keysOf(sandbox.apiKey) });
    expect(ended.code, `${line}: ${ended.stderr}`).toBeLessThan(7);
    const { stdout, stderr } = ended;
    expect(
      [...findKey('stdout', Buffer.from(stdout)), ...findKey('stderr', Buffer.from(stderr))],
      line,
    ).toEqual([]);
    expect(findInFiles(), line).toEqual([]);
  }
}

describe('a key that the service echoes in headers, request ids and errors stands in nothing printed or written', () => {
  it.each([
    [
      'while requests fail once and then succeed',
      'fails once',
      campaign({ small: [RUN, ...campaignCases(LOOKS, 4)], full: COMMANDS }),
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

  it('which this test would see', () => {
    writeFileSync(join(folder, 'leak'), `x ${Buffer.from(sandbox.apiKey).toString('base64')} y`);
    expect(findInFiles()).toEqual(['leak']);
  });
});

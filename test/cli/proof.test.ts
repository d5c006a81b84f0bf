import type { ChildProcess } from 'node:child_process';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { startSandbox } from '../../src/sandbox/start-sandbox.js';
import { alterDatabase } from '../support/seal.js';
import { serveHttp } from '../support/serve-http.js';
import { openProject } from './project.js';
import { type Ended, filesIn, keysOf, makeFolder, runCli } from './run-cli.js';
import { spawnCli } from './spawn-cli.js';

const INVOICES = 'accounting/invoices';

/** `done` holds both exports and two builds of the remap. */
const { sandbox, cwd: done } = await openProject({ seed: 5, scale: 150, companies: 2 });
const row = [...sandbox.truth()].find(
  (one) => one.model === INVOICES && one.path === '' && one.status === 'matched',
);
const id = row?.v3_svc_id ?? '';
beforeAll(async () => {
  for (const command of ['run', 'remap']) expect((await run(done, [command])).code).toBe(0);
});

function run(cwd: string, args: readonly string[], env = keysOf(sandbox.apiKey)): Promise<Ended> {
  return runCli([...args, '--quiet'], { cwd, env });
}

/** A folder with the finished database, changed by `sql`, and a changed configuration. */
function copyDone(sql: string | null = null, changes: object = {}): string {
  const cwd = makeFolder({ ...sandbox.config(), ...changes });
  copyFileSync(join(done, 'svc-migrate.db'), join(cwd, 'svc-migrate.db'));
  if (sql !== null) alterDatabase(join(cwd, 'svc-migrate.db'), sql);
  return cwd;
}

/** Nobody listens there. */
function deaf() {
  const config = sandbox.config();
  const v3 = { ...Object(config['v3']), regions: { default: { baseUrl: 'http://127.0.0.1:9/v3' } } };
  return { v3, v4: { baseUrl: 'http://127.0.0.1:9' }, http: { attempts: 1 } };
}

/** A database that was exported from there: only the addresses of its configuration differ. */
function exportedFromDeaf(): string {
  const { v3, v4, ...rest } = deaf();
  const sql = `UPDATE meta SET value = replace(replace(value, '${sandbox.v4}/v3', 'http://127.0.0.1:9/v3'), '${sandbox.v4}"', 'http://127.0.0.1:9"') WHERE key LIKE 'fingerprint%'`;
  return copyDone(sql, { v3, v4, ...rest });
}

const OTHER_MODELS = { models: [{ v3: INVOICES, v4: 'invoices' }] };

type Case = readonly [string, () => string, readonly string[], number];

const CASES: readonly Case[] = [
  ['explain: a matched id', () => done, ['explain', INVOICES, 'ID', '--json', '-'], 0],
  ['explain: another configuration', () => copyDone(null, OTHER_MODELS), ['explain', INVOICES, '1'], 6],
  ['verify: two ways to say how many', () => done, ['verify', '--all', '--sample', '5'], 2],
  ['recheck: nothing healed is an answer', () => copyDone(), ['recheck', '--json', '-'], 0],
  ['recheck: nobody answers', exportedFromDeaf, ['recheck', '--json', '-'], 4],
  ['export v4 --wait: settled', () => copyDone(), ['export', 'v4', '--wait', '--settle', '200ms'], 0],
  [
    'export v4 --wait: no time to settle',
    () => copyDone(),
    ['export', 'v4', '--wait', '--settle', '1h', '--wait-timeout', '50ms'],
    5,
  ],
  ['export v4 --wait: no duration', () => done, ['export', 'v4', '--wait', '--settle', 'long'], 2],
  ['export v4 --listen: no port', () => done, ['export', 'v4', '--wait', '--listen', 'here'], 2],
  ['export v4 --wait: nobody answers', exportedFromDeaf, ['export', 'v4', '--wait'], 4],
];

/** What happened and a hint; no stack. */
const PLAIN_ERROR = /^svc-migrate: \S.*\n( {2}\S.*\n)*$/;

describe('commands of proof end with the code of what they found', () => {
  it.each(CASES)('%s', async (_, folder, args, code) => {
    const words = args.map((word) => (word === 'ID' ? id : word));
    const ended = await run(folder(), words);
    expect({ code: ended.code, stderr: ended.stderr }).toMatchObject({ code });
    if (ended.stdout === '') expect(ended.stderr).toMatch(PLAIN_ERROR);
    if (!words.includes('--json') || ended.stdout === '') return;
    const result = JSON.parse(ended.stdout);
    if (args[0] === 'verify' || args[0] === 'recheck') expect(result.exitCode).toBe(code);
  });

  it('2 where the port for events is taken', async () => {
    const server = await serveHttp(() => {});
    const { port } = new URL(server.origin);
    const ended = await run(copyDone(), ['export', 'v4', '--wait', '--listen', port]);
    await server.close();
    expect([ended.code, ended.stdout]).toEqual([2, '']);
    expect(ended.stderr).toContain('Name a free port');
  });

  it('6 while a verify goes on, which is named and leaves nothing behind', async () => {
    const slow = await startSandbox({ seed: 5, scale: 150, companies: 1 });
    const cwd = makeFolder({
      ...slow.config(),
      v3: { ...Object(slow.config()['v3']), requestsPerSecond: 3 },
    });
    expect((await run(makeFolder(slow.config()), ['run', '--db', join(cwd, 'svc-migrate.db')])).code).toBe(0);
    let child: ChildProcess | undefined;
    const asked = slow.requests().length;
    const verifying = spawnCli(['verify', '--all'], {
      cwd,
      env: keysOf(slow.apiKey),
      onStart: (started) => {
        child = started;
      },
    });
    await vi.waitFor(() => expect(slow.requests().length).toBeGreaterThan(asked), 20_000);
    const refused = await runCli(['export', 'v4', '--quiet'], { cwd, env: keysOf(slow.apiKey) });
    child?.kill('SIGINT');
    const ended = await verifying;
    await slow.close();
    expect([refused.code, ended.code]).toEqual([6, 130]);
    expect(refused.stderr).toContain(`in use: svc-migrate verify (process ${child?.pid} on `);
    expect(filesIn(cwd)).toEqual(['svc-migrate.config.json', 'svc-migrate.db', 'svc-migrate.db-writer']);
  });

  it('and reading changes nothing', async () => {
    const before = readFileSync(join(done, 'svc-migrate.db'));
    for (const args of [['explain', INVOICES, id], ['verify', '--sample', '5'], ['report']]) {
      expect((await run(done, args)).code).toBe(0);
    }
    expect(readFileSync(join(done, 'svc-migrate.db')).equals(before)).toBe(true);
    expect(filesIn(done)).toEqual(['svc-migrate.config.json', 'svc-migrate.db', 'svc-migrate.db-writer']);
  });
});

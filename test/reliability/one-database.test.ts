import { type ChildProcess, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/start.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { type Ended, keysOf, runCli } from '../cli/spawn-cli.js';
import { campaignCases } from '../support/campaign.js';
import { makeFastFolder } from '../support/fast-folder.js';

const DB = 'svc-migrate.db';
const NOTE = `${DB}.lock`;
/** Everything that opens a database. */
const ALL_COMMANDS = [
  'export v3',
  'export v4',
  'remap',
  'run',
  'report',
  'check',
  'status',
  'verify',
  'recheck',
  'explain crm/stages 1',
  'lookup crm/stages 1',
  'dump',
  'purge --payloads',
  'backup copy.db --force',
];
const COMMANDS = campaignCases(ALL_COMMANDS, 4);

let sandbox: Sandbox;
let silent: Server;
let folder = '';

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 31, scale: 60, companies: 1 });
  silent = createServer(() => {});
  await new Promise<void>((done) => silent.listen(0, '127.0.0.1', done));
  folder = makeFastFolder();
  writeFileSync(join(folder, 'svc-migrate.config.json'), JSON.stringify(sandbox.config()));
  expect((await run('run --quiet')).code).toBe(0);
  copyFileSync(join(folder, DB), join(folder, 'good.db'));
});
afterAll(async () => {
  silent.closeAllConnections();
  silent.close();
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

function run(line: string, onStart: (child: ChildProcess) => void = () => {}): Promise<Ended> {
  return runCli(line.split(' '), { cwd: folder, env: keysOf(sandbox.apiKey), onStart });
}

function alter(...statements: readonly string[]): void {
  const db = new Sqlite(join(folder, DB));
  for (const statement of statements) db.exec(statement);
  db.close();
}

/** Every file that belongs to the database, with its bytes. */
function databaseBytes(): unknown {
  return readdirSync(folder)
    .filter((name) => name.startsWith(DB))
    .sort()
    .map((name) => [name, readFileSync(join(folder, name)).toString('base64')]);
}

describe('a database that is not to be touched', () => {
  const SPOILT: readonly (readonly [name: string, words: RegExp, spoil: () => void])[] = [
    ['of a newer version', /newer svc-migrate/, () => alter('PRAGMA user_version = 99')],
    ['of another program', /is not a svc-migrate database/, () => alter('PRAGMA application_id = 7')],
    ['that is text', /is not a svc-migrate database/, () => writeFileSync(join(folder, DB), 'dear diary')],
    ['that was cut', /is damaged/, () => truncateSync(join(folder, DB), 8192)],
  ];

  it.each(SPOILT)(
    '%s is refused by every command with 6 and left as it is, to the byte',
    async (_, words, spoil) => {
      for (const name of readdirSync(folder)) if (name.startsWith(DB)) rmSync(join(folder, name));
      copyFileSync(join(folder, 'good.db'), join(folder, DB));
      spoil();
      const before = databaseBytes();
      for (const line of COMMANDS) {
        const { code, stdout, stderr } = await run(`${line} --quiet`);
        expect([line, code, stdout, stderr]).toEqual([line, 6, '', expect.stringMatching(words)]);
        expect(databaseBytes(), line).toEqual(before);
      }
      process.stdout.write(`${COMMANDS.length} commands refused it\n`);
    },
  );
});

describe('a database in use', () => {
  it('is refused by every other command with 6, naming process, host and time; a killed owner is taken over', async () => {
    copyFileSync(join(folder, 'good.db'), join(folder, DB));
    const origin = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const config = { ...sandbox.config(), v3: { regions: { default: { baseUrl: origin } } } };
    writeFileSync(join(folder, 'silent.json'), JSON.stringify({ ...config, database: DB }));
    const refused: Ended[] = [];
    let owner = 0;
    let work: Promise<void> = Promise.resolve();
    // A new database: its owner waits for a service that never answers.
    rmSync(join(folder, DB));
    const killed = await run('export v3 --quiet --config silent.json', (child) => {
      owner = child.pid ?? 0;
      silent.once('request', () => {
        work = (async () => {
          for (const line of COMMANDS) refused.push(await run(line));
          child.kill('SIGKILL');
        })();
      });
    });
    await work;
    expect(killed.code).toBe(137);
    expect(refused.map(({ code }) => code)).toEqual(COMMANDS.map(() => 6));
    for (const { stderr } of refused) {
      expect(stderr).toContain(
        `is in use: svc-migrate export v3 (process ${owner} on ${hostname()}) since 20`,
      );
    }
    expect(existsSync(join(folder, NOTE))).toBe(true);
    expect((await run('run --quiet')).code).toBe(0);
    expect(existsSync(join(folder, NOTE))).toBe(false);
  });

  it('is not confused by a note that a killed process left, whoever has its number now', async () => {
    const notes = [
      JSON.stringify({
        pid: process.pid,
        host: hostname(),
        since: '2026-01-01T00:00:00Z',
        command: 'export v3',
      }),
      JSON.stringify({
        pid: spawnSync('true').pid,
        host: 'elsewhere',
        since: '2026-01-01T00:00:00Z',
        command: 'x',
      }),
      'no JSON',
      '',
    ];
    for (const note of notes) {
      writeFileSync(join(folder, NOTE), note);
      expect((await run('remap --quiet')).code).toBe(0);
      expect(existsSync(join(folder, NOTE))).toBe(false);
    }
  });
});

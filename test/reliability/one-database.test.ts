import { type ChildProcess, spawnSync } from 'node:child_process';
import { EventEmitter } from 'node:events';
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Sqlite } from '../../src/store/sqlite.js';
import { openProject } from '../cli/project.js';
import { type Ended, runCli } from '../cli/run-cli.js';
import { spawnCli } from '../cli/spawn-cli.js';
import { campaign, campaignCases } from '../support/campaign.js';
import { serveFile } from '../support/serve-http.js';

const DB = 'svc-migrate.db';
const NOTE = `${DB}.lock`;
const WRITERS = ['export v3', 'export v4', 'remap', 'run', 'recheck', 'purge --payloads --yes'];
/** What reads, with its exit codes beside an export that has begun: the last remap answers, and judges nothing. */
const READERS: readonly (readonly [line: string, code: number])[] = [
  ['report', 0],
  ['findings', 0],
  ['status', 0],
  ['explain crm/stages 1', 0],
  ['lookup crm/stages 1', 0],
  ['lookup crm/stages 1 --allow-incomplete', 0],
  ['backup copy.db --force', 0],
  ['check', 4],
  ['verify', 4],
  ['dump', 0],
  ['dump --allow-incomplete', 0],
];
/** Everything that opens a database. */
const COMMANDS = campaignCases([...WRITERS, ...READERS.map(([line]) => line)], 4);

/** Emits `passed` for each request that arrives. */
const passing = new EventEmitter();
let isOpen = true;
/** Stands before the sandbox; while it is closed, requests wait for ever. */
const gate = serveFile((incoming, outgoing) => {
  passing.emit('passed');
  if (!isOpen) return;
  const { method, headers, url } = incoming;
  const forwarded = request(new URL(url ?? '', sandbox.v4), { method, headers }, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(outgoing);
  });
  incoming.pipe(forwarded);
});
const options = { seed: 31, scale: 60, companies: 1 } as const;
const { sandbox, at, cwd: folder } = await openProject(options);

beforeAll(async () => {
  const config = JSON.stringify(sandbox.config()).replaceAll(sandbox.v4, gate.origin);
  writeFileSync(join(folder, 'svc-migrate.config.json'), config);
  expect((await run('run --quiet')).code).toBe(0);
  copyFileSync(join(folder, DB), join(folder, 'good.db'));
});

function restore(): void {
  for (const name of readdirSync(folder)) if (name.startsWith(DB)) rmSync(join(folder, name));
  copyFileSync(join(folder, 'good.db'), join(folder, DB));
}

function run(line: string): Promise<Ended> {
  return runCli(line.split(' '), at);
}

function start(line: string, onStart: (child: ChildProcess) => void): Promise<Ended> {
  return spawnCli(line.split(' '), { ...at, onStart });
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
      restore();
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

describe('a database that a command writes', () => {
  it('is read by others, refused to other writers with 6, naming process, host and time; a killed owner is taken over', async () => {
    restore();
    const ended: [line: string, ended: Ended][] = [];
    let owner = 0;
    let work: Promise<void> = Promise.resolve();
    isOpen = false;
    const killed = await start('export v3 --quiet', (child) => {
      owner = child.pid ?? 0;
      passing.once('passed', () => {
        work = (async () => {
          for (const line of [...WRITERS, ...READERS.map(([line]) => line)])
            ended.push([line, await run(line)]);
          child.kill('SIGKILL');
        })();
      });
    });
    await work;
    isOpen = true;
    expect(killed.code).toBe(137);
    const codes = [...WRITERS.map((line) => [line, 6] as const), ...READERS];
    expect(ended.map(([line, { code }]) => [line, code])).toEqual(codes);
    for (const [, { stderr }] of ended.slice(0, WRITERS.length)) {
      expect(stderr).toContain(
        `is in use: svc-migrate export v3 (process ${owner} on ${hostname()}) since 20`,
      );
    }
    const told = (line: string) => ended.find(([other]) => other === line)?.[1];
    expect(told('status')?.stdout).toContain(`In use: svc-migrate export v3 (process ${owner} on`);
    for (const line of ['lookup crm/stages 1', 'dump']) {
      expect(told(line)?.stderr).toContain('The remap is older than the exported data.');
    }
    expect((await run('report --db copy.db')).code).toBe(0);
    expect(existsSync(join(folder, NOTE))).toBe(true);
    expect((await run('run --quiet')).code).toBe(0);
    expect(existsSync(join(folder, NOTE))).toBe(false);
  });

  const KILLS = campaign({ small: [2, 'remap'], full: [1, 2, 3, 5, 8, 13, 21, 'remap', 'remap', 'remap'] });

  it('is read without an error while its writer is killed, and afterwards', async () => {
    restore();
    const truth = (await run('report --json -')).stdout;
    const counts = (text: string): unknown => (JSON.parse(text) as { totals: unknown }).totals;
    let reads = 0;
    for (const moment of KILLS) {
      restore();
      let isAlive = true;
      const line = moment === 'remap' ? 'remap --quiet' : 'run --restart --quiet';
      const writer = start(line, (child) => {
        const strike = () => child.kill('SIGKILL');
        let left = Number(moment);
        const countDown = () => {
          left -= 1;
          if (left > 0) return;
          passing.off('passed', countDown);
          strike();
        };
        if (moment !== 'remap') passing.on('passed', countDown);
        else setTimeout(strike, 250 + 100 * (reads % 5));
      }).then((ended) => {
        isAlive = false;
        return ended;
      });
      for (let extra = 0; extra < 2; extra += isAlive ? 0 : 1) {
        const status = await run('status');
        const { code, stdout, stderr } = await run('report --json -');
        expect([status.code, status.stderr, code, stderr.includes('damaged')]).toEqual([0, '', 0, false]);
        if (moment === 'remap') expect(counts(stdout)).toEqual(counts(truth));
        reads += 2;
      }
      await writer;
      expect((await run('run --quiet')).code).toBe(0);
      expect(counts((await run('report --json -')).stdout)).toEqual(counts(truth));
    }
    process.stdout.write(`${reads} reads beside ${KILLS.length} writers that were killed\n`);
  });
});

describe('a note beside a database', () => {
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

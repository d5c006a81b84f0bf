import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { copyFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { Sqlite } from '../../src/store/sqlite.js';
import { campaignCases, campaignSize } from '../support/campaign.js';
import { openProject } from '../support/project.js';
import { type Ended, runCli } from '../support/run-cli.js';
import { forward, serveFile } from '../support/serve-http.js';
import { spawnCli } from '../support/spawn-cli.js';

const DB = 'svc-migrate.db';
const WRITERS = ['export v3', 'export v4', 'remap', 'run'];
/** Commands that read, with their exit codes beside an export that has begun: the last remap answers, and judges nothing. */
const READERS: readonly (readonly [line: string, code: number])[] = [
  ['report', 0],
  ['findings', 0],
  ['status', 0],
  ['explain crm/stages 1', 0],
  ['lookup crm/stages 1', 0],
  ['check', 4],
];
const COMMANDS = [...WRITERS, ...READERS.map(([line]) => line), 'dump', 'verify'];

/** Emits `passed` for each request that arrives. */
const passing = new EventEmitter();
let isOpen = true;
/** Stands before the sandbox; while it is closed, requests wait for ever. */
const gate = serveFile((incoming, outgoing) => {
  passing.emit('passed');
  if (isOpen) forward(sandbox.v4, incoming, outgoing);
});
const { sandbox, at, cwd: folder } = await openProject({ seed: 31, scale: 60, companies: 1 });

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

function alter(statement: string): void {
  const db = new Sqlite(join(folder, DB));
  db.exec(statement);
  db.close();
}

/** Every file that belongs to the database, with its bytes. */
function databaseBytes(): unknown {
  return readdirSync(folder)
    .filter((name) => name.startsWith(DB) && !name.endsWith('-writer'))
    .sort()
    .map((name) => [name, readFileSync(join(folder, name)).toString('base64')]);
}

describe('a database', () => {
  const SPOILT: readonly (readonly [name: string, spoil: () => void])[] = [
    ['of a newer version', () => alter('pragma user_version = 99')],
    ['of another program', () => alter('pragma application_id = 7')],
    ['that is text', () => writeFileSync(join(folder, DB), 'dear diary')],
    ['that was cut', () => truncateSync(join(folder, DB), 8192)],
  ];

  it.each(SPOILT)(
    '%s is refused by every command with 6 and left as it is, to the byte',
    async (_, spoil) => {
      restore();
      spoil();
      const before = databaseBytes();
      for (const line of campaignCases(COMMANDS, 3)) {
        const { code, stdout, stderr } = await run(`${line} --quiet`);
        expect([line, code, stdout, stderr]).toEqual([line, 6, '', expect.stringContaining('svc-migrate: ')]);
        expect(databaseBytes(), line).toEqual(before);
      }
    },
  );

  it('that is being written is read by others, refused to other writers with 6, and taken over from a killed owner', async () => {
    restore();
    const ended: [line: string, code: number][] = [];
    let work: Promise<void> = Promise.resolve();
    isOpen = false;
    const killed = await spawnCli(['export', 'v3', '--quiet'], {
      ...at,
      onStart: (child) => {
        passing.once('passed', () => {
          work = (async () => {
            for (const line of [...WRITERS, ...READERS.map(([reader]) => reader)])
              ended.push([line, (await run(line)).code]);
            child.kill('SIGKILL');
          })();
        });
      },
    });
    await work;
    isOpen = true;
    expect(killed.code).toBe(137);
    expect(ended).toEqual([...WRITERS.map((line) => [line, 6]), ...READERS]);
    expect((await run('run --quiet')).code).toBe(0);
  });

  const KILLS = campaignSize({ small: [2, 'remap'], full: [1, 2, 3, 5, 8, 13, 'remap', 'remap', 'remap'] });

  it('is read without an error while its writer is killed, and afterwards', async () => {
    restore();
    const totals = (text: string): unknown => (JSON.parse(text) as { totals: unknown }).totals;
    const truth = totals((await run('report --json -')).stdout);
    let reads = 0;
    for (const moment of KILLS) {
      restore();
      let isAlive = true;
      const line = moment === 'remap' ? 'remap --quiet' : 'run --restart --quiet';
      const writer = spawnCli(line.split(' '), {
        ...at,
        onStart: (child) => killLater(child, moment),
      }).then(() => {
        isAlive = false;
      });
      for (let extra = 0; extra < 2; extra += isAlive ? 0 : 1) {
        const status = await run('status');
        const report = await run('report --json -');
        expect([status.code, report.code]).toEqual([0, 0]);
        if (moment === 'remap') expect(totals(report.stdout)).toEqual(truth);
        reads += 2;
      }
      await writer;
      expect((await run('run --quiet')).code).toBe(0);
      expect(totals((await run('report --json -')).stdout)).toEqual(truth);
    }
    process.stdout.write(`${reads} reads beside ${KILLS.length} writers that were killed\n`);
  });
});

/** Kills a process at its request with a number, or some time after it began a remap. */
function killLater(child: ChildProcess, moment: string | number): void {
  if (typeof moment === 'string') {
    setTimeout(() => child.kill('SIGKILL'), 300);
    return;
  }
  let requests = 0;
  const count = () => {
    requests += 1;
    if (requests < moment) return;
    passing.off('passed', count);
    child.kill('SIGKILL');
  };
  passing.on('passed', count);
}

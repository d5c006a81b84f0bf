import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/start.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { type Ended, filesIn, keysOf, runCli } from '../cli/spawn-cli.js';
import { makeFastFolder } from '../support/fast-folder.js';
import { multiplyRecords } from '../support/large-database.js';

/** A signal ends everything within two seconds; machines that run tests may be this much slower. */
const SLOWER = 5;
const WITHIN_MS = 2000 * SLOWER;
const COPIES = 800;
const NOTE = 'svc-migrate.db.lock';

let sandbox: Sandbox;
let folder = '';
let before = '';
const waits: number[] = [];

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 31, scale: 100, companies: 1 });
  folder = makeFastFolder();
  writeFileSync(join(folder, 'svc-migrate.config.json'), JSON.stringify(sandbox.config()));
  expect((await run(['run', '--quiet'])).code).toBe(0);
  multiplyRecords(folder, COPIES);
  expect((await run(['remap', '--quiet'])).code).toBe(0);
  before = digest();
});
afterAll(async () => {
  process.stdout.write(
    `${waits.length} signals in long work were answered, the slowest after ${Math.round(Math.max(...waits))} ms\n`,
  );
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

function run(
  args: readonly string[],
  onStart?: (kill: (signal: NodeJS.Signals) => void) => void,
): Promise<Ended> {
  return runCli(args, {
    cwd: folder,
    env: keysOf(sandbox.apiKey),
    onStart: (child) => onStart?.((signal) => child.kill(signal)),
  });
}

/** The remap that is there, and whether the file is sound. */
function digest(): string {
  const db = new Sqlite(join(folder, 'svc-migrate.db'));
  const last = db.prepare('SELECT id, sha256 FROM remap_run ORDER BY id DESC LIMIT 1').get();
  const sound = db.pragma('quick_check', { simple: true });
  db.close();
  return JSON.stringify([last, sound]);
}

/** How long a command takes that nobody disturbs, ms. */
async function timeOf(args: readonly string[]): Promise<number> {
  const startedMs = performance.now();
  expect([0, 1]).toContain((await run(args)).code);
  return performance.now() - startedMs;
}

const SIGNALS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const;

describe('a signal in the middle of long work', () => {
  it.each([
    ['remap'],
    ['report', '--ndjson', 'findings.ndjson', '--html', 'report.html'],
    ['check', '--json', 'report.json'],
    ['dump', '--output', 'remap.csv'],
    ['verify', '--sample', '1'],
    ['recheck'],
  ])('ends %s at whatever moment it comes, and what was there stays', async (...args) => {
    const files = filesIn(folder).filter((name) => name !== NOTE);
    const lastsMs = await timeOf(args);
    for (const file of filesIn(folder).filter((name) => !files.includes(name))) rmSync(join(folder, file));
    before = digest();
    for (const [at, share] of [0.35, 0.65].entries()) {
      const [signal, code] = SIGNALS[at % 2] ?? SIGNALS[0];
      let sentMs = 0;
      const ended = await run(args, (kill) => {
        setTimeout(() => {
          sentMs = performance.now();
          kill(signal);
        }, lastsMs * share);
      });
      // On a machine that has become much faster it may have ended before.
      if (sentMs === 0) continue;
      const waitedMs = performance.now() - sentMs;
      waits.push(waitedMs);
      expect([ended.code, waitedMs < WITHIN_MS]).toEqual([code, true]);
      // While verify holds the remap against the export nobody listens: the signal itself ends it.
      if (args[0] === 'verify' && at === 0) expect(ended.stderr).not.toContain('Stopping');
      expect(ended.stderr).not.toMatch(/\n\s+at |this is a bug/);
      expect(ended.stdout).toBe('');
      // A recheck reads lists again, so that it may have built another remap before.
      expect(args[0] === 'recheck' ? digest().endsWith('"ok"]') : digest()).toBe(
        args[0] === 'recheck' ? true : before,
      );
      if (args[0] === 'remap' && waitedMs < 1000) expect(filesIn(folder)).not.toContain(NOTE);
      // A note of a process that is gone counts for nothing.
      expect(filesIn(folder).filter((name) => name !== NOTE)).toEqual(files);
    }
  });

  it('ends a purge that cannot be heard, at once, and the database is sound', async () => {
    before = digest();
    const lastsMs = await timeOf(['purge', '--payloads']);
    const ended = await run(['purge', '--payloads'], (kill) =>
      setTimeout(() => kill('SIGTERM'), lastsMs * 0.6),
    );
    expect([0, 143]).toContain(ended.code);
    expect(digest()).toBe(before);
  });
});

describe('a second signal', () => {
  it('ends a remap with its own code, before the first has', async () => {
    const lastsMs = await timeOf(['remap']);
    const ended = await run(['remap'], (kill) => {
      setTimeout(() => {
        kill('SIGINT');
        setTimeout(() => kill('SIGTERM'), 20);
      }, lastsMs / 3);
    });
    // 130 where the first had done it all within those milliseconds.
    expect([143, 130]).toContain(ended.code);
  });
});

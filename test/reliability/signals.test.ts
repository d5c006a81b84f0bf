import { rmSync, statSync, writeFileSync } from 'node:fs';
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
/** A signal is not sent once more before this, ms: a process has hardly begun. */
const SOONEST_MS = 200;
/** From the end of its work to its own end a process takes no longer, ms: seen were 60. */
const ENDING_MS = 60 * SLOWER;
/** A moment that was too late, times this, is tried next. */
const SOONER = 0.7;
/** Between two signals, ms. */
const APART_MS = 20;
const NOTE = 'svc-migrate.db.lock';

let sandbox: Sandbox;
let folder = '';
let before = '';
let files: readonly string[] = [];
const waits: number[] = [];

beforeAll(async () => {
  sandbox = await startSandbox({ seed: 31, scale: 100, companies: 1 });
  folder = makeFastFolder();
  writeFileSync(join(folder, 'svc-migrate.config.json'), JSON.stringify(sandbox.config()));
  expect((await run(['run', '--quiet'])).code).toBe(0);
  multiplyRecords(folder, COPIES);
  expect((await run(['remap', '--quiet'])).code).toBe(0);
  before = digest();
  files = filesIn(folder).filter((name) => name !== NOTE);
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

/** What a command does that nobody disturbs. */
interface Calm {
  readonly lastsMs: number;
  readonly code: number;
  /** The files it leaves, with their sizes. */
  readonly left: readonly string[];
}

async function undisturbed(args: readonly string[]): Promise<Calm> {
  const startedMs = performance.now();
  const { code } = await run(args);
  const lastsMs = performance.now() - startedMs;
  expect([0, 1]).toContain(code);
  const left = leftFiles().map(sized);
  putBack();
  return { lastsMs, code, left };
}

const leftFiles = () => filesIn(folder).filter((name) => name !== NOTE && !files.includes(name));
const sized = (name: string) => `${name} ${statSync(join(folder, name)).size}`;

/** Whether all had been done before the signal, which may still count for the exit code. */
function hadEnded({ code, left }: Calm, ended: Ended): boolean {
  const leftAll = left.length > 0 && leftFiles().map(sized).join() === left.join();
  return ended.code === code || ended.stdout !== '' || leftAll;
}

/**
 * Sends a signal after so long, and each further one a little later. A machine can become faster between two runs:
 * where the command had ended by then, once more, and sooner.
 */
async function signalled(
  args: readonly string[],
  how: { readonly signals: readonly NodeJS.Signals[]; readonly afterMs: number; readonly calm: Calm },
): Promise<{ readonly ended: Ended; readonly waitedMs: number }> {
  const { signals, afterMs, calm } = how;
  let sentMs = Number.NaN;
  const ended = await run(args, (kill) => {
    setTimeout(() => {
      sentMs = performance.now();
      for (const [at, signal] of signals.entries()) setTimeout(() => kill(signal), at * APART_MS);
    }, afterMs);
  });
  const waitedMs = performance.now() - sentMs;
  const soonerMs = afterMs * SOONER;
  // what goes on for longer has outlived the signal
  if (waitedMs > ENDING_MS || soonerMs < SOONEST_MS || !hadEnded(calm, ended)) return { ended, waitedMs };
  putBack();
  return signalled(args, { ...how, afterMs: soonerMs });
}

/** Takes away what a command wrote that was not stopped, and takes the remap it left for the one that was there. */
function putBack(): void {
  for (const file of leftFiles()) rmSync(join(folder, file));
  before = digest();
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
    const calm = await undisturbed(args);
    const told: boolean[] = [];
    for (const [at, share] of [0.35, 0.65].entries()) {
      const [signal, code] = SIGNALS[at % 2] ?? SIGNALS[0];
      const { ended, waitedMs } = await signalled(args, {
        signals: [signal],
        afterMs: calm.lastsMs * share,
        calm,
      });
      waits.push(waitedMs);
      expect([ended.code, waitedMs < WITHIN_MS]).toEqual([code, true]);
      told.push(ended.stderr.includes('Stopping'));
      expect(ended.stderr).not.toMatch(/\n\s+at |this is a bug/);
      expect(ended.stdout).toBe('');
      // A recheck reads lists again, so that it may have built another remap before.
      expect(args[0] === 'recheck' ? digest().endsWith('"ok"]') : digest()).toBe(
        args[0] === 'recheck' ? true : before,
      );
      if (args[0] === 'remap' && waitedMs < 1000) expect(filesIn(folder)).not.toContain(NOTE);
      // A note of a process that is gone counts for nothing.
      expect(leftFiles()).toEqual([]);
    }
    // While verify holds the remap against the export nobody listens, most of its time: the signal itself ends it.
    if (args[0] === 'verify') expect(told).toContain(false);
  });

  it('ends a purge that cannot be heard, at once, and the database is sound', async () => {
    before = digest();
    const { lastsMs } = await undisturbed(['purge', '--payloads']);
    const ended = await run(['purge', '--payloads'], (kill) =>
      setTimeout(() => kill('SIGTERM'), lastsMs * 0.6),
    );
    expect([0, 143]).toContain(ended.code);
    expect(digest()).toBe(before);
  });
});

describe('a second signal', () => {
  it('ends a remap with its own code, before the first has', async () => {
    const calm = await undisturbed(['remap']);
    const { ended } = await signalled(['remap'], {
      signals: ['SIGINT', 'SIGTERM'],
      afterMs: calm.lastsMs / 3,
      calm,
    });
    // 130 where the first had done it all within those milliseconds.
    expect([143, 130]).toContain(ended.code);
  });
});

import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Sqlite } from '../../src/store/sqlite.js';
import { openProject } from '../cli/project.js';
import { type Ended, filesIn, runCli } from '../cli/run-cli.js';
import { type SpawnOptions, spawnCli } from '../cli/spawn-cli.js';
import { campaign, campaignCases } from '../support/campaign.js';
import { makeFastFolder } from '../support/fast-folder.js';
import { multiplyRecords } from '../support/large-database.js';

/** A signal ends everything within two seconds; machines that run tests may be this much slower. */
const SLOWER = 5;
const WITHIN_MS = 2000 * SLOWER;
/** Copies of each record: long statements take longer with more. */
const COPIES = campaign({ small: 40, full: 200, soak: 800 });
const NOTE = 'svc-migrate.db.lock';
const PRELOAD = new URL('../support/signal-point.mjs', import.meta.url);

type Signal = 'SIGINT' | 'SIGTERM';
type Thread = 'main' | 'worker';

/** The step of a thread at which the process gets a signal; `hangs`: it goes no further by itself. */
interface Point {
  readonly thread: Thread;
  readonly step: number;
  readonly signal: Signal;
  readonly hangs?: boolean;
}

const { at, cwd: folder } = await openProject({ seed: 31, scale: 100, companies: 1 });
/** Where the preloaded script says what it saw. */
const seen = makeFastFolder();
let before = '';
let files: readonly string[] = [];
const waits: number[] = [];

beforeAll(async () => {
  expect((await prepare('run')).code).toBe(0);
  multiplyRecords(folder, COPIES);
  expect((await prepare('remap')).code).toBe(0);
  before = digest();
  files = filesIn(folder).filter((name) => name !== NOTE);
});
afterAll(() => {
  const slowest = Math.round(Math.max(...waits));
  process.stdout.write(
    `${waits.length} signals, ${COPIES} copies of each record: the slowest was answered after ${slowest} ms\n`,
  );
  rmSync(seen, { recursive: true, force: true });
});

/** Runs a command in this process. */
function prepare(command: string): Promise<Ended> {
  return runCli([command, '--quiet'], at);
}

function run(args: readonly string[], more: Partial<SpawnOptions> = {}): Promise<Ended> {
  return spawnCli(args, { ...at, ...more, env: { ...at.env, ...more.env } });
}

/** Runs a command that is sent a signal at a point of its work, or at none. */
async function runWith(point: Point | null, args: readonly string[], more: Partial<SpawnOptions> = {}) {
  rmSync(seen, { recursive: true });
  mkdirSync(seen);
  const env = {
    NODE_OPTIONS: `--import ${PRELOAD.href}`,
    SIGNAL_POINT: JSON.stringify({ folder: seen, at: point }),
  };
  const ended = await run(args, { ...more, env });
  return { ...ended, endedMs: Date.now() };
}

interface Measured {
  readonly thread: Thread;
  readonly steps: number;
}

const MEASURED = new Map<string, Measured>();

/** The thread in which an undisturbed command takes most steps, and how many. */
async function measure(args: readonly string[]): Promise<Measured> {
  const known = MEASURED.get(args.join(' '));
  if (known !== undefined) return known;
  expect([0, 1]).toContain((await runWith(null, args)).code);
  const threads = (['main', 'worker'] as const).map((thread) => ({ thread, steps: readSteps(thread) }));
  for (const file of leftFiles()) rmSync(join(folder, file));
  before = digest();
  const most = threads.reduce((most, one) => (one.steps > most.steps ? one : most));
  MEASURED.set(args.join(' '), most);
  return most;
}

function readSteps(thread: Thread): number {
  const name = `steps-${thread}`;
  return readdirSync(seen).includes(name) ? Number(readFileSync(join(seen, name), 'utf8')) : 0;
}

/** The remap that is there, and whether the file is sound. */
function digest(): string {
  const db = new Sqlite(join(folder, 'svc-migrate.db'));
  const last = db.prepare('SELECT id, sha256 FROM remap_run ORDER BY id DESC LIMIT 1').get();
  const sound = db.pragma('quick_check', { simple: true });
  db.close();
  return JSON.stringify([last, sound]);
}

const leftFiles = () => filesIn(folder).filter((name) => name !== NOTE && !files.includes(name));

/** Its first steps open the database: handlers run there whatever the command. */
const FIRST_STEP = 3;
const MOMENTS = [
  { share: 0, signal: 'SIGINT', code: 130 },
  { share: 0.35, signal: 'SIGINT', code: 130 },
  { share: 0.65, signal: 'SIGTERM', code: 143 },
] as const;
const STRUCK = campaignCases(MOMENTS, 2);

describe('a signal in the middle of long work', () => {
  const commands = [
    ['remap'],
    ['report', '--ndjson', 'findings.ndjson', '--html', 'report.html'],
    ['check', '--json', 'report.json'],
    ['dump', '--output', 'remap.csv'],
    ['backup', 'copy.db'],
    ['verify', '--sample', '1'],
    ['recheck'],
  ];
  it.each(campaignCases(commands, 3))(
    'ends %s at whatever moment it comes, and what was there stays',
    async (...args) => {
      const { thread, steps } = await measure(args);
      const told: boolean[] = [];
      for (const { share, signal, code } of STRUCK) {
        const point = { thread, step: Math.max(FIRST_STEP, Math.ceil(steps * share)), signal };
        const ended = await runWith(point, args);
        const waitedMs = ended.endedMs - Number(readFileSync(join(seen, 'signalled'), 'utf8'));
        waits.push(waitedMs);
        expect([ended.code, waitedMs < WITHIN_MS]).toEqual([code, true]);
        expect(ended.stderr).not.toMatch(/\n\s+at |this is a bug/);
        expect(ended.stdout).toBe('');
        // A recheck reads lists again, so that it may have built another remap before.
        if (args[0] === 'recheck') expect(digest()).toMatch(/"ok"\]$/);
        else expect(digest()).toBe(before);
        if (args[0] === 'remap' && waitedMs < 1000) expect(filesIn(folder)).not.toContain(NOTE);
        // An interrupted check says so in the report that it was to write.
        if (args[0] === 'check') {
          const report = join(folder, 'report.json');
          expect(JSON.parse(readFileSync(report, 'utf8'))).toMatchObject({
            outcome: 'error',
            exitCode: code,
          });
          rmSync(report);
        }
        // A note of a process that is gone counts for nothing.
        expect(leftFiles()).toEqual([]);
        told.push(ended.stderr.includes('Stopping'));
      }
      // While verify holds the remap against the export no handler runs: the signal itself ends the process.
      if (args[0] === 'verify') expect(told).toContain(false);
    },
  );

  it('ends a purge that cannot be heard, at once, and the database is sound', async () => {
    const { thread, steps } = await measure(['purge', '--payloads', '--yes']);
    const point = { thread, step: steps, signal: 'SIGTERM' } as const;
    expect((await runWith(point, ['purge', '--payloads', '--yes'])).code).toBe(143);
    expect(digest()).toBe(before);
  });
});

describe('a second signal', () => {
  it('ends a remap with its own code, before the first has', async () => {
    // It takes fewer steps since the payloads were purged.
    MEASURED.clear();
    const { thread, steps } = await measure(['remap']);
    const point = { thread, step: Math.ceil(steps / 3), signal: 'SIGINT', hangs: true } as const;
    const ended = await runWith(point, ['remap'], {
      onStart: (child) => child.stderr?.once('data', () => child.kill('SIGTERM')),
    });
    expect([ended.code, ended.stderr]).toEqual([143, expect.stringContaining('Stopping')]);
    expect(digest()).toBe(before);
  });
});

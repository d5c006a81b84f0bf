import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/start-sandbox.js';
import { openDatabase } from '../../src/store/open.js';
import { type Ended, keysOf, makeFolder, runCli } from '../cli/run-cli.js';
import { sandboxStarter } from '../sandbox/sandboxes.js';
import { campaignCases } from '../support/campaign.js';
import { compareWithTruth } from '../support/compare-truth.js';
import { freePort } from '../support/free-port.js';
import { doWholeJob } from '../support/whole-job.js';

const openSandbox = sandboxStarter();

/** Differences of the remap in a folder from the truth of the service. */
function differencesIn(cwd: string, sandbox: Sandbox): readonly string[] {
  const db = openDatabase(join(cwd, 'svc-migrate.db'), 'read');
  try {
    return compareWithTruth(db, sandbox.truth()).differences;
  } finally {
    db.close();
  }
}

describe('company ids that were swapped', () => {
  it('pair by what they hold, never by their number', async () => {
    let swapped = 0;
    const seeds = campaignCases([11, 12], 1);
    for (const seed of seeds) {
      const sandbox = await openSandbox({ seed, scale: 300, idsSurvive: false });
      const job = await doWholeJob(sandbox);
      const { differences } = compareWithTruth(job.db, sandbox.truth());
      const pairs = job.db.prepare(
        "SELECT count(*) FROM company WHERE v3_company_id <> v4_company_id AND matched_by = 'overlap'",
      );
      swapped += Number(pairs.pluck().get());
      job.close();
      expect(differences).toEqual([]);
    }
    expect(swapped).toBeGreaterThan(2 * seeds.length);
  });
});

describe('a backfill that goes on', () => {
  /** Whether somebody listens there. */
  async function isHeard(port: number): Promise<boolean> {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    return isOpen;
  }

  /** A service whose time stands still until `start`: the backfill and its events wait for a listener. */
  function heldTime(): Required<Pick<SandboxOptions, 'clock' | 'schedule'>> & { start(): void } {
    const held: (() => void)[] = [];
    const timers: NodeJS.Timeout[] = [];
    const bornMs = Date.now();
    let startedMs: number | null = null;
    return {
      clock: () => bornMs + (startedMs === null ? 0 : Date.now() - startedMs),
      schedule: (delayMs, work) => {
        held.push(() => timers.push(setTimeout(work, delayMs)));
        return () => timers.forEach(clearTimeout);
      },
      start: () => {
        startedMs = Date.now();
        for (const begin of held) begin();
      },
    };
  }

  it('is waited for, with events, and is then as the truth has it', async () => {
    const port = await freePort();
    const { start, ...time } = heldTime();
    const sandbox = await openSandbox({
      ...time,
      seed: 4,
      scale: 300,
      backfillSeconds: 1,
      eventsUrl: `http://127.0.0.1:${port}/`,
    });
    const cwd = makeFolder(sandbox.config());
    // Long enough for the event of the end to arrive, however slow its delivery: counts alone settle it, too.
    const args = ['run', '--wait', '--settle', '4s', '--wait-timeout', '1m', '--listen', String(port)];
    const running = runCli(args, { cwd, env: keysOf(sandbox.apiKey) });
    while (!(await isHeard(port))) await sleep(20);
    start();
    const ended = await running;
    expect([ended.code, differencesIn(cwd, sandbox)]).toEqual([0, []]);
    expect(ended.stderr).toContain('The backfill has settled');
    const report = await runCli(['report', '--json', '-'], { cwd, env: keysOf(sandbox.apiKey) });
    const { fullSync } = JSON.parse(report.stdout) as { fullSync: unknown[] };
    expect(fullSync.length).toBeGreaterThan(5);
    expect(sandbox.events().some(({ type, status }) => type === 'SYNC_COMPLETED' && status === 204)).toBe(
      true,
    );
  });

  it('turns red while data are missing, heals by recheck, and is green then', async () => {
    let nowMs = 0;
    const sandbox = await openSandbox({ seed: 2, scale: 300, backfillSeconds: 100, clock: () => nowMs });
    nowMs = 96_000;
    const cwd = makeFolder(sandbox.config());
    const run = (...args: readonly string[]): Promise<Ended> =>
      runCli([...args, '--quiet'], { cwd, env: keysOf(sandbox.apiKey) });
    expect((await run('run')).code).toBe(1);
    const stays = await run('recheck', '--json', '-');
    expect([stays.code, JSON.parse(stays.stdout).healed]).toEqual([0, []]);
    expect((await run('check')).code).toBe(1);
    nowMs = 100_000;
    const heals = await run('recheck', '--json', '-');
    expect(heals.code).toBe(0);
    expect(JSON.parse(heals.stdout).healed.length).toBeGreaterThan(5);
    expect((await run('check')).code).toBe(0);
  });
});

describe('ghosts', () => {
  it('are mapped to nothing, and every report says that it cannot tell them', async () => {
    const sandbox = await openSandbox({ seed: 6, scenario: 'ugly', scale: 300 });
    const cwd = makeFolder(sandbox.config());
    const ended = await runCli(['run', '--quiet', '--json', '-'], { cwd, env: keysOf(sandbox.apiKey) });
    const report = JSON.parse(ended.stdout);
    expect([ended.code, report.outcome]).toEqual([1, 'fail']);
    expect(report.totals.byReason['unmatched/unexplained']).toBeGreaterThan(0);
    expect(report.cannotSee.map(({ code }: { code: string }) => code)).toContain('ghosts');
    expect(differencesIn(cwd, sandbox)).toEqual([]);
  });
});

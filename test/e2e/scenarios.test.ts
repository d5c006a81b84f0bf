import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Sandbox } from '../../src/sandbox/start-sandbox.js';
import { readCells, readRemapRows } from '../contract.js';
import { sandboxStarter } from '../sandbox/sandboxes.js';
import { campaignCases } from '../support/campaign.js';
import { compareWithTruth } from '../support/compare-truth.js';
import { type Ended, keysOf, makeFolder, runCli } from '../support/run-cli.js';
import { forward, serveFile } from '../support/serve-http.js';

const openSandbox = sandboxStarter();

function open(sandbox: Sandbox) {
  const cwd = makeFolder(sandbox.config());
  return {
    cwd,
    run: (...args: readonly string[]): Promise<Ended> =>
      runCli([...args, '--quiet'], { cwd, env: keysOf(sandbox.apiKey) }),
    differences: () => compareWithTruth(readRemapRows(cwd), sandbox.truth()).differences,
  };
}

describe('company ids that were swapped', () => {
  it('pair by their data, never by their number', async () => {
    let swapped = 0;
    const seeds = campaignCases([11, 12], 1);
    for (const seed of seeds) {
      const sandbox = await openSandbox({ seed, scale: 200, idsSurvive: false });
      const { cwd, run, differences } = open(sandbox);
      expect([(await run('run')).code, differences()]).toEqual([0, []]);
      swapped += readCells(
        join(cwd, 'svc-migrate.db'),
        "select 1 from company where v3_company_id <> v4_company_id and matched_by = 'overlap'",
      ).length;
    }
    expect(swapped).toBeGreaterThan(2 * seeds.length);
  });
});

describe('a backfill that goes on', () => {
  it('is waited for, and is then as the truth has it', async () => {
    const sandbox = await openSandbox({ seed: 4, scale: 200, backfillSeconds: 1 });
    const { run, differences } = open(sandbox);
    const ended = await run('run', '--wait', '--settle', '2s', '--wait-timeout', '1m');
    expect([ended.code, ended.stderr, differences()]).toEqual([0, expect.anything(), []]);
    const { stdout } = await run('report', '--json', '-');
    expect(JSON.parse(stdout).fullSync.length).toBeGreaterThan(5);
  });

  it('is red while data are missing, and green once they came', async () => {
    let nowMs = 0;
    const sandbox = await openSandbox({ seed: 2, scale: 200, backfillSeconds: 100, clock: () => nowMs });
    nowMs = 96_000;
    const { run, differences } = open(sandbox);
    expect((await run('run')).code).toBe(1);
    nowMs = 100_000;
    expect([(await run('run')).code, (await run('check')).code, differences()]).toEqual([0, 0, []]);
  });
});

describe('ghosts', () => {
  it('are mapped to nothing, and every report says that they cannot be seen', async () => {
    const sandbox = await openSandbox({ seed: 6, scenario: 'ugly', scale: 200 });
    const { run, differences } = open(sandbox);
    const ended = await run('run', '--json', '-');
    const report = JSON.parse(ended.stdout);
    expect([ended.code, report.outcome]).toEqual([1, 'fail']);
    expect(report.totals.recordsByReason['unmatched/unexplained']).toBeGreaterThan(0);
    expect(report.cannotSee.map(({ code }: { code: string }) => code)).toContain('ghosts');
    expect(differences()).toEqual([]);
  });
});

describe('a service that asks for a wait of three thousand years', () => {
  let sandbox: Sandbox;
  let isBusy = true;
  const service = serveFile((incoming, outgoing) => {
    if (isBusy) outgoing.writeHead(503, { 'retry-after': '99999999999' }).end();
    else forward(sandbox.v4, incoming, outgoing);
  });

  it('ends the run, which names the wait, and blocks no later one', async () => {
    sandbox = await openSandbox({ seed: 4, scale: 60, companies: 2 });
    const config = JSON.stringify(sandbox.config()).replaceAll(sandbox.v4, service.origin);
    const at = { cwd: makeFolder(JSON.parse(config)), env: keysOf(sandbox.apiKey) };
    const { code, stderr } = await runCli(['export', '--quiet'], at);
    expect([code, stderr]).toEqual([4, expect.stringContaining('waitMs 99999999999000')]);
    isBusy = false;
    expect((await runCli(['run', '--quiet'], at)).code).toBe(0);
    expect(compareWithTruth(readRemapRows(at.cwd), sandbox.truth()).differences).toEqual([]);
  });
});

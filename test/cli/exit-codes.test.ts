import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/start.js';
import { keysOf, makeFolder, runCli } from './spawn-cli.js';

let sandbox: Sandbox | undefined;
afterEach(async () => {
  await sandbox?.close();
  sandbox = undefined;
});

interface Rehearsal {
  readonly cwd: string;
  readonly env: Record<string, string>;
}

/** A sandbox, and a folder with a configuration for it. */
async function rehearse(options: Partial<SandboxOptions>, changes: object = {}): Promise<Rehearsal> {
  sandbox = await startSandbox({ seed: 5, scale: 200, ...options });
  return { cwd: makeFolder({ ...sandbox.config(), ...changes }), env: keysOf(sandbox.apiKey) };
}

/** Runs and reads the JSON report from stdout. */
async function runForReport(args: readonly string[], at: Rehearsal) {
  const ended = await runCli([...args, '--quiet', '--json', '-'], at);
  return { ...ended, report: JSON.parse(ended.stdout) as { outcome: string; exitCode: number } };
}

describe('the outcome of a run is its exit code, and the report says both', () => {
  it('0 and pass where the limits hold', async () => {
    const { code, report } = await runForReport(['run'], await rehearse({}));
    expect([code, report.exitCode, report.outcome]).toEqual([0, 0, 'pass']);
  });

  it('1 and fail where findings stand over the limits', async () => {
    const { code, report } = await runForReport(['run'], await rehearse({}, { limits: {} }));
    expect([code, report.exitCode, report.outcome]).toEqual([1, 1, 'fail']);
  });

  it('4 and incomplete where a list has no end, with the report of what is known; and again at check', async () => {
    const at = await rehearse({ faults: [{ name: 'cursor-loop', rate: 1 }] }, { v4: undefined });
    const config = sandbox?.config() ?? {};
    writeFileSync(
      join(at.cwd, 'svc-migrate.config.json'),
      JSON.stringify({ ...config, v3: { ...Object(config['v3']), pageSize: 5 } }),
    );
    const first = await runForReport(['run'], at);
    expect([first.code, first.report.outcome]).toEqual([4, 'incomplete']);
    const again = await runForReport(['check'], at);
    expect([again.code, again.report.outcome]).toEqual([4, 'incomplete']);
    const dump = await runCli(['dump'], at);
    expect([dump.code, dump.stdout]).toEqual([4, '']);
  });

  it('5 and not_ready while V4 holds nothing yet', async () => {
    const { code, report } = await runForReport(['run'], await rehearse({ backfillSeconds: 1_000_000 }));
    expect([code, report.exitCode, report.outcome]).toEqual([5, 5, 'not_ready']);
  });

  it('5 where the backfill does not settle in the time allowed', async () => {
    const at = await rehearse({ backfillSeconds: 1000, scale: 2000 });
    const ended = await runCli(['export', 'v4', '--wait', '--settle', '1h', '--wait-timeout', '1s'], at);
    expect(ended.code).toBe(5);
    expect(ended.stderr).toContain('has not settled');
  });

  it('3 for a key that is refused, and nothing is read', async () => {
    const at = await rehearse({});
    const ended = await runCli(['run', '--quiet'], { ...at, env: keysOf('wrong') });
    expect([ended.code, ended.stdout]).toEqual([3, '']);
    expect(ended.stderr).toContain('api_key');
  });

  it('6 where the database was exported with another configuration, with the difference', async () => {
    const at = await rehearse({});
    expect((await runCli(['export', 'v3', '--quiet'], at)).code).toBe(0);
    const models = [{ v3: 'crm/stages', v4: 'stages' }];
    writeFileSync(join(at.cwd, 'svc-migrate.config.json'), JSON.stringify({ ...sandbox?.config(), models }));
    const ended = await runCli(['export', 'v3', '--quiet'], at);
    expect(ended.code).toBe(6);
    expect(ended.stderr).toContain('models.crm/companies');
  });
});

describe('demo', () => {
  it('does the whole job, leaves its files and exits with 0', async () => {
    const cwd = makeFolder();
    const ended = await runCli(['demo', '--output', 'rehearsal'], { cwd });
    expect(ended.code).toBe(0);
    expect(ended.stdout).toMatch(/^SAFE TO CUT OVER\n/);
    const status = await runCli(['status', '--config', 'rehearsal/svc-migrate.config.json'], { cwd });
    expect(status.code).toBe(0);
  });

  it('does not touch a folder that is there', async () => {
    const cwd = makeFolder({});
    const ended = await runCli(['demo', '--output', '.'], { cwd });
    expect(ended.code).toBe(6);
  });
});

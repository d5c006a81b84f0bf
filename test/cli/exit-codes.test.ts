import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { NO_QUIRKS } from '../../src/sandbox/faults.js';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/start-sandbox.js';
import { keysOf, makeFolder, runCli } from './run-cli.js';

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
  sandbox = await startSandbox({ seed: 5, scale: 100, companies: 1, ...options });
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

  it('4 and doctor as the next command where V4 refuses the requests, which another run does not change', async () => {
    const refusing = { ...NO_QUIRKS, refuse: ['include_deleted_records'] };
    const at = await rehearse({ quirks: refusing });
    const config = sandbox?.config() ?? {};
    const v4 = { ...Object(config['v4']), includeDeleted: true };
    writeFileSync(join(at.cwd, 'svc-migrate.config.json'), JSON.stringify({ ...config, v4 }));
    const files = ['--markdown', 'report.md', '--html', 'report.html', '--junit', 'report.xml'];
    const { code, stdout } = await runCli(['run', '--quiet', '--json', '-', ...files], at);
    expect([code, JSON.parse(stdout).blockers.at(-1).next]).toEqual([4, 'svc-migrate doctor']);
    for (const name of files.filter((one) => one.startsWith('report'))) {
      const text = readFileSync(join(at.cwd, name), 'utf8');
      const shown = name.endsWith('.html') ? text.replace(/<[^>]*>/g, '') : text;
      const named = [...shown.matchAll(/Next:.*?svc-migrate (\w+)/g)].map(([, command]) => command);
      expect([name, new Set(named)]).toEqual([name, new Set(['doctor'])]);
    }
    const again = await runCli(['export', 'v4'], at);
    expect([again.code, again.stdout]).toEqual([4, expect.stringContaining('Next: svc-migrate doctor')]);
    expect(again.stderr).toContain('with `svc-migrate doctor`. Retrying does not help.');
    const one = await runCli(['export', 'v4', '--model', 'crm/stages', '--db', 'one.db'], at);
    expect(one.stdout).toContain('Next: svc-migrate doctor');
    for (const command of ['check', 'status']) {
      const { stdout: said } = await runCli([command], at);
      expect(said).toContain('Next: svc-migrate doctor');
    }
    expect((await runCli(['dump'], at)).stderr).toContain('Run `svc-migrate doctor`');
    expect((await runCli(['doctor'], at)).stdout).toContain('Set v4.includeDeleted to false');
  });

  it('5 and not_ready while V4 holds nothing yet', async () => {
    const { code, report } = await runForReport(['run'], await rehearse({ backfillSeconds: 1_000_000 }));
    expect([code, report.exitCode, report.outcome]).toEqual([5, 5, 'not_ready']);
  });

  it.each([
    ['export v4', ['export', 'v4']],
    ['run', ['run']],
    ['check', ['check']],
  ])('2 where V4 answers 404 to every list, naming them and the host: %s', async (_, command) => {
    const models = [
      { v3: 'crm/companies', v4: 'no_such_companies' },
      { v3: 'accounting/invoices', v4: 'no_such_invoices' },
    ];
    const at = await rehearse({}, { models });
    if (command[0] === 'check') await runCli(['run', '--quiet'], at);
    const ended = await runCli([...command, '--quiet'], at);
    expect([ended.code, ended.stdout]).toEqual([2, '']);
    expect(ended.stderr).toContain(new URL(sandbox?.v4 ?? '').host);
    expect(ended.stderr).toContain('no_such_companies, no_such_invoices');
    expect(ended.stderr).toContain('svc-migrate doctor');
  });

  it('2 where the V4 address has no company list', async () => {
    const at = await rehearse({});
    const config = sandbox?.config() ?? {};
    const v4 = { ...Object(config['v4']), baseUrl: `${sandbox?.v4}/elsewhere` };
    writeFileSync(join(at.cwd, 'svc-migrate.config.json'), JSON.stringify({ ...config, v4 }));
    for (const wait of [[], ['--wait']]) {
      const ended = await runCli(['export', 'v4', '--quiet', ...wait], at);
      expect(ended.code).toBe(2);
      expect(ended.stderr).toContain('company list');
    }
  });

  it('4 for a command before its turn, naming the one to run first', async () => {
    const at = await rehearse({});
    for (const command of [['remap'], ['check'], ['dump'], ['status']]) {
      const ended = await runCli([...command, '--quiet'], at);
      expect([command, ended.code]).toEqual([command, 4]);
      expect(ended.stderr).toContain('svc-migrate run');
    }
    expect((await runCli(['export', 'v3', '--quiet'], at)).code).toBe(0);
    const remap = await runCli(['remap', '--quiet'], at);
    expect([remap.code, remap.stdout]).toEqual([4, '']);
    expect(remap.stderr).toContain('svc-migrate export v4');
    expect((await runCli(['export', 'v4', '--quiet'], at)).code).toBe(0);
    const check = await runCli(['check'], at);
    expect(check.code).toBe(4);
    expect(check.stdout).toContain('svc-migrate remap');
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
  it('does not touch a folder that is there', async () => {
    const cwd = makeFolder({});
    const ended = await runCli(['demo', '--output', '.'], { cwd });
    expect(ended.code).toBe(6);
  });
});

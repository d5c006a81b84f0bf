import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/start.js';
import { type Ended, filesIn, keysOf, makeFolder, runCli } from './run-cli.js';

let sandbox: Sandbox;
let cwd: string;
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 5, scale: 200, companies: 2 });
  cwd = makeFolder({ ...sandbox.config(), limits: {} });
});
afterAll(() => sandbox.close());

function run(...args: readonly string[]): Promise<Ended> {
  return runCli([...args, '--quiet', '--json', '-'], { cwd, env: keysOf(sandbox.apiKey) });
}

describe('a baseline', () => {
  it('turns red into green, for run and for check', async () => {
    expect((await run('run')).code).toBe(1);
    const written = await run('check', '--write-baseline', 'baseline.json');
    expect(written.code).toBe(1);
    for (const command of ['check', 'run']) {
      const ended = await run(command, '--baseline', 'baseline.json');
      const report = JSON.parse(ended.stdout);
      expect([command, ended.code, report.outcome]).toEqual([command, 0, 'pass']);
      expect(report.baseline.accepted).toBeGreaterThan(10);
    }
    expect((await run('check', '--write-baseline', 'old.json', '--expires', '0d')).code).toBe(1);
    // It holds through the day it names.
    expect((await run('check', '--baseline', 'old.json')).code).toBe(0);
  });

  it('that cannot be read is told before anything else is done', async () => {
    writeFileSync(join(cwd, 'broken.json'), '{"schemaVersion": 1, "entries": [{}]}');
    const folder = makeFolder(sandbox.config());
    const asked = sandbox.requests().length;
    for (const file of ['missing.json', join(cwd, 'broken.json')]) {
      const ended = await runCli(['run', '--baseline', file], { cwd: folder, env: keysOf(sandbox.apiKey) });
      expect([ended.code, ended.stdout]).toEqual([6, '']);
      expect(ended.stderr).toContain(file);
    }
    expect(sandbox.requests()).toHaveLength(asked);
    expect(filesIn(folder)).toEqual(['svc-migrate.config.json']);
  });

  it('goes with other options only where that makes sense', async () => {
    const both = await run('check', '--baseline', 'a.json', '--write-baseline', 'b.json');
    const alone = await run('check', '--expires', '3d');
    const twice = await run('run', '--ndjson', '-');
    expect([both.code, alone.code, twice.code]).toEqual([2, 2, 2]);
  });
});

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.js';
import { makeFolder, runCli } from './run-cli.js';

const TWO_SCREENS = 96;
const COLUMNS = 80;

let folder: string;
let lines: readonly string[];
beforeAll(async () => {
  folder = join(makeFolder(), 'rehearsal');
  const ended = await runCli(['demo', '--output', folder], { cwd: makeFolder() });
  expect([ended.code, ended.stderr]).toEqual([0, '']);
  lines = ended.stdout.split('\n');
});

/** The command lines that it printed. */
function commandsOf(printed: readonly string[]): string[] {
  return printed.flatMap((line) => (line.startsWith('$ svc-migrate ') ? [line.slice(2)] : []));
}

describe('demo', () => {
  it('fits two screens of 80 columns', () => {
    expect(lines.length).toBeLessThanOrEqual(TWO_SCREENS);
    // The verdict is as wide as the output, and the folder is as long as it is.
    const wide = lines.filter((line) => line.length > COLUMNS && !/^(\$ .*\/|SAFE TO CUT OVER: )/.test(line));
    expect(wide).toEqual([]);
  });

  it('is shown in the README, but for times', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    const [sample = ''] = /^\$ npx svc-migrate demo\n[\s\S]*?(?=^```)/m.exec(readme) ?? [];
    const shown = sample.split('\n').slice(1);
    const kept = shown.filter((line) => !/^…?$|\d s$/.test(line.trim()));
    expect(kept.length).toBeGreaterThan(15);
    expect(kept.filter((line) => !lines.includes(line))).toEqual([]);
  });

  it('goes from a red gate to a green one, then rewrites and restores stored ids', () => {
    const told = lines.flatMap((line) => /^\s*((?:NOT )?SAFE|PASS|.*cells restored)/.exec(line)?.[1] ?? []);
    expect(told).toEqual([
      'NOT SAFE',
      'NOT SAFE',
      'NOT SAFE',
      'SAFE',
      'PASS',
      'invoices: 120 cells restored',
      'payments: 40 cells restored',
      'SAFE',
    ]);
    expect(existsSync(join(folder, 'payments.v4.csv'))).toBe(false);
    expect(readFileSync(join(folder, 'decisions.csv'), 'utf8').split('\n')).toHaveLength(4);
  });

  it('shows every line of a verdict, and none of what leads on', () => {
    const told = lines.flatMap((line, at) =>
      /^ {2}(NOT )?SAFE/.test(line) ? [lines.slice(at, at + 3)] : [],
    );
    expect(told).toHaveLength(4);
    for (const [, second = '', third] of told)
      expect([second, third]).toEqual([expect.stringMatching(/\.$/), '']);
  });

  it('has one verdict and one next step, at the end', () => {
    const printed = lines.join('\n');
    expect([printed.match(/^SAFE TO CUT OVER: /gm)?.length, printed.match(/^Next: /gm)?.length]).toEqual([
      1, 1,
    ]);
    expect(printed.trimEnd().split('\n').slice(-2).join('\n')).toMatch(
      /^SAFE TO CUT OVER: .*\nNext: svc-migrate init$/s,
    );
  });

  it('keeps the key out of its configuration', () => {
    const key = readFileSync(join(folder, 'api-key'), 'utf8').trim();
    expect(readFileSync(join(folder, 'svc-migrate.config.json'), 'utf8')).not.toContain(key);
  });
});

describe('every command that demo prints runs again in its folder', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    const port = Number(/--scenario story --port (\d+)/.exec(lines.join('\n'))?.[1]);
    sandbox = await startSandbox({ seed: 1, isStory: true, port });
    sandbox.completeFullSync();
  });
  afterAll(() => sandbox.close());

  it('with exit code 0', async () => {
    // The sandbox runs until it is stopped, and --open starts a browser.
    const commands = commandsOf(lines).filter((line) => !/ sandbox | --open /.test(line));
    expect(commands.length).toBeGreaterThan(10);
    const failed: unknown[] = [];
    for (const command of commands) {
      const ended = await runCli(command.split(' ').slice(1), { cwd: folder });
      if (ended.code !== 0) failed.push({ command, ...ended });
    }
    expect(failed).toEqual([]);
  });
});

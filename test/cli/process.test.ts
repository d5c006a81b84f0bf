import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from '../support/run-cli.js';
import { runShell, spawnCli } from '../support/spawn-cli.js';

const SERVICE = {
  v3: { regions: { default: { baseUrl: 'https://127.0.0.1:9/v3' } } },
  v4: { baseUrl: 'https://127.0.0.1:9' },
};
/** A signal ends everything within two seconds; machines that run tests may be slower. */
const WITHIN_MS = 2000 * 4;

const cwd = makeFolder(SERVICE);
await runShell('mkfifo pipe', { cwd });

describe('a process', () => {
  it.each([
    ['an output', ['status', '--json', 'pipe'], 'SIGINT', 130],
    ['an output', ['status', '--json', 'pipe'], 'SIGTERM', 143],
    ['the configuration', ['status', '--config', 'pipe'], 'SIGINT', 130],
  ] as const)('that waits for the partner of a pipe, %s, ends at a signal', async (_, args, signal, code) => {
    let signalledMs = Number.NaN;
    const ended = await spawnCli(args, {
      cwd,
      onStart: (child) =>
        setTimeout(() => {
          signalledMs = performance.now();
          child.kill(signal);
        }, 700),
    });
    expect([ended.code, performance.now() - signalledMs < WITHIN_MS]).toEqual([code, true]);
  });

  it('writes the first configuration for a sandbox, and replaces none', async () => {
    const folder = makeFolder();
    const sandbox = () =>
      spawnCli(['sandbox', '--config-out', 'svc-migrate.config.json'], {
        cwd: folder,
        onStart: (child) => child.stdout?.once('data', () => child.kill('SIGINT')),
      });
    expect((await sandbox()).code).toBe(130);
    const config = join(folder, 'svc-migrate.config.json');
    const text = readFileSync(config, 'utf8');
    expect((await sandbox()).code).toBe(2);
    expect(readFileSync(config, 'utf8')).toBe(text);
  });

  it('ends at once at the second signal', async () => {
    let timer: NodeJS.Timeout | undefined;
    const ended = await spawnCli(['status', '--json', 'pipe'], {
      cwd,
      onStart: (child) => {
        timer = setInterval(() => child.kill('SIGINT'), 400);
      },
    });
    clearInterval(timer);
    expect(ended.code).toBe(130);
  });

  it('says in one sentence that its folder was removed', async () => {
    const { code, stderr } = await runShell('mkdir gone && cd gone && rmdir ../gone && svc-migrate status', {
      cwd,
    });
    expect([code, stderr.split('\n').length]).toEqual([6, 3]);
  });

  it('reads no endless file', async () => {
    const { code, stderr } = await spawnCli(['status', '--config', '/dev/zero'], { cwd });
    expect([code, stderr]).toEqual([2, expect.stringContaining('/dev/zero is larger than')]);
  });

  it('that meets a bug ends with 70, never with the 1 of a failed gate', async () => {
    // It comes up once the program listens for bugs.
    const bug = `
      const timer = setInterval(() => {
        if (process.listenerCount('uncaughtException') === 0) return;
        clearInterval(timer);
        throw new Error('boom');
      }, 50);`;
    writeFileSync(join(cwd, 'bug.mjs'), bug);
    const { code, stderr } = await runShell(
      'export NODE_OPTIONS="--import ./bug.mjs"; svc-migrate sandbox --quiet',
      { cwd },
    );
    expect([code, stderr]).toEqual([70, expect.stringContaining('this is a bug')]);
  });
});

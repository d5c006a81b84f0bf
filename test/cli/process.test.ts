import { beforeAll, describe, expect, it } from 'vitest';
import { campaignCases } from '../support/campaign.js';
import { openProject } from './project.js';
import { filesIn, keysOf, makeFolder, runCli } from './run-cli.js';
import { spawnCli } from './spawn-cli.js';

const { sandbox, cwd: exported, run } = await openProject({ seed: 11, scale: 100 });
beforeAll(async () => expect((await run('run', '--quiet')).code).toBe(0));

/** A module that prints, at the end of the process, the packages that were loaded. */
const PRINT_PACKAGES = `data:text/javascript,${encodeURIComponent(`
  import { createRequire } from 'node:module';
  const { cache } = createRequire('/');
  const packageOf = (file) => file.split('node_modules/').at(-1).split('/')[0];
  process.on('exit', () => console.error('\\npackages: ' + [...new Set(Object.keys(cache).map(packageOf))].join(' ')));
`)}`;

describe('the two exports', () => {
  it('fill the database, say what they read and name the next command', async () => {
    const cwd = makeFolder(sandbox.config());
    const env = keysOf(sandbox.apiKey);
    const v3 = await runCli(['export', 'v3'], { cwd, env });
    expect(v3.code).toBe(0);
    expect(v3.stdout).toMatch(/^V3: 9 lists \(9 complete\), [\d,]+ records, oldest reading /);
    expect(v3.stdout).toMatch(/\nNext: svc-migrate export v4\n$/);
    const v4 = await runCli(['export', 'v4'], { cwd, env });
    expect(v4.code).toBe(0);
    expect(v4.stdout).toMatch(/\nNext: svc-migrate remap\n$/);
    const remap = await runCli(['remap'], { cwd, env: {} });
    expect(remap.code).toBe(0);
    expect(filesIn(cwd)).toEqual(['svc-migrate.config.json', 'svc-migrate.db', 'svc-migrate.db-writer']);
    for (const text of [v3.stderr, v4.stderr, v3.stdout, v4.stdout])
      expect(text).not.toContain(sandbox.apiKey);
  });

  it('need only the key of the side they read', async () => {
    const cwd = makeFolder(sandbox.config());
    const env = { SVC_MIGRATE_V3_API_KEY: sandbox.apiKey };
    expect((await runCli(['export', 'v3'], { cwd, env })).code).toBe(0);
    expect((await runCli(['export', 'v4'], { cwd, env })).code).toBe(2);
  });
});

describe('a signal', () => {
  it('ends also a command that does not notice, and at once if sent twice', async () => {
    const stopLookup = async (signals: readonly NodeJS.Signals[]): Promise<number> => {
      const { code } = await spawnCli(['lookup', 'crm/stages', '1', '--stdin'], {
        cwd: exported,
        input: null,
        onStart: (child) => {
          // It has answered for the first id and waits for more.
          child.stdout?.once('data', () => {
            child.kill(signals[0]);
            const second = signals[1];
            if (second !== undefined) child.stderr?.once('data', () => child.kill(second));
          });
        },
      });
      return code;
    };
    expect(await stopLookup(['SIGINT'])).toBe(130);
    // Its own code: the second did not wait for what the first would have come to.
    expect(await stopLookup(['SIGINT', 'SIGTERM'])).toBe(143);
  });
});

describe('a command that sends no request', () => {
  it.each(campaignCases(['lookup accounting/invoices 1', 'report', 'status', 'dump'], 2))(
    'loads no HTTP client: %s',
    async (line) => {
      const ended = await spawnCli(line.split(' '), {
        cwd: exported,
        env: { NODE_OPTIONS: `--import=${PRINT_PACKAGES}` },
      });
      expect(ended.stderr).toMatch(/\npackages: .*\bbetter-sqlite3\b/);
      expect(ended.stderr).not.toMatch(/\npackages: .*\bundici\b/);
    },
  );
});

describe('sandbox', () => {
  it('serves until the signal and writes a configuration that works', async () => {
    const cwd = makeFolder();
    let inner: Promise<unknown> = Promise.resolve();
    const ended = await spawnCli(['sandbox', '--seed', '3', '--config-out', 'svc-migrate.config.json'], {
      cwd,
      onStart: (child) => {
        child.stdout?.once('data', (line) => {
          const { apiKey } = JSON.parse(String(line)) as { apiKey: string };
          inner = runCli(['run', '--quiet', '--json', 'report.json'], { cwd, env: keysOf(apiKey) }).finally(
            () => child.kill('SIGTERM'),
          );
        });
      },
    });
    expect(await inner).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Written: report\.json\nSAFE TO CUT OVER/),
      stderr: '',
    });
    expect(ended.code).toBe(143);
    expect(filesIn(cwd)).toContain('report.json');
  });
});

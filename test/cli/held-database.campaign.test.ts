import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/start-sandbox.js';
import { Sqlite } from '../../src/store/sqlite.js';
import { keysOf, makeFolder, runCli } from './run-cli.js';
import { spawnCli } from './spawn-cli.js';

const INVOICES = 'accounting/invoices';
/** What happened and a hint; no stack. */
const PLAIN_ERROR = /^svc-migrate: \S.*\n( {2}\S.*\n)*$/;

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ seed: 5, scale: 20 });
});
afterAll(() => sandbox.close());

it('commands of proof end with 6 while another process holds the database, and name it', async () => {
  const options = { cwd: makeFolder(sandbox.config()), env: keysOf(sandbox.apiKey) };
  expect((await runCli(['run', '--quiet'], options)).code).toBe(0);
  const holder = new Sqlite(join(options.cwd, 'svc-migrate.db'));
  holder.exec('BEGIN EXCLUSIVE');
  const commands = [['verify'], ['recheck'], ['explain', INVOICES, '1'], ['export', 'v4']];
  // Each waits for its turn before it gives up: they wait at the same time.
  await Promise.all(
    commands.map(async (args) => {
      const ended = await spawnCli([...args, '--quiet'], options);
      expect([args[0], ended.code, ended.stdout]).toEqual([args[0], 6, '']);
      expect(ended.stderr).toMatch(PLAIN_ERROR);
    }),
  );
  holder.close();
});

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Sqlite } from '../../src/store/sqlite.js';
import { openProject } from './project.js';
import { spawnCli } from './spawn-cli.js';

const INVOICES = 'accounting/invoices';
/** What happened and a hint; no stack. */
const PLAIN_ERROR = /^svc-migrate: \S.*\n( {2}\S.*\n)*$/;

const { at, cwd, run } = await openProject({ seed: 5, scale: 20 });

it('commands of proof end with 6 while another process holds the database, and name it', async () => {
  expect((await run('run', '--quiet')).code).toBe(0);
  const holder = new Sqlite(join(cwd, 'svc-migrate.db'));
  holder.exec('BEGIN EXCLUSIVE');
  const commands = [['verify'], ['recheck'], ['explain', INVOICES, '1'], ['export', 'v4']];
  // Each waits for its turn before it gives up: they wait at the same time.
  await Promise.all(
    commands.map(async (args) => {
      const ended = await spawnCli([...args, '--quiet'], at);
      expect([args[0], ended.code, ended.stdout]).toEqual([args[0], 6, '']);
      expect(ended.stderr).toMatch(PLAIN_ERROR);
    }),
  );
  holder.close();
});

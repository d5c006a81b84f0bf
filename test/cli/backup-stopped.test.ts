import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { runBackup } from '../../src/commands/backup.js';
import { openDatabase } from '../../src/store/open.js';
import { newIo } from '../report/support.js';
import { configOf } from '../support/exported.js';
import { givenOf } from '../support/given.js';
import { filesIn, makeFolder } from './run-cli.js';

const abort = new AbortController();
vi.mock('../../src/runtime/threads.js', async (original) => ({
  ...(await original<object>()),
  // Has opened the copy and looks at its size when the signal comes and removes it.
  runInThread: async () => {
    abort.abort();
    throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
  },
}));

it('a backup that is stopped while its copy is opened is no bug, and leaves nothing', async () => {
  const folder = makeFolder();
  const config = { ...configOf(), database: join(folder, 'svc-migrate.db') };
  openDatabase(config.database, 'create').close();
  const io = newIo({ signal: abort.signal });
  const given = givenOf(config, {}, [join(folder, 'copy.db')]);
  await expect(runBackup(given, io)).rejects.toMatchObject({ code: 'interrupted' });
  expect(filesIn(folder).filter((name) => name.startsWith('copy'))).toEqual([]);
});

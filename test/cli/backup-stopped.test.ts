import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { openDatabase } from '../../src/store/open.js';
import { newIo } from '../report/support.js';
import { configOf } from '../support/exported.js';
import { givenOf, runNamed } from '../support/given.js';
import { filesIn, makeFolder } from './run-cli.js';

it('a backup that is stopped while its copy is opened is no bug, and leaves nothing', async () => {
  const folder = makeFolder();
  const config = { ...configOf(), database: join(folder, 'svc-migrate.db') };
  openDatabase(config.database, 'create').close();
  const { signal } = new AbortController();
  // The signal removes the copy before the thread that checks it has opened it, and the thread's error is the first news.
  vi.spyOn(signal, 'addEventListener').mockImplementationOnce((_type: string, onAbort: unknown) => {
    if (typeof onAbort === 'function') onAbort();
  });
  vi.spyOn(signal, 'removeEventListener').mockImplementation(() => {
    vi.spyOn(signal, 'aborted', 'get').mockReturnValue(true);
  });
  const given = givenOf(config, {}, [join(folder, 'copy.db')]);
  await expect(runNamed('backup', given, newIo({ signal }))).rejects.toMatchObject({ code: 'interrupted' });
  expect(filesIn(folder).filter((name) => name.startsWith('copy'))).toEqual([]);
});

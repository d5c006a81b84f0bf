import { closeSync, openSync, statSync } from 'node:fs';
import type { Config } from '../config/config.js';
import { errorCodeOf, SvcError } from '../errors.js';
import type { Serve } from '../runtime/thread.js';
import { runInThread, type ThreadOptions } from '../runtime/threads.js';
import { alreadyThere, assertTargets, onFile, writeText } from '../runtime/write-output.js';
import { assertNoLog } from '../store/database-file.js';
import { checkFile, listTables } from '../store/integrity.js';
import { copyDatabase, guardDatabase, openDatabase } from '../store/open.js';
import { formatBytes } from '../text/numbers.js';
import type { backup } from './catalogue/use-commands.js';
import type { GivenTo, Io } from './command.js';
import { removeDatabase, withLockOwner, withOwnerNote, writeDatabase } from './database.js';
import { ownFilesOf } from './with-outputs.js';

/** Pages copied between two checks of the signal: 4 MiB. */
const PAGES_PER_STEP = 256;

/** `backup`: makes a consistent copy of the database, checked before it gets its final name. */
export async function run(given: GivenTo<typeof backup>, io: Io): Promise<number> {
  const config = await given.config();
  const { file: target, force } = given.options;
  assertTarget(config, target, force);
  io.onProgress({ kind: 'stage', name: 'backup' });
  await writeDatabase(target, { replace: force }, async (temporary) => {
    // Created here, because SQLite would use the permissions of the umask.
    onFile(target, () => closeSync(openSync(temporary, 'wx', 0o600)));
    await copyPages({ file: config.database, copy: temporary, target }, io);
    await checkCopy(temporary, io);
  });
  const size = formatBytes(statSync(target).size);
  await writeText(io.stdout, [`${target}: a copy of ${config.database}, ${size}, checked.\n`]);
  return 0;
}

function assertTarget(config: Config, target: string, force: boolean): void {
  if (target === '-') throw new SvcError('usage', 'A backup is written to a file, not to stdout.');
  assertTargets([target], ownFilesOf(config));
  const stat = statSync(target, { throwIfNoEntry: false });
  if (stat !== undefined && (!stat.isFile() || !force)) {
    throw alreadyThere(target, stat.isFile() ? undefined : 'Name a file.');
  }
  assertNoLog(target);
}

async function copyPages(
  { file, copy, target }: { readonly file: string; readonly copy: string; readonly target: string },
  io: Io,
): Promise<void> {
  const db = withLockOwner(file, () => openDatabase(file, 'read'));
  try {
    const onStep = (done: number, total: number): number => {
      if (io.signal.aborted) throw backupStopped();
      io.onProgress({ kind: 'step', name: 'copy pages', done, total });
      return PAGES_PER_STEP;
    };
    const owner = { file, command: 'backup', nowMs: io.clock.now() };
    await withOwnerNote(owner, () => copyDatabase(db, copy, onStep));
  } catch (error) {
    // Only the copy is written.
    guardDatabase(errorCodeOf(error) === 'SQLITE_FULL' ? target : file, () => {
      throw error;
    });
  } finally {
    db.close();
  }
}

async function checkCopy(copy: string, io: Io): Promise<void> {
  // The thread ends only after its statement, perhaps later than this process.
  const remove = () => removeDatabase(copy);
  io.signal.addEventListener('abort', remove, { once: true });
  try {
    await runInThread(THREAD, io, copy);
  } catch (error) {
    // The copy may be gone before the thread has opened it.
    throw io.signal.aborted ? backupStopped() : error;
  } finally {
    io.signal.removeEventListener('abort', remove);
  }
}

type CheckThread = { readonly run: (file: string) => void };

const THREAD: ThreadOptions<CheckThread> = {
  name: 'check',
  module: new URL('./backup.js', import.meta.url),
  end: { afterMs: 0, error: backupStopped },
};

/** The thread that checks a database file: its long statements would keep the main one from handling signals. */
export const serve: Serve<CheckThread> = ({ onProgress }) => ({
  run: (file) => {
    const db = openDatabase(file, 'read');
    try {
      const tables = listTables(db);
      const reportStep = (done: number) =>
        onProgress({ kind: 'step', name: 'check the copy', done, total: tables.length });
      guardDatabase(file, () => checkFile(db, tables, reportStep));
    } finally {
      db.close();
    }
  },
});

function backupStopped(): SvcError {
  return new SvcError('interrupted', 'Stopped; no backup was written.');
}

import type { SvcError } from '../errors.js';
import type { Serve } from '../runtime/thread.js';
import { runInThread } from '../runtime/threads.js';
import { checkFile, listTables } from '../store/integrity.js';
import { guardDatabase, openDatabase } from '../store/open.js';
import type { Io } from './command.js';

interface CheckRequest {
  readonly file: string;
  /** null: all. */
  readonly tables: readonly string[] | null;
  /** The step that is shown meanwhile. */
  readonly step: string;
}

type CheckThread = { readonly run: (request: CheckRequest) => void };

/**
 * Checks a database file in another thread: its long statements would keep this one from handling signals.
 *
 * @throws SvcError `corrupt_database`, and `stopped` after a signal
 */
export function checkFileInThread(request: CheckRequest, stopped: () => SvcError, io: Io): Promise<void> {
  const module = new URL('./check-file.js', import.meta.url);
  return runInThread<CheckThread>(
    { name: 'check', module, end: { afterMs: 0, error: stopped } },
    io,
    request,
  );
}

export const serve: Serve<CheckThread> = ({ onProgress }) => ({
  run: ({ file, tables, step: name }) => {
    const db = openDatabase(file, 'read');
    try {
      const checked = tables ?? listTables(db);
      const reportStep = (done: number) => onProgress({ kind: 'step', name, done, total: checked.length });
      guardDatabase(file, () => checkFile(db, checked, reportStep));
    } finally {
      db.close();
    }
  },
});

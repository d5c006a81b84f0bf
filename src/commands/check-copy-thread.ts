import { serveThread } from '../runtime/threads.js';
import { checkFile, listTables } from '../store/integrity.js';
import { guardDatabase, openDatabase } from '../store/open.js';

export type CheckCopyThread = { readonly run: (file: string) => void };

/** The thread that checks a copy: its long statements would keep the main thread from handling signals. */
serveThread<CheckCopyThread>(({ onProgress }) => ({
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
}));

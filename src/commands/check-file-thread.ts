import { serveThread } from '../runtime/threads.js';
import { checkFile, listTables } from '../store/integrity.js';
import { guardDatabase, openDatabase } from '../store/open.js';

/** What to check. */
export interface CheckRequest {
  readonly file: string;
  /** null: all. */
  readonly tables: readonly string[] | null;
  /** The step that is shown meanwhile. */
  readonly step: string;
}

export type CheckFileThread = { readonly run: (request: CheckRequest) => void };

/** The thread that checks a database file: its long statements would keep the main thread from handling signals. */
serveThread<CheckFileThread>(({ onProgress }) => ({
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
}));

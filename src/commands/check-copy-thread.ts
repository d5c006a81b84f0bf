import { parentPort, workerData } from 'node:worker_threads';
import { flattenError } from '../runtime/thread-errors.js';
import { checkFile, listTables } from '../store/check-file.js';
import { guardDatabase, openDatabase } from '../store/open.js';
import type { CheckMessage } from './check-copy.js';

/** The thread that checks a copy: its long statements would keep the main thread from hearing a signal. */
function main(file: string): void {
  const db = openDatabase(file, 'read');
  try {
    const tables = listTables(db);
    guardDatabase(file, () =>
      checkFile(db, tables, (done) => tell({ kind: 'progress', done, total: tables.length })),
    );
  } finally {
    db.close();
  }
  tell({ kind: 'done' });
}

function tell(message: CheckMessage): void {
  parentPort?.postMessage(message);
}

try {
  main(String(workerData));
} catch (error) {
  tell(flattenError(error));
}

import { checksumOf } from '../../src/store/checksum.js';
import { type Db, openDatabase } from '../../src/store/open.js';

/** Gives rows that no export wrote the checksums and counters that an export would have. */
export function seal(db: Db): void {
  db.exec(`
    UPDATE record SET checksum = ${checksumOf('record')};
    UPDATE payload SET checksum = checksum(body);
    UPDATE stream SET stored = (SELECT count(*) FROM record WHERE stream_id = stream.id);
    UPDATE stream SET checksum = ${checksumOf('stream')};
    UPDATE meta SET checksum = ${checksumOf('meta')};
  `);
}

/** Changes a database as if its export or remap had written it so. */
export function alterDatabase(file: string, sql: string): void {
  const db = openDatabase(file, 'write');
  try {
    db.exec(sql);
    seal(db);
  } finally {
    db.close();
  }
}

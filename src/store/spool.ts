import { damaged } from './checksum.js';
import type { Db } from './sqlite.js';

/** Saved bytes, if they are few, or the id of their row: there can be 100,000 companies with a few bytes each. */
export type SavedBytes = Buffer | bigint | number;

/** Fewer bytes stay in memory. */
const BYTES_PER_ROW = 2048;

/** Keeps bytes in a temporary table. */
export class Spool {
  readonly #insert;
  readonly #read;

  constructor(db: Db, table: string) {
    db.exec(`CREATE TEMP TABLE ${table}(id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT`);
    this.#insert = db.prepare<[Buffer]>(`INSERT INTO temp.${table}(body) VALUES (?)`);
    this.#read = db.prepare<[bigint | number], Buffer>(`SELECT body FROM temp.${table} WHERE id = ?`).pluck();
  }

  save(bytes: Buffer): SavedBytes {
    return bytes.length < BYTES_PER_ROW ? Buffer.from(bytes) : this.#insert.run(bytes).lastInsertRowid;
  }

  read(saved: SavedBytes): Buffer {
    const bytes = typeof saved === 'object' ? saved : this.#read.get(saved);
    if (bytes === undefined) throw damaged('A row of a temporary table');
    return bytes;
  }
}

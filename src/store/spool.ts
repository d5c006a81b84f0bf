import { damaged } from './checksum.js';
import type { Db } from './sqlite.js';

/** Where saved bytes are: few stay in memory, because there can be 100,000 companies. */
export type SavedBytes = Buffer | bigint | number;

const FEW = 2048;

/** Keeps bytes in a temporary table. */
export class Spool {
  readonly clear: () => void;
  readonly #insert;
  readonly #read;

  constructor(db: Db, table: string) {
    db.exec(`CREATE TEMP TABLE ${table}(id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT`);
    this.clear = () => void db.exec(`DELETE FROM temp.${table}`);
    this.#insert = db.prepare<[Buffer]>(`INSERT INTO temp.${table}(body) VALUES (?)`);
    this.#read = db.prepare<[bigint | number], Buffer>(`SELECT body FROM temp.${table} WHERE id = ?`).pluck();
  }

  save(bytes: Buffer): SavedBytes {
    return bytes.length < FEW ? Buffer.from(bytes) : this.#insert.run(bytes).lastInsertRowid;
  }

  read(saved: SavedBytes): Buffer {
    const bytes = typeof saved === 'object' ? saved : this.#read.get(saved);
    if (bytes === undefined) throw damaged('A row of a temporary table');
    return bytes;
  }
}

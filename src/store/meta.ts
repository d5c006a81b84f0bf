import type { Db } from './open.js';

/** The value kept under `key`, or null. */
export function readMeta(db: Db, key: string): string | null {
  return db.prepare<[string], string>('SELECT value FROM meta WHERE key = ?').pluck().get(key) ?? null;
}

/** Keeps `value` under `key`. */
export function writeMeta(db: Db, key: string, value: string): void {
  db.prepare(
    'INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value',
  ).run(key, value);
}

const EXPORT_SEQ = 'export_seq';

/** Grows whenever stored records or a stream's state change: two equal values mean the same export. */
export function readExportSeq(db: Db): bigint {
  return BigInt(readMeta(db, EXPORT_SEQ) ?? '0');
}

/** Makes the function that counts a change: call it inside the transaction that changes records or a stream's state. */
export function prepareBumpExportSeq(db: Db): () => void {
  const bump = db.prepare<[string]>(`
    INSERT INTO meta(key, value) VALUES (?, '1')
    ON CONFLICT (key) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)`);
  return () => void bump.run(EXPORT_SEQ);
}

import { checksumOf, damaged, isIntact } from './checksum.js';
import type { Db } from './open.js';

/**
 * The value kept under `key`, or null.
 *
 * @throws SvcError `corrupt_database`
 */
export function readMeta(db: Db, key: string): string | null {
  // All of them: a setting whose name was damaged would be missed under its own.
  const rows = db
    .prepare<[], { key: string; value: string; intact: bigint }>(
      `SELECT key, value, ${isIntact('meta')} AS intact FROM meta`,
    )
    .all();
  const broken = rows.find(({ intact }) => intact === 0n);
  if (broken !== undefined) throw damaged(`The setting ${broken.key}`);
  return rows.find((row) => row.key === key)?.value ?? null;
}

/** Keeps `value` under `key`. */
export function writeMeta(db: Db, key: string, value: string): void {
  db.prepare(
    'INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value',
  ).run(key, value);
  prepareSeal(db)(key);
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
  const seal = prepareSeal(db);
  return () => {
    bump.run(EXPORT_SEQ);
    seal(EXPORT_SEQ);
  };
}

function prepareSeal(db: Db): (key: string) => void {
  const seal = db.prepare<[string]>(`UPDATE meta SET checksum = ${checksumOf('meta')} WHERE key = ?`);
  return (key) => void seal.run(key);
}

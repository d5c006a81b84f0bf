import type { Db } from './sqlite.js';

export function readMeta(db: Db, name: string): string | null {
  return db.prepare<[string], string>('select value from meta where name = ?').pluck().get(name) ?? null;
}

export function writeMeta(db: Db, name: string, value: string): void {
  const sql =
    'insert into meta(name, value) values (?, ?) on conflict (name) do update set value = excluded.value';
  db.prepare(sql).run(name, value);
}

const EXPORT_SEQ = 'export_seq';

/** A number that grows whenever stored records or the state of a list change; while it is the same, so is the export. */
export function readExportSeq(db: Db): bigint {
  return BigInt(readMeta(db, EXPORT_SEQ) ?? '0');
}

/** Makes the function that increments that number. Call it in the transaction that changes records or the state of a list. */
export function prepareBumpExportSeq(db: Db): () => void {
  const bump = db.prepare<[string]>(`
    insert into meta(name, value) values (?, '1')
    on conflict (name) do update set value = cast(cast(value as integer) + 1 as text)`);
  return () => {
    bump.run(EXPORT_SEQ);
  };
}

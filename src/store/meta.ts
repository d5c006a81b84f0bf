import * as z from '../zod.js';
import { checksumOf, damaged, isIntact } from './checksum.js';
import type { Db } from './open.js';

/**
 * The value of `key`, or null.
 *
 * @throws SvcError `corrupt_database`
 */
export function readMeta(db: Db, key: string): string | null {
  // Reads all rows, because a row whose key is damaged would not be found by its key.
  const rows = db
    .prepare<[], { key: string; value: string; intact: bigint }>(
      `SELECT key, value, ${isIntact('meta')} AS intact FROM meta`,
    )
    .all();
  const broken = rows.find(({ intact }) => intact === 0n);
  if (broken !== undefined) throw damaged(`The setting ${broken.key}`);
  return rows.find((row) => row.key === key)?.value ?? null;
}

export function writeMeta(db: Db, key: string, value: string): void {
  db.prepare(
    'INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value',
  ).run(key, value);
  prepareSeal(db)(key);
}

const EXPORT_SEQ = 'export_seq';

/** A number that grows whenever stored records or a stream's state change: if it is equal, the export is the same. */
export function readExportSeq(db: Db): bigint {
  return BigInt(readMeta(db, EXPORT_SEQ) ?? '0');
}

/** Makes the function that increments it; call that inside the transaction that changes records or a stream's state. */
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

/** Waits requested by hosts, saved for the next process; times in ms since 1970. */
const waitsSchema = z.array(
  z.object({ host: z.string(), askedAtMs: z.number(), untilMs: z.number() }).readonly(),
);
export type StoredWait = z.infer<typeof waitsSchema>[number];

const KEY = 'host_waits';

/** The saved waits that are not over. */
export function readHostWaits(db: Db, nowMs: number): readonly StoredWait[] {
  const text = readMeta(db, KEY);
  return text === null ? [] : currentWaits(waitsSchema.parse(JSON.parse(text)), nowMs);
}

/** Saves waits, in a transaction of its own; those of other hosts are kept while they are not over. */
export function saveHostWaits(db: Db, waits: readonly StoredWait[], nowMs: number): void {
  const hosts = new Set(waits.map(({ host }) => host));
  db.transaction(() => {
    const others = readHostWaits(db, nowMs).filter(({ host }) => !hosts.has(host));
    writeMeta(db, KEY, JSON.stringify([...others, ...currentWaits(waits, nowMs)]));
  }).immediate();
}

/**
 * The waits that are not over. If a wait was requested in the future, the clock was set back since: the wait begins now,
 * so that it is never longer than the host asked for.
 */
export function currentWaits(waits: readonly StoredWait[], nowMs: number): readonly StoredWait[] {
  return waits.flatMap((wait) => {
    if (wait.askedAtMs <= nowMs) return wait.untilMs > nowMs ? [wait] : [];
    return [{ ...wait, askedAtMs: nowMs, untilMs: nowMs + wait.untilMs - wait.askedAtMs }];
  });
}

const REMAP_INPUTS = 'remap_inputs';
const inputsSchema = z.record(z.string(), z.string());

/** Saves the SHA-256 of the input files of the remap, by the name of the setting. */
export function writeRemapInputs(db: Db, digests: Readonly<Record<string, string>>): void {
  writeMeta(db, REMAP_INPUTS, JSON.stringify(digests));
}

/** The SHA-256 of the input files of the last remap, by the name of the setting. */
export function readRemapInputs(db: Db): Readonly<Record<string, string>> {
  return inputsSchema.parse(JSON.parse(readMeta(db, REMAP_INPUTS) ?? '{}'));
}

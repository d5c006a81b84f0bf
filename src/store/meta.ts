import { z } from 'zod';
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

/** Waits that hosts asked for, kept for the next process; times in ms since 1970. */
const waitsSchema = z.array(
  z.object({ host: z.string(), askedAtMs: z.number(), untilMs: z.number() }).readonly(),
);
export type StoredWait = z.infer<typeof waitsSchema>[number];

const KEY = 'host_waits';

/** The waits that are not over. */
export function readHostWaits(db: Db, nowMs: number): readonly StoredWait[] {
  const text = readMeta(db, KEY);
  return text === null ? [] : currentWaits(waitsSchema.parse(JSON.parse(text)), nowMs);
}

/** Keeps waits beside those of other hosts that are not over, in a transaction of its own. */
export function saveHostWaits(db: Db, waits: readonly StoredWait[], nowMs: number): void {
  const hosts = new Set(waits.map(({ host }) => host));
  db.transaction(() => {
    const others = readHostWaits(db, nowMs).filter(({ host }) => !hosts.has(host));
    writeMeta(db, KEY, JSON.stringify([...others, ...currentWaits(waits, nowMs)]));
  }).immediate();
}

/**
 * The waits that are not over, none longer than what was asked for. One that was asked for in the future tells that the
 * clock was set back since: it begins now.
 */
export function currentWaits(waits: readonly StoredWait[], nowMs: number): readonly StoredWait[] {
  return waits.flatMap((wait) => {
    if (wait.askedAtMs <= nowMs) return wait.untilMs > nowMs ? [wait] : [];
    return [{ ...wait, askedAtMs: nowMs, untilMs: nowMs + wait.untilMs - wait.askedAtMs }];
  });
}

const REMAP_INPUTS = 'remap_inputs';
const inputsSchema = z.record(z.string(), z.string());

/** Keeps which files the remap was built with: their sha256 by the setting that names them. */
export function writeRemapInputs(db: Db, digests: Readonly<Record<string, string>>): void {
  writeMeta(db, REMAP_INPUTS, JSON.stringify(digests));
}

/** The files that the last remap was built with. */
export function readRemapInputs(db: Db): Readonly<Record<string, string>> {
  return inputsSchema.parse(JSON.parse(readMeta(db, REMAP_INPUTS) ?? '{}'));
}

import * as z from '../zod.js';
import { checksumOf, damaged, isIntact } from './checksum.js';
import type { Db } from './sqlite.js';

// The table `meta` holds named texts, of which most are JSON. Messages call them settings.

/** The row that lists the keys of all others, so that a lost row is noticed. Earlier versions did not write it. */
const NAMES = 'names';
const namesSchema = z.array(z.string());

/**
 * The value of `key`, or null.
 *
 * @throws SvcError `corrupt_database`
 */
export function readMeta(db: Db, key: string): string | null {
  // Reads all rows, because a row whose key is damaged would not be found by its key.
  const sql = `SELECT key, value, ${isIntact('meta')} AS intact FROM meta`;
  const rows = db.prepare<[], { key: string; value: string; intact: bigint }>(sql).all();
  const broken = rows.find(({ intact }) => intact === 0n);
  if (broken !== undefined) throw damaged(`The setting ${broken.key}`);
  // An export saves settings before its first record.
  if (rows.length === 0 && db.prepare('SELECT 1 FROM record LIMIT 1').get() !== undefined)
    throw damaged('The table meta');
  const names = rows.find((row) => row.key === NAMES)?.value ?? '[]';
  const lost = namesSchema.parse(JSON.parse(names)).find((name) => !rows.some((row) => row.key === name));
  if (lost !== undefined) throw damaged(`The setting ${lost}`);
  return rows.find((row) => row.key === key)?.value ?? null;
}

export function writeMeta(db: Db, key: string, value: string): void {
  db.prepare(
    'INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value',
  ).run(key, value);
  prepareSeal(db)(key);
}

/** The value of `key` as JSON; null if it is not set. */
export function readMetaJson<T>(db: Db, key: string, schema: z.ZodType<T>): T | null {
  const text = readMeta(db, key);
  return text === null ? null : schema.parse(JSON.parse(text));
}

const EXPORT_SEQ = 'export_seq';

/** A number that grows whenever stored records or the state of a stream change; while it is the same, so is the export. */
export function readExportSeq(db: Db): bigint {
  return BigInt(readMeta(db, EXPORT_SEQ) ?? '0');
}

/** Makes the function that increments that number. Call it in the transaction that changes records or a stream's state. */
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

/** Makes the function that updates the list of keys and the checksum of a row. Call it after each write to that row. */
function prepareSeal(db: Db): (key: string) => void {
  const list = db.prepare(`
    INSERT INTO meta(key, value)
      SELECT '${NAMES}', json_group_array(key) FROM (SELECT key FROM meta WHERE key <> '${NAMES}' ORDER BY key) WHERE TRUE
    ON CONFLICT(key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value`);
  const seal = db.prepare<[string]>(`UPDATE meta SET checksum = ${checksumOf('meta')} WHERE key = ?`);
  return (key) => {
    if (list.run().changes > 0) seal.run(NAMES);
    seal.run(key);
  };
}

/** Waits requested by hosts, saved for the next process; times in ms since 1970. */
const waitsSchema = z.array(
  z.object({ host: z.string(), askedAtMs: z.number(), untilMs: z.number() }).readonly(),
);
export type StoredWait = z.infer<typeof waitsSchema>[number];

const HOST_WAITS = 'host_waits';

/** The saved waits that are not over. */
export function readHostWaits(db: Db, nowMs: number): readonly StoredWait[] {
  return currentWaits(readMetaJson(db, HOST_WAITS, waitsSchema) ?? [], nowMs);
}

/** Saves waits, in a transaction of its own; those of other hosts are kept while they are not over. */
export function saveHostWaits(db: Db, waits: readonly StoredWait[], nowMs: number): void {
  const hosts = new Set(waits.map(({ host }) => host));
  db.transaction(() => {
    const others = readHostWaits(db, nowMs).filter(({ host }) => !hosts.has(host));
    writeMeta(db, HOST_WAITS, JSON.stringify([...others, ...currentWaits(waits, nowMs)]));
  }).immediate();
}

/**
 * The waits that are not over. If `askedAtMs` is in the future, the clock has been set back: the wait then begins now and
 * keeps its length, so that it is never longer than the host asked for.
 */
function currentWaits(waits: readonly StoredWait[], nowMs: number): readonly StoredWait[] {
  return waits.flatMap((wait) => {
    if (wait.askedAtMs <= nowMs) return wait.untilMs > nowMs ? [wait] : [];
    return [{ ...wait, askedAtMs: nowMs, untilMs: nowMs + wait.untilMs - wait.askedAtMs }];
  });
}

const REMAP_INPUTS = 'remap_inputs';
export const textsSchema = z.record(z.string(), z.string());

/** Saves the SHA-256 of the input files of the remap, by the name of the configuration setting that names the file. */
export function writeRemapInputs(db: Db, digests: Readonly<Record<string, string>>): void {
  writeMeta(db, REMAP_INPUTS, JSON.stringify(digests));
}

/** What `writeRemapInputs` saved for the last remap. */
export function readRemapInputs(db: Db): Readonly<Record<string, string>> {
  return readMetaJson(db, REMAP_INPUTS, textsSchema) ?? {};
}

import type { Generation } from '../domain.js';
import { SvcError } from '../errors.js';
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

/** A number that grows whenever stored records or a stream's state change: as long as it is the same, so is the export. */
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

const SCAN = 'scan';
const count = z.int().nonnegative();
const byCertainty = { certain: count, likely: count, look: count };
const scanCountsSchema = z.strictObject({
  scannedAt: z.string(),
  /** Places. */
  ...byCertainty,
  filesRead: count,
  // Earlier versions did not store these.
  filesSkipped: count.nullable().default(null),
  rules: z.array(z.strictObject({ rule: z.string(), title: z.string(), ...byCertainty })).default([]),
});

/** What the last stored scan of source code counted. */
export type ScanCounts = z.output<typeof scanCountsSchema>;

/** Saves the counts in a transaction of its own. */
export function saveScanCounts(db: Db, counts: ScanCounts): void {
  db.transaction(() => writeMeta(db, SCAN, JSON.stringify(counts))).immediate();
}

/** null: no scan was stored. */
export function readScanCounts(db: Db): ScanCounts | null {
  const text = readMeta(db, SCAN);
  return text === null ? null : scanCountsSchema.parse(JSON.parse(text));
}

/** The settings that an export depends on, by name. Names that start with `v3` or `v4` affect only that generation. */
export type Fingerprint = Readonly<Record<string, string>>;

/** A setting that changed; null if it was or is not set. */
export interface FingerprintDifference {
  readonly name: string;
  readonly stored: string | null;
  readonly current: string | null;
}

const GENERATIONS = ['v3', 'v4'] as const;
const storedSchema = z.record(z.string(), z.string());

/**
 * Refuses a database that was exported with another configuration. A generation without stored records is not compared,
 * so that a wrong address can be corrected.
 *
 * @throws SvcError `other_configuration`, which lists every difference
 */
export function assertSameExport(db: Db, current: Fingerprint): void {
  const differences = compareFingerprint(db, current);
  if (differences.length > 0) throw otherConfiguration(differences);
}

/** The differences between this configuration and that of the stored exports. */
export function compareFingerprint(db: Db, current: Fingerprint): FingerprintDifference[] {
  const found = new Map<string, FingerprintDifference>();
  for (const generation of GENERATIONS) {
    const stored = readFingerprint(db, generation);
    if (stored === null || !holdsRecords(db, generation)) continue;
    const wanted = partOf(current, generation);
    for (const name of new Set([...Object.keys(stored), ...Object.keys(wanted)])) {
      const difference = { name, stored: stored[name] ?? null, current: wanted[name] ?? null };
      if (difference.stored !== difference.current) found.set(name, difference);
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Saves the fingerprint of a generation; returns whether it replaced a different one. Call it inside the transaction
 * that begins the export.
 */
export function saveFingerprint(db: Db, generation: Generation, current: Fingerprint): boolean {
  const part = partOf(current, generation);
  const text = JSON.stringify(Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))));
  const before = readMeta(db, metaKey(generation));
  writeMeta(db, metaKey(generation), text);
  return before !== null && before !== text;
}

export function otherConfiguration(differences: readonly FingerprintDifference[]): SvcError {
  const lines = differences.map(
    ({ name, stored, current }) => `${name}: ${stored ?? '(none)'} → ${current ?? '(none)'}`,
  );
  return new SvcError(
    'other_configuration',
    `This database was exported with another configuration: ${lines.join('; ')}.`,
    {
      hint: differences.every(({ name }) => name.startsWith('v4'))
        ? 'Restore these settings, or read V4 anew with `svc-migrate export v4 --restart` (V3 is kept).'
        : 'Restore these settings, or export into a new database with --db.',
    },
  );
}

/** The stored fingerprint of both generations. */
export function readStoredFingerprint(db: Db): Fingerprint {
  const entries = GENERATIONS.flatMap((generation) => Object.entries(readFingerprint(db, generation) ?? {}));
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function holdsRecords(db: Db, generation: Generation): boolean {
  const stream = db.prepare<[string], unknown>(`
    SELECT 1 FROM stream WHERE generation = ? AND EXISTS (SELECT 1 FROM record WHERE stream_id = stream.id)`);
  return stream.get(generation) !== undefined;
}

function readFingerprint(db: Db, generation: Generation): Fingerprint | null {
  const text = readMeta(db, metaKey(generation));
  return text === null ? null : storedSchema.parse(JSON.parse(text));
}

function partOf(fingerprint: Fingerprint, generation: Generation): Fingerprint {
  const other = generation === 'v3' ? 'v4' : 'v3';
  return Object.fromEntries(Object.entries(fingerprint).filter(([name]) => !name.startsWith(other)));
}

function metaKey(generation: Generation): string {
  return `fingerprint_${generation}`;
}

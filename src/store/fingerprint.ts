import type { Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import { readMeta, readMetaJson, textsSchema, writeMeta } from './meta.js';
import { RECORD_KEY } from './schema.js';
import type { Db } from './sqlite.js';

/** The settings that an export depends on, by name. Names that start with `v3` or `v4` affect only that generation. */
export type Fingerprint = Readonly<Record<string, string>>;

/** A setting that changed; null if it was or is not set. */
export interface FingerprintDifference {
  readonly name: string;
  readonly stored: string | null;
  readonly current: string | null;
}

const GENERATIONS = ['v3', 'v4'] as const;

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
  const text = `This database was exported with another configuration: ${lines.join('; ')}.`;
  return new SvcError('other_configuration', text, {
    hint: differences.every(({ name }) => name.startsWith('v4'))
      ? 'Restore these settings, or read V4 anew with `svc-migrate export v4 --restart` (V3 is kept).'
      : 'Restore these settings, or export into a new database with --db.',
  });
}

/** The stored fingerprint of both generations. */
export function readStoredFingerprint(db: Db): Fingerprint {
  const entries = GENERATIONS.flatMap((generation) => Object.entries(readFingerprint(db, generation) ?? {}));
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function holdsRecords(db: Db, generation: Generation): boolean {
  const stream = db.prepare<[string], unknown>(`
    SELECT 1 FROM stream WHERE generation = ? AND EXISTS (SELECT 1 FROM record INDEXED BY ${RECORD_KEY} WHERE stream_id = stream.id)`);
  return stream.get(generation) !== undefined;
}

/** The fields that hold children, by V3 model, as the export was configured; undefined for a model of which it is not known. */
export function readChildFields(db: Db): ReadonlyMap<string, readonly string[]> {
  const entries = Object.entries(readFingerprint(db, 'v3') ?? {}).flatMap(([name, text]) => {
    const [, model] = /^models\.(.*)$/.exec(name) ?? [];
    const [, fields = ''] = /, children (.*)$/.exec(text) ?? [];
    const listed = fields === '(none)' ? [] : fields.split(' ');
    return model === undefined ? [] : [[model, listed] as const];
  });
  return new Map(entries);
}

function readFingerprint(db: Db, generation: Generation): Fingerprint | null {
  return readMetaJson(db, metaKey(generation), textsSchema);
}

function partOf(fingerprint: Fingerprint, generation: Generation): Fingerprint {
  const other = generation === 'v3' ? 'v4' : 'v3';
  return Object.fromEntries(Object.entries(fingerprint).filter(([name]) => !name.startsWith(other)));
}

function metaKey(generation: Generation): string {
  return `fingerprint_${generation}`;
}

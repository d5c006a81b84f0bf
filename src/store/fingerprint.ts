import * as z from 'zod';
import type { Config } from '../config/config.js';
import { GENERATIONS, type Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import { comparableAddress } from '../text/addresses.js';
import { readMeta, writeMeta } from './meta.js';
import type { Db } from './sqlite.js';

/** The settings that an export fixes, by name. Names that start with `v3` or `v4` affect only that generation. */
export type Fingerprint = Readonly<Record<string, string>>;

interface Difference {
  readonly name: string;
  readonly stored: string | null;
  readonly current: string | null;
}

function buildFingerprint({ fieldPrefix, v3, v4, companies, models }: Config): Fingerprint {
  return {
    fieldPrefix,
    'v3.companies': listOf(sorted(v3.companies)),
    'v4.baseUrl': comparableAddress(v4.baseUrl),
    'v4.companies': listOf(sorted(v4.companies)),
    'v4.companyIdField': v4.companyIdField ?? '(usual)',
    'v4.includeDeleted': String(v4.includeDeleted),
    'companies.include': listOf(sorted(companies.include)),
    'companies.exclude': listOf(sorted(companies.exclude)),
    ...Object.fromEntries(
      v3.regions.map(({ region, baseUrl }) => [`v3.regions.${region}`, comparableAddress(baseUrl)]),
    ),
    ...Object.fromEntries(
      models.map(({ v3: name, expand }) => [`models.${name}`, `expand ${listOf(expand)}`]),
    ),
    ...Object.fromEntries(
      models.map(({ v3: name, v4: route }) => [`v4.models.${name}`, route ?? '(absent)']),
    ),
  };
}

/**
 * Refuses a database that was exported with another configuration. A generation without stored records is not compared,
 * so that a wrong address can be corrected.
 *
 * @param replaced the generation that an export walks anew: its settings may differ where it is V4
 * @throws SvcError `other_configuration`, which lists every difference
 */
export function assertSameExport(db: Db, config: Config, replaced: Generation | null = null): void {
  const differences = compareExport(db, config);
  const isOfV4 = differences.every(({ name }) => name.startsWith('v4'));
  if (differences.length > 0 && !(isOfV4 && replaced === 'v4')) throw otherConfiguration(differences, isOfV4);
}

export function saveFingerprint(db: Db, config: Config, generation: Generation): boolean {
  const part = partOf(buildFingerprint(config), generation);
  const text = JSON.stringify(Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))));
  const before = readMeta(db, metaName(generation));
  writeMeta(db, metaName(generation), text);
  return before !== null && before !== text;
}

function compareExport(db: Db, config: Config): Difference[] {
  const current = buildFingerprint(config);
  const differences = new Map<string, Difference>();
  for (const generation of GENERATIONS) {
    const stored = readFingerprint(db, generation);
    if (stored === null || !holdsRecords(db, generation)) continue;
    const wanted = partOf(current, generation);
    for (const name of new Set([...Object.keys(stored), ...Object.keys(wanted)])) {
      const difference = { name, stored: stored[name] ?? null, current: wanted[name] ?? null };
      if (difference.stored !== difference.current) differences.set(name, difference);
    }
  }
  return [...differences.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function otherConfiguration(differences: readonly Difference[], isOfV4: boolean): SvcError {
  const lines = differences.map(
    ({ name, stored, current }) => `${name}: ${stored ?? 'not configured'} → ${current ?? 'not configured'}`,
  );
  const text = `This database was exported with another configuration: ${lines.join('; ')}.`;
  return new SvcError('other_configuration', text, {
    hint: isOfV4
      ? 'Restore these settings, or read V4 anew with `svc-migrate export v4 --restart` (V3 is kept).'
      : 'Restore these settings, or export into a new database with --db.',
  });
}

function holdsRecords(db: Db, generation: Generation): boolean {
  const sql = `
    select 1 from stream as s
    where s.generation = ? and exists (select 1 from record as r where r.stream_id = s.id)`;
  return db.prepare(sql).get(generation) !== undefined;
}

function readFingerprint(db: Db, generation: Generation): Fingerprint | null {
  const text = readMeta(db, metaName(generation));
  return text === null ? null : z.record(z.string(), z.string()).parse(JSON.parse(text));
}

function partOf(fingerprint: Fingerprint, generation: Generation): Fingerprint {
  const other = generation === 'v3' ? 'v4' : 'v3';
  return Object.fromEntries(Object.entries(fingerprint).filter(([name]) => !name.startsWith(other)));
}

function metaName(generation: Generation): string {
  return `fingerprint_${generation}`;
}

function sorted(ids: readonly bigint[]): bigint[] {
  return [...ids].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}

function listOf(values: readonly (string | bigint)[]): string {
  return values.length === 0 ? '(none)' : values.join(' ');
}

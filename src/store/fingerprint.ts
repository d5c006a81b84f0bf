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
 * @throws SvcError `other_configuration`, which lists every difference
 */
export function assertSameExport(db: Db, config: Config): void {
  const differences = compareExport(db, config);
  if (differences.length > 0) throw otherConfiguration(differences);
}

/**
 * The same for an export: if it walks V4 anew, V4's settings may differ.
 *
 * @throws SvcError `other_configuration`
 */
export function assertMayExport(db: Db, config: Config, generation: Generation, restart: boolean): void {
  const differences = compareExport(db, config);
  const isReplaced = generation === 'v4' && restart && differences.every(({ name }) => name.startsWith('v4'));
  if (differences.length > 0 && !isReplaced) throw otherConfiguration(differences);
}

export function saveFingerprint(db: Db, config: Config, generation: Generation): boolean {
  const part = partOf(buildFingerprint(config), generation);
  const text = JSON.stringify(Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))));
  const before = readMeta(db, metaName(generation));
  writeMeta(db, metaName(generation), text);
  return before !== null && before !== text;
}

const DERIVED = 'derived';

/** The settings that dates and children of stored records are derived with, as a text to compare. */
function derivationOf({ backfill, models }: Config): string {
  const children = Object.fromEntries(models.map((model) => [model.v3, model.children]));
  return JSON.stringify({ dateFields: backfill.dateFields, children });
}

/** Whether dates and children of all stored records were derived with this configuration. */
export function isDerivedWith(db: Db, config: Config): boolean {
  return readMeta(db, DERIVED) === derivationOf(config);
}

/** Notes that dates and children of all stored records are derived with this configuration. */
export function saveDerivation(db: Db, config: Config): void {
  writeMeta(db, DERIVED, derivationOf(config));
  db.exec('delete from child_path');
  addChildPaths(db, config);
}

function addChildPaths(db: Db, { models }: Config): void {
  const paths = JSON.stringify(models.flatMap(({ children }) => children));
  db.prepare('insert or ignore into child_path(name) select distinct value from json_each(?) order by 1').run(
    paths,
  );
}

/** Notes that records will be stored that were derived with this configuration. */
export function noteDerivation(db: Db, config: Config): void {
  const hasRecords = db.prepare('select 1 from record limit 1').get() !== undefined;
  if (!hasRecords) saveDerivation(db, config);
  else if (!isDerivedWith(db, config)) {
    writeMeta(db, DERIVED, 'several');
    addChildPaths(db, config);
  }
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

function otherConfiguration(differences: readonly Difference[]): SvcError {
  const lines = differences.map(
    ({ name, stored, current }) => `${name}: ${stored ?? 'not configured'} → ${current ?? 'not configured'}`,
  );
  const text = `This database was exported with another configuration: ${lines.join('; ')}.`;
  return new SvcError('other_configuration', text, {
    hint: differences.every(({ name }) => name.startsWith('v4'))
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

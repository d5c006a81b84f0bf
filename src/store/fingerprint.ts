import type { Config } from '../config/config.js';
import { GENERATIONS, type Generation } from '../domain.js';
import { SvcError } from '../errors.js';
import { comparableAddress } from '../text/addresses.js';
import type { Db } from './sqlite.js';
import { COMPANY_LIST } from './streams.js';

/** The settings that an export of a generation fixes, by name. Names that start with `v3` or `v4` affect only that one. */
function buildFingerprint(
  { fieldPrefix, v3, v4, companies, models }: Config,
  generation: Generation,
): Record<string, string> {
  const shared = {
    fieldPrefix,
    'companies.include': listOf(companies.include),
    'companies.exclude': listOf(companies.exclude),
    ...Object.fromEntries(models.map((model) => [`models.${model.v3}`, `expand ${listOf(model.expand)}`])),
  };
  if (generation === 'v3') {
    const addresses = v3.regions.map(({ region, baseUrl }) => [
      `v3.regions.${region}`,
      comparableAddress(baseUrl),
    ]);
    return { ...shared, 'v3.companies': listOf(v3.companies), ...Object.fromEntries(addresses) };
  }
  return {
    ...shared,
    'v4.baseUrl': comparableAddress(v4.baseUrl),
    'v4.companies': listOf(v4.companies),
    'v4.companyIdField': v4.companyIdField ?? '(usual)',
    'v4.includeDeleted': String(v4.includeDeleted),
    ...Object.fromEntries(models.map((model) => [`v4.models.${model.v3}`, model.v4 ?? '(absent)'])),
  };
}

function listOf(values: readonly (string | bigint)[]): string {
  return values.length === 0 ? '(none)' : values.map(String).sort().join(' ');
}

/**
 * Refuses a database that was exported with another configuration. A generation without stored records is not compared,
 * so that a wrong address can be corrected.
 *
 * @param replaced the generation that an export walks anew: its settings may differ where it is V4
 * @throws SvcError `other_configuration`, which lists every difference
 */
export function assertSameExport(db: Db, config: Config, replaced: Generation | null = null): void {
  const stored = GENERATIONS.filter((generation) => holdsRecords(db, generation));
  const differences = new Set(stored.flatMap((generation) => listDifferences(db, config, generation)));
  const isOfV4 = [...differences].every((difference) => difference.startsWith('v4'));
  if (differences.size === 0 || (isOfV4 && replaced === 'v4')) return;
  const text = `This database was exported with another configuration: ${[...differences].sort().join('; ')}.`;
  throw new SvcError('other_configuration', text, {
    hint: isOfV4
      ? 'Restore these settings, or read V4 anew with `svc-migrate export v4 --restart` (V3 is kept).'
      : 'Restore these settings, or export into a new database with --db.',
  });
}

/** True if the last export had other settings. */
export function saveFingerprint(db: Db, config: Config, generation: Generation): boolean {
  const isOther = listDifferences(db, config, generation).length > 0;
  db.prepare('insert or replace into meta(name, value) values (?, ?)').run(
    metaName(generation),
    JSON.stringify(buildFingerprint(config, generation)),
  );
  return isOther;
}

function listDifferences(db: Db, config: Config, generation: Generation): string[] {
  const text = db.prepare<[string], string>('select value from meta where name = ?').pluck();
  const changes = listChanges(db, text.get(metaName(generation)), buildFingerprint(config, generation));
  return changes.map(
    ({ name, before, now }) => `${name}: ${before ?? 'not configured'} → ${now ?? 'not configured'}`,
  );
}

interface Change {
  readonly name: string;
  readonly before: string | null;
  readonly now: string | null;
}

/** How members differ from the ones of a stored JSON object; empty if nothing is stored. */
export function listChanges(
  db: Db,
  stored: string | undefined,
  current: Readonly<Record<string, string>>,
): Change[] {
  if (stored === undefined) return [];
  return db
    .prepare<[string, string], Change>(`
      select ifnull(a.key, b.key) as name, a.value as before, b.value as now
      from json_each(?) as a full join json_each(?) as b on b.key = a.key
      where a.value is not b.value
      order by 1`)
    .all(stored, JSON.stringify(current));
}

function holdsRecords(db: Db, generation: Generation): boolean {
  const sql = `
    select 1 from stream as s
    where s.generation = ? and s.model <> '${COMPANY_LIST}'
      and exists (select 1 from record as r where r.stream_id = s.id)`;
  return db.prepare(sql).get(generation) !== undefined;
}

function metaName(generation: Generation): string {
  return `fingerprint_${generation}`;
}

import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type NamedCompanyPair, readCompaniesFile } from '../../config/companies-file.js';
import type { Config } from '../../config/config.js';
import { COMPANY_MATCHES, type CompanyMatch } from '../../domain.js';
import { SvcError } from '../../errors.js';
import { isInterrupted } from '../../store/database-file.js';
import { readCompanyFacts } from '../../store/evidence.js';
import type { Db } from '../../store/open.js';
import { readReadiness } from '../../store/read-readiness.js';
import { findIncomplete } from '../../store/readiness.js';
import { EVERYTHING } from '../../store/remap.js';
import type { DatabaseFacts, LocalFacts } from './facts.js';

/** Reads the database as it is, read-only. */
export type ReadDatabase = <T>(work: (db: Db) => Promise<T>) => Promise<T>;

/**
 * What is at the database's place. Writes nothing: what a process left half written stays until the next command
 * takes it back.
 */
export async function readDatabaseFacts(config: Config, read: ReadDatabase): Promise<DatabaseFacts> {
  const { database } = config;
  try {
    assertWritable(existsSync(database) ? database : dirname(database));
    if (!existsSync(database)) return { kind: 'none' };
    if (isInterrupted(database)) return { kind: 'interrupted' };
    return await read(async (db) => describeDatabase(db, config));
  } catch (error) {
    if (error instanceof SvcError && error.code !== 'interrupted') return { kind: 'unusable', error };
    throw error;
  }
}

/** @throws SvcError `disk` */
function assertWritable(place: string): void {
  try {
    accessSync(place, constants.W_OK);
  } catch (cause) {
    throw new SvcError('disk', `The database cannot be written: ${place}.`, {
      hint: 'Make the folder, or name another file with "database" or --db.',
      cause,
    });
  }
}

function describeDatabase(db: Db, config: Config): DatabaseFacts {
  const facts = readReadiness(db, config, EVERYTHING);
  const recordsOf = (generation: 'v3' | 'v4'): number =>
    facts.streams
      .filter((stream) => stream.generation === generation)
      .reduce((sum, { uniqueRecords }) => sum + uniqueRecords, 0);
  return {
    kind: 'usable',
    v3Records: recordsOf('v3'),
    v4Records: recordsOf('v4'),
    open: findIncomplete(facts).map(({ text, next }) => `${text} Next: ${next}`),
    pairs: facts.lastRun === undefined ? null : countPairs(db),
  };
}

function countPairs(db: Db): Record<CompanyMatch, number> {
  const counts = Object.fromEntries(COMPANY_MATCHES.map((kind) => [kind, 0])) as Record<CompanyMatch, number>;
  for (const { matched_by } of readCompanyFacts(db)) counts[matched_by] += 1;
  return counts;
}

/** Bytes free on the disk of the database, or of the folder it would be made in. */
export function readDisk(database: string): Pick<LocalFacts, 'freeBytes' | 'databaseBytes'> {
  const databaseBytes = statSync(database, { throwIfNoEntry: false })?.size ?? 0;
  try {
    const { bavail, bsize } = statfsSync(existsSync(database) ? database : dirname(database));
    return { freeBytes: bavail * bsize, databaseBytes };
  } catch {
    // The folder may not be there.
    return { freeBytes: null, databaseBytes };
  }
}

/** The pairs of companies that the user named, or what is wrong with the file. */
export function readNamed(config: Config): {
  readonly named: readonly NamedCompanyPair[];
  readonly error: SvcError | null;
} {
  const { match } = config.companies;
  if (typeof match === 'string') return { named: [], error: null };
  try {
    const regions = config.v3.regions.map(({ region }) => region);
    return { named: readCompaniesFile(match.file, regions), error: null };
  } catch (error) {
    if (error instanceof SvcError) return { named: [], error };
    throw error;
  }
}

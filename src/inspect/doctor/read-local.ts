import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../../config/config.js';
import { type NamedCompanyPair, readCompaniesFile, readDecisionsFile } from '../../config/user-files.js';
import type { CompanyMatch } from '../../domain.js';
import { SvcError } from '../../errors.js';
import { hasUnfinishedLog } from '../../store/database-file.js';
import type { Db } from '../../store/open.js';
import { findIncomplete, readReadiness } from '../../store/readiness.js';
import { EVERYTHING } from '../../store/remap.js';
import { readAmbiguousCompanies, readCompanyRows } from '../../store/remap-tables.js';
import { describeAmbiguous } from '../../text/describe-evidence.js';
import type { DatabaseFacts, LocalFacts } from './probe-results.js';

/** Runs `work` on a read-only snapshot of the database. */
export type ReadDatabase = <T>(work: (db: Db) => Promise<T>) => Promise<T>;

/**
 * Describes the database without writing to it; an interrupted transaction is left for the next command to roll back.
 */
export async function readDatabaseFacts(config: Config, read: ReadDatabase): Promise<DatabaseFacts> {
  const { database } = config;
  const exists = existsSync(database);
  try {
    assertWritable(exists ? database : dirname(database));
    if (!exists) return { kind: 'none' };
    if (hasUnfinishedLog(database, '-journal')) return { kind: 'interrupted' };
    return await read(async (db) => describeDatabase(db, config));
  } catch (error) {
    if (error instanceof SvcError && error.code !== 'interrupted') return { kind: 'unusable', error };
    throw error;
  }
}

/** @throws SvcError `disk` */
function assertWritable(path: string): void {
  try {
    accessSync(path, constants.W_OK);
  } catch (cause) {
    throw new SvcError('disk', `The database cannot be written: ${path}.`, {
      hint: 'Create the folder, or name another file with "database" or --db.',
      cause,
    });
  }
}

function describeDatabase(db: Db, config: Config): DatabaseFacts {
  const facts = readReadiness(db, config, EVERYTHING);
  const records = { v3: 0, v4: 0 };
  for (const { generation, uniqueRecords } of facts.streams) records[generation] += uniqueRecords;
  const ambiguous = facts.lastRun === undefined ? [] : readAmbiguousCompanies(db, EVERYTHING);
  return {
    kind: 'usable',
    v3Records: records.v3,
    v4Records: records.v4,
    open: findIncomplete(facts).map(({ text, next }) => `${text} Next: ${next}`),
    pairs: facts.lastRun === undefined ? null : countPairs(db),
    ambiguous: ambiguous.map((company) => describeAmbiguous(company, ambiguous)),
  };
}

function countPairs(db: Db): Record<CompanyMatch, number> {
  const counts: Record<CompanyMatch, number> = { same_id: 0, overlap: 0, file: 0, ambiguous: 0, none: 0 };
  for (const { matched_by } of readCompanyRows(db)) counts[matched_by] += 1;
  return counts;
}

/** Free bytes on the disk of the database, or of the folder it would be created in. */
export function readDisk(database: string): Pick<LocalFacts, 'freeBytes' | 'databaseBytes'> {
  const databaseBytes = statSync(database, { throwIfNoEntry: false })?.size ?? 0;
  try {
    const { bavail, bsize } = statfsSync(existsSync(database) ? database : dirname(database));
    return { freeBytes: bavail * bsize, databaseBytes };
  } catch {
    // The folder may not exist.
    return { freeBytes: null, databaseBytes };
  }
}

/** The company pairs named by the user, and the errors of the user's files. */
export function readUserFiles(config: Config): Pick<LocalFacts, 'fileErrors'> & {
  readonly named: readonly NamedCompanyPair[];
} {
  const named = orError(() => readCompaniesFile(config));
  const decisions = orError(() => readDecisionsFile(config));
  return {
    named: named instanceof SvcError ? [] : named,
    fileErrors: [
      ...(named instanceof SvcError ? [['companies_file', named] as const] : []),
      ...(decisions instanceof SvcError ? [['decisions_file', decisions] as const] : []),
    ],
  };
}

function orError<T>(read: () => T): T | SvcError {
  try {
    return read();
  } catch (error) {
    if (error instanceof SvcError) return error;
    throw error;
  }
}

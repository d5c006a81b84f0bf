import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type ApplyTarget, isServer } from '../../config/apply-targets.js';
import type { Config } from '../../config/config.js';
import { readCompaniesFile, readDecisionsFile } from '../../config/user-files.js';
import type { CompanyMatch, Env } from '../../domain.js';
import { SvcError } from '../../errors.js';
import { hasUnfinishedLog } from '../../store/database-file.js';
import type { Db } from '../../store/open.js';
import { findIncomplete, readReadiness } from '../../store/readiness.js';
import { EVERYTHING } from '../../store/remap-rows.js';
import { iterateCompanyRows, readAmbiguousCompanies } from '../../store/remap-tables.js';
import { countOf, formatBytes, formatTime, groupDigits } from '../../text/numbers.js';
import { type Finding, note, ok, problem, warning } from './doctor-finding.js';
import type { DatabaseFacts, ListAnswer, LocalFacts, RemoteFacts } from './probe-results.js';

/** As in `engines` of package.json. */
const OLDEST_NODE = '20.18.1';
const DAY_MS = 86_400_000;
/** The service suggests windows of at most a quarter of a year. */
const LONG_WINDOW_MS = 100 * DAY_MS;
/** Bytes of a record in the database besides its payload, with its remap row and indexes: measured 350. */
const BYTES_PER_RECORD = 400;
/** Stored bytes per byte of a payload: measured 1.05. */
const PAYLOAD_RATIO = 1.1;

/** Whether this Node.js is recent enough, and SQLite can be loaded. */
export function judgeProgram({ node, sqlite }: Pick<LocalFacts, 'node' | 'sqlite'>): Finding[] {
  const findings: Finding[] = [];
  if (node.localeCompare(OLDEST_NODE, 'en', { numeric: true }) < 0) {
    const fix = `Install Node.js ${OLDEST_NODE} or later.`;
    findings.push(problem('program', 'node_old', 6, `Node.js ${node} is too old.`, fix));
  }
  if (sqlite === null) {
    const fix =
      'Install svc-migrate again with the Node.js that is to run it, and with its optional dependencies.';
    findings.push(problem('program', 'sqlite_missing', 6, 'SQLite cannot be loaded.', fix));
  }
  if (findings.length > 0) return findings;
  return [ok('program', 'versions', `Node.js ${node}, SQLite ${sqlite}.`)];
}

/** What the configuration names, what it leaves to guesses, and the errors of the files that it names. */
export function* judgeConfig(
  { models, v3, file }: Config,
  { fileErrors }: Pick<LocalFacts, 'fileErrors'>,
): Generator<Finding> {
  const guessed = models.filter(({ v4Guessed, v4 }) => v4Guessed && v4 !== null).length;
  const text = `${file}: ${countOf(models.length, 'model')}, ${countOf(v3.regions.length, 'V3 region')}.`;
  yield ok('configuration', 'config_valid', text);
  if (guessed > 0) {
    const names = guessed === 1 ? 'V4 name is a guess' : 'V4 names are guesses';
    yield note(
      'configuration',
      'names_guessed',
      `${groupDigits(guessed)} ${names}, because "models" does not name ${guessed === 1 ? 'it' : 'them'}.`,
      'Once V4 answers to them, `svc-migrate doctor --write-config FILE` writes them into "models".',
    );
  }
  for (const [code, { message, hint }] of fileErrors) {
    yield problem('configuration', code, 6, message, hint ?? 'Correct the file.');
  }
}

/** Whether the start of the backfill window is known, and plausible. */
export function judgeBackfill({ backfill }: Config, nowMs: number): Finding[] {
  const { sinceMs, isRelative } = backfill;
  if (sinceMs === null) {
    const text =
      'The start of the window that V4 loaded is not configured: it is inferred from V4 where possible.';
    return [note('backfill', 'window_inferred', text, 'Set backfill.since if the operator knows it.')];
  }
  const since = formatTime(new Date(sinceMs).toISOString());
  if (sinceMs > nowMs) {
    const text = `backfill.since is in the future: ${since}.`;
    return [problem('backfill', 'window_in_future', 2, text, 'Set it to the start of what V4 loaded.')];
  }
  if (isRelative === true) {
    const text = `backfill.days counts back from now, so the window's start moves: today it is ${since}.`;
    const fix = 'Once the first sync has begun, set backfill.since to its start.';
    return [warning('backfill', 'window_moves', text, fix)];
  }
  if (nowMs - sinceMs > LONG_WINDOW_MS) {
    const text = `The window starts at ${since}, more than three months ago: the service suggests shorter ones.`;
    return [note('backfill', 'window_long', text)];
  }
  return [ok('backfill', 'window', `The window starts at ${since}.`)];
}

/** The estimated size of a complete database. */
export interface DiskEstimate {
  readonly records: number;
  readonly bytes: number;
  /** Lists that gave no count; they are left out. */
  readonly uncounted: number;
}

/** Estimates from the counts of all requested lists; other V4 companies are assumed to be like those requested. */
export function estimateDisk(remote: RemoteFacts, config: Config): DiskEstimate {
  const v3 = remote.v3.map(({ answer }) => answer);
  const v4 = (remote.v4?.lists ?? []).map(({ answer }) => answer);
  const countIn = (answers: readonly ListAnswer[]): number =>
    answers.reduce((sum, answer) => sum + (answer.kind === 'answers' ? (answer.totalCount ?? 0) : 0), 0);
  const asked = remote.v4?.asked.length ?? 0;
  const scale = asked === 0 ? 0 : (remote.v4?.companies.length ?? 0) / asked;
  const records = Math.round(countIn(v3) + countIn(v4) * scale);
  const payload = config.payload === 'full' ? meanBytes([...v3, ...v4]) * PAYLOAD_RATIO : 0;
  const uncounted = [...v3, ...v4].filter(
    (answer) => answer.kind === 'answers' && answer.totalCount === null,
  );
  return { records, bytes: Math.round(records * (BYTES_PER_RECORD + payload)), uncounted: uncounted.length };
}

/** Mean size of a record, weighted by the length of the lists. */
function meanBytes(answers: readonly ListAnswer[]): number {
  let bytes = 0;
  let records = 0;
  for (const answer of answers) {
    if (answer.kind !== 'answers' || answer.records.length === 0) continue;
    const n = answer.totalCount ?? answer.records.length;
    bytes += (answer.bytes / answer.records.length) * n;
    records += n;
  }
  return records === 0 ? 0 : bytes / records;
}

/** Whether the disk has room. Warns below twice the estimate. */
export function judgeDisk(remote: RemoteFacts, local: LocalFacts, config: Config): Finding[] {
  const { freeBytes, databaseBytes } = local;
  if (freeBytes === null) return [];
  const free = `${formatBytes(freeBytes)} are free.`;
  const { records, bytes, uncounted } = estimateDisk(remote, config);
  if (records === 0) return [ok('disk', 'disk_free', free)];
  const needed = Math.max(0, bytes - databaseBytes);
  const without = uncounted > 0 ? `; ${countOf(uncounted, 'list')} gave no count` : '';
  const text = `About ${formatBytes(bytes)} for ${countOf(records, 'record')} (an estimate${without}), ${free}`;
  const fewer = config.payload === 'full' ? ', or set "payload" to "ids"' : '';
  const fix = `Put the database on a larger disk with "database" or --db${fewer}.`;
  if (freeBytes < needed) return [problem('disk', 'disk_full', 6, text, fix)];
  if (freeBytes < 2 * needed) return [warning('disk', 'disk_tight', text, fix)];
  return [ok('disk', 'disk_free', text)];
}

/** Whether the database can be used, and what is unfinished in it. */
export function judgeDatabase(facts: DatabaseFacts, { database }: Config): Finding[] {
  switch (facts.kind) {
    case 'none':
      return [
        ok('database', 'database_none', `${database}: does not exist yet; the first export creates it.`),
      ];
    case 'interrupted': {
      const text = `${database}: a process died while writing; the next command rolls its transaction back.`;
      return [note('database', 'database_interrupted', text)];
    }
    case 'unusable': {
      const { code, exitCode, message, hint } = facts.error;
      const exit = exitCode === 2 ? 2 : 6;
      return [problem('database', `database_${code}`, exit, message, hint ?? 'Name another file with --db.')];
    }
    case 'usable': {
      const { v3Records, v4Records, open } = facts;
      const text = `${database}: ${groupDigits(v3Records)} V3 and ${countOf(v4Records, 'V4 record')}.`;
      return [
        ok('database', 'database_usable', text),
        ...open.map((one) => note('database', 'database_open', one)),
      ];
    }
  }
}

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
  for (const { generation, uniqueRecords } of facts.groups) records[generation] += uniqueRecords;
  return {
    kind: 'usable',
    v3Records: records.v3,
    v4Records: records.v4,
    open: findIncomplete(facts).map(({ text, next }) => `${text} Next: ${next}`),
    pairs: facts.lastRun === undefined ? null : countPairs(db),
    ambiguous: facts.lastRun === undefined ? [] : readAmbiguousCompanies(db, EVERYTHING),
  };
}

function countPairs(db: Db): Record<CompanyMatch, number> {
  const counts: Record<CompanyMatch, number> = { same_id: 0, overlap: 0, file: 0, ambiguous: 0, none: 0 };
  for (const { matched_by } of iterateCompanyRows(db)) counts[matched_by] += 1;
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
export async function readUserFiles(config: Config) {
  const named = await orError(() => readCompaniesFile(config));
  const decisions = await orError(() => readDecisionsFile(config));
  return {
    named: named instanceof SvcError ? [] : named,
    fileErrors: [
      ...(named instanceof SvcError ? [['companies_file', named] as const] : []),
      ...(decisions instanceof SvcError ? [['decisions_file', decisions] as const] : []),
    ],
  };
}

/** The result of `work`, or the error that a user can correct. */
export async function orError<T>(work: () => T | Promise<T>): Promise<T | SvcError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SvcError) return error;
    throw error;
  }
}

/** Looks for the files and connection strings of the targets of `apply`, without connecting. */
export function readTargets({ apply }: Config, env: Env): LocalFacts['targets'] {
  return apply.targets.map((target) => ({ name: target.name, missing: findMissing(target, env) }));
}

function findMissing(target: ApplyTarget, env: Env): string | null {
  if (isServer(target) && target.urlEnv !== undefined)
    return (env[target.urlEnv] ?? '') === '' ? `environment variable ${target.urlEnv} is not set` : null;
  const file = isServer(target) ? (target.urlFile ?? '') : target.file;
  return existsSync(file) ? null : `${file} does not exist`;
}

/** Whether the targets of `apply` can be reached from this machine. */
export function judgeTargets({ targets }: Pick<LocalFacts, 'targets'>): Finding[] {
  if (targets.length === 0) return [];
  const absent = targets.flatMap(({ name, missing }) =>
    missing === null ? [] : [`Target ${name}: ${missing}.`],
  );
  const fix = 'Provide it before you run `apply`, or run `apply` on a machine that has it.';
  if (absent.length > 0) return absent.map((text) => warning('targets', 'target_missing', text, fix));
  const text = `${countOf(targets.length, 'target')} of apply: files and connection strings exist.`;
  return [ok('targets', 'targets_there', text)];
}

import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../../config/config.js';
import type { CompanyMatch } from '../../domain.js';
import { SvcError } from '../../errors.js';
import { hasUnfinishedLog } from '../../store/database-file.js';
import type { Db } from '../../store/open.js';
import { readReadiness } from '../../store/readiness.js';
import { EVERYTHING } from '../../store/remap-rows.js';
import { iterateCompanyRows, readAmbiguousCompanies } from '../../store/remap-tables.js';
import { countOf, formatBytes, formatTime, groupDigits } from '../../text/numbers.js';
import {
  type Checked,
  type DatabaseFacts,
  type Finding,
  type LocalContext,
  note,
  ok,
  problem,
  type RemoteContext,
  warning,
} from './check.js';
import type { ListAnswer } from './sample-lists.js';

/** As in `engines` of package.json. */
const OLDEST_NODE = '20.18.1';

/** Whether this Node.js is recent enough, and SQLite can be loaded. */
export function checkProgram({ node, sqlite }: Pick<LocalContext, 'node' | 'sqlite'>): Checked {
  const findings: Finding[] = [];
  if (node.localeCompare(OLDEST_NODE, 'en', { numeric: true }) < 0) {
    const fix = `Install Node.js ${OLDEST_NODE} or later.`;
    findings.push(problem('node_old', 6, `Node.js ${node} is too old.`, fix));
  }
  if (sqlite === null) {
    const fix =
      'Install svc-migrate again with the Node.js that is to run it, and with its optional dependencies.';
    findings.push(problem('sqlite_missing', 6, 'SQLite cannot be loaded.', fix));
  }
  return {
    findings: findings.length > 0 ? findings : [ok('versions', `Node.js ${node}, SQLite ${sqlite}.`)],
  };
}

/** What the configuration names, what it leaves to guesses, and the errors of the files that it names. */
export function checkConfig({
  config: { models, v3, file, backfill },
  fileErrors,
  nowMs,
}: LocalContext): Checked {
  const guessed = models.filter(({ v4Guessed, v4 }) => v4Guessed && v4 !== null).length;
  const text = `${file}: ${countOf(models.length, 'model')}, ${countOf(v3.regions.length, 'V3 region')}.`;
  const findings: Finding[] = [ok('config_valid', text)];
  if (guessed > 0) {
    const names = guessed === 1 ? 'V4 name is a guess' : 'V4 names are guesses';
    const why = `because "models" does not name ${guessed === 1 ? 'it' : 'them'}`;
    const fix =
      'Once V4 answers to them, `svc-migrate doctor --write-config FILE` writes them into "models".';
    findings.push(note('names_guessed', `${groupDigits(guessed)} ${names}, ${why}.`, fix));
  }
  for (const [code, { message, hint }] of fileErrors) {
    findings.push(problem(code, 6, message, hint ?? 'Correct the file.'));
  }
  findings.push(...judgeWindow(backfill, nowMs));
  return { findings };
}

/** Whether every key is set. Regions may share a key: its message names all of them, and is shown once. */
export function checkKeys({ keyErrors }: LocalContext): Checked {
  const byMessage = new Map([...keyErrors.values()].map((error) => [error.message, error]));
  const findings = [...byMessage.values()].map(({ message, hint }) =>
    problem('key_unusable', 2, message, hint ?? 'Set the key.'),
  );
  return { findings };
}

/** Whether the start of V4's history can be what is configured; nothing is said of one that is. */
function judgeWindow({ sinceMs, isRelative }: Config['backfill'], nowMs: number): Finding[] {
  if (sinceMs === null) return [];
  const since = formatTime(new Date(sinceMs).toISOString());
  if (sinceMs > nowMs) {
    const text = `backfill.since is in the future: ${since}.`;
    return [problem('window_in_future', 2, text, 'Set it to the start of what V4 loaded.')];
  }
  if (isRelative !== true) return [];
  const text = `backfill.days counts back from now, so the start of V4's history moves: today it is ${since}.`;
  return [warning('window_moves', text, 'Once the first sync has begun, set backfill.since to its start.')];
}

/** Bytes of a record in the database besides its payload, with its remap row and indexes: measured 350. */
const BYTES_PER_RECORD = 400;
/** Stored bytes per byte of a payload, compressed: measured 0.16 to 0.35. */
const PAYLOAD_RATIO = 0.4;

type Sampled = Pick<RemoteContext, 'v3' | 'v4' | 'config'>;

/** The estimated size of a complete database. */
export interface DiskEstimate {
  readonly records: number;
  readonly bytes: number;
  /** Lists that gave no count; they are left out. */
  readonly uncounted: number;
}

/** Estimates from the counts of all requested lists; other V4 companies are assumed to be like those requested. */
export function estimateDisk({ config, v3: regions, v4: host }: Sampled): DiskEstimate {
  const v3 = regions.flatMap(({ lists }) => lists.map(({ answer }) => answer));
  const v4 = host.lists.map(({ answer }) => answer);
  const countIn = (answers: readonly ListAnswer[]): number =>
    answers.reduce((sum, answer) => sum + (answer.kind === 'answers' ? (answer.totalCount ?? 0) : 0), 0);
  const scale = host.asked.length === 0 ? 0 : host.companies.length / host.asked.length;
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

/** Whether the disk has room for a complete database. */
export function checkDisk(context: Sampled): Checked {
  const disk = readDisk(context.config.database);
  const estimate = estimateDisk(context);
  return { findings: judgeDisk(disk, estimate, context.config), facts: { disk: { ...disk, estimate } } };
}

interface Disk {
  /** Free bytes on the disk of the database, or of the folder it would be created in; null if unknown. */
  readonly freeBytes: number | null;
  readonly databaseBytes: number;
}

function readDisk(database: string): Disk {
  const databaseBytes = statSync(database, { throwIfNoEntry: false })?.size ?? 0;
  try {
    const { bavail, bsize } = statfsSync(existsSync(database) ? database : dirname(database));
    return { freeBytes: bavail * bsize, databaseBytes };
  } catch {
    // The folder may not exist.
    return { freeBytes: null, databaseBytes };
  }
}

/** Warns below twice the estimate. */
export function judgeDisk(
  { freeBytes, databaseBytes }: Disk,
  { records, bytes, uncounted }: DiskEstimate,
  { payload }: Pick<Config, 'payload'>,
): Finding[] {
  if (freeBytes === null) return [];
  const free = `${formatBytes(freeBytes)} are free.`;
  if (records === 0) return [ok('disk_free', free)];
  const needed = Math.max(0, bytes - databaseBytes);
  const without = uncounted > 0 ? `; ${countOf(uncounted, 'list')} gave no count` : '';
  const text = `About ${formatBytes(bytes)} for ${countOf(records, 'record')} (an estimate${without}), ${free}`;
  const fewer = payload === 'full' ? ', or set "payload" to "ids"' : '';
  const fix = `Put the database on a larger disk with "database" or --db${fewer}.`;
  if (freeBytes < needed) return [problem('disk_full', 6, text, fix)];
  return [freeBytes < 2 * needed ? warning('disk_tight', text, fix) : ok('disk_free', text)];
}

/** Whether the database can be used, and what is unfinished in it. */
export function checkDatabase({ database: facts, config: { database } }: RemoteContext): Checked {
  switch (facts.kind) {
    case 'none': {
      const text = `${database}: does not exist yet; the first export creates it.`;
      return { findings: [ok('database_none', text)] };
    }
    case 'interrupted': {
      const text = `${database}: a process died while writing; the next command rolls its transaction back.`;
      return { findings: [note('database_interrupted', text)] };
    }
    case 'unusable': {
      const { code, exitCode, message, hint } = facts.error;
      const exit = exitCode === 2 ? 2 : 6;
      const fix = hint ?? 'Name another file with --db.';
      return { findings: [problem(`database_${code}`, exit, message, fix)] };
    }
    case 'usable': {
      const { v3Records, v4Records } = facts;
      const text = `${database}: ${groupDigits(v3Records)} V3 and ${countOf(v4Records, 'V4 record')}.`;
      return { findings: [ok('database_usable', text)] };
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
  const hasRemap = facts.lastRun !== undefined;
  return {
    kind: 'usable',
    v3Records: records.v3,
    v4Records: records.v4,
    pairs: hasRemap ? countPairs(db) : null,
    ambiguous: hasRemap ? readAmbiguousCompanies(db, EVERYTHING) : [],
  };
}

function countPairs(db: Db): Record<CompanyMatch, number> {
  const counts: Record<CompanyMatch, number> = { same_id: 0, overlap: 0, file: 0, ambiguous: 0, none: 0 };
  for (const { matched_by } of iterateCompanyRows(db)) counts[matched_by] += 1;
  return counts;
}

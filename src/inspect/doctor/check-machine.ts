import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../../config/config.js';
import { SvcError } from '../../errors.js';
import { hasUnfinishedLog } from '../../store/database-file.js';
import type { Db } from '../../store/open.js';
import { readReadiness } from '../../store/readiness.js';
import { EVERYTHING } from '../../store/remap-rows.js';
import { countOf, formatBytes, formatTime, groupDigits } from '../../text/numbers.js';
import {
  type DatabaseFacts,
  type Finding,
  type LocalContext,
  note,
  ok,
  problem,
  type RemoteContext,
  warning,
} from './check.js';
import { countRecords } from './sample-lists.js';

/** As in `engines` of package.json. */
const OLDEST_NODE = '20.18.1';

/** Whether this Node.js is recent enough, and SQLite can be loaded. */
export function checkProgram({ node, sqlite }: Pick<LocalContext, 'node' | 'sqlite'>): Finding[] {
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
  return findings.length > 0 ? findings : [ok('versions', `Node.js ${node}, SQLite ${sqlite}.`)];
}

/** What the configuration names, what it leaves to guesses, and the errors of the files that it names. */
export function checkConfig({
  config: { models, v3, file, backfill },
  fileErrors,
  nowMs,
}: LocalContext): Finding[] {
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
  return [...findings, ...judgeWindow(backfill, nowMs)];
}

/** Whether every key is set. Regions may share a key: its message names all of them, and is shown once. */
export function checkKeys({ keyErrors }: LocalContext): Finding[] {
  const byMessage = new Map([...keyErrors.values()].map((error) => [error.message, error]));
  return [...byMessage.values()].map(({ message, hint }) =>
    problem('key_unusable', 2, message, hint ?? 'Set the key.'),
  );
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

/** Less free space than this is a warning. */
const LITTLE_BYTES = 1 << 30;

const LARGER_DISK = 'Put the database on a larger disk with "database" or --db, or set "payload" to "ids".';

/** How much room there is for the database. */
export function checkDisk({ config: { database } }: LocalContext): Finding[] {
  const free = freeBytesFor(database);
  if (free === null) return [];
  const text = `${formatBytes(free)} are free where the database is.`;
  return [free >= LITTLE_BYTES ? ok('disk_free', text) : warning('disk_low', text, LARGER_DISK)];
}

/** Bytes of a record in the database besides its payload, with its remap row and indexes: measured 350. */
const BYTES_PER_RECORD = 400;
/** Stored bytes per byte of a payload, compressed: measured 0.16 to 0.35. */
const PAYLOAD_RATIO = 0.4;

/** Whether both exports fit on the disk; V4 companies that were not asked count like the others. */
export function checkRoom({ config: { database, payload }, v3, v4 }: RemoteContext): Finding[] {
  const free = freeBytesFor(database);
  const inV3 = v3.flatMap(({ lists }) => lists);
  const inV4 = (countRecords(v4.lists) * v4.companies.length) / Math.max(1, v4.asked.length);
  const records = Math.round(countRecords(inV3) + inV4);
  const pages = [...inV3, ...v4.lists].flatMap(({ answer }) => (answer.kind === 'answers' ? [answer] : []));
  const sum = (sizes: readonly number[]) => sizes.reduce((all, size) => all + size, 0);
  const body =
    sum(pages.map(({ bytes }) => bytes)) / Math.max(1, sum(pages.map((page) => page.records.length)));
  const bytes = records * (BYTES_PER_RECORD + (payload === 'full' ? body * PAYLOAD_RATIO : 0));
  const existing = statSync(database, { throwIfNoEntry: false })?.size ?? 0;
  if (free === null || free >= bytes - existing) return [];
  const text = `About ${formatBytes(bytes)} for ${countOf(records, 'record')}, by a sample; ${formatBytes(free)} are free.`;
  return [problem('disk_full', 6, text, LARGER_DISK)];
}

/** Null if it is unknown: the folder may not exist. */
function freeBytesFor(database: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(existsSync(database) ? database : dirname(database));
    return bavail * bsize;
  } catch {
    return null;
  }
}

/** Whether the database can be used, and what is unfinished in it. */
export function checkDatabase({ database: facts, config: { database } }: RemoteContext): Finding[] {
  switch (facts.kind) {
    case 'none':
      return [ok('database_none', `${database}: does not exist yet; the first export creates it.`)];
    case 'interrupted': {
      const text = `${database}: a process died while writing; the next command rolls its transaction back.`;
      return [note('database_interrupted', text)];
    }
    case 'unusable': {
      const { code, exitCode, message, hint } = facts.error;
      const exit = exitCode === 2 ? 2 : 6;
      return [problem(`database_${code}`, exit, message, hint ?? 'Name another file with --db.')];
    }
    case 'usable': {
      const counts = `${groupDigits(facts.v3Records)} V3 and ${countOf(facts.v4Records, 'V4 record')}`;
      return [ok('database_usable', `${database}: ${counts}.`)];
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
  const records = { v3: 0, v4: 0 };
  for (const { generation, uniqueRecords } of readReadiness(db, config, EVERYTHING).groups) {
    records[generation] += uniqueRecords;
  }
  return { kind: 'usable', v3Records: records.v3, v4Records: records.v4 };
}

import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config/config.js';
import type { SvcError } from '../errors.js';
import { countOf, formatBytes, formatTime, groupDigits } from '../text/numbers.js';
import type { Findings } from './finding.js';

export interface LocalFacts {
  readonly config: Config;
  readonly nowMs: number;
  /** Why a key cannot be used; by region, '' for V4. */
  readonly keyErrors: ReadonlyMap<string, SvcError>;
  /** Why `companies.csv` or `decisions.csv` cannot be used. */
  readonly fileErrors: readonly SvcError[];
  /** Why the database cannot be used; null if it can, or does not exist yet. */
  readonly databaseError: SvcError | null;
  /** Null if SQLite cannot be loaded. */
  readonly sqlite: string | null;
}

export function checkConfig({ config, fileErrors, nowMs }: LocalFacts, findings: Findings): void {
  const { models, v3, file, backfill, http } = config;
  const counts = `${countOf(models.length, 'model')}, ${countOf(v3.regions.length, 'V3 region')}`;
  findings.ok('config_valid', `${file}: ${counts}.`);
  const guessed = models.filter(({ v4Guessed, v4 }) => v4Guessed && v4 !== null).length;
  if (guessed > 0) {
    const text = `V4 names of ${countOf(guessed, 'model')} are guesses: "models" does not name them.`;
    findings.note('names_guessed', text, 'Paste "models" as shown below once V4 answers to the names.');
  }
  for (const { message, hint } of fileErrors)
    findings.problem('input_file', 6, message, hint ?? 'Correct the file.');
  if (http.allowHttp) {
    findings.warning(
      'plain_http',
      'http.allowHttp lets the API key be sent unencrypted.',
      'Use https and remove it.',
    );
  }
  if (backfill.sinceMs === null) return;
  const since = formatTime(new Date(backfill.sinceMs).toISOString());
  if (backfill.sinceMs > nowMs) {
    findings.problem('window_in_future', 2, `backfill.since is in the future: ${since}.`, 'Correct it.');
  } else if (backfill.days !== undefined) {
    const text = `backfill.days counts back from now; today V4's history would start at ${since}.`;
    findings.warning('window_moves', text, 'Set backfill.since once the first sync has begun.');
  }
}

export function checkKeys({ keyErrors, config }: LocalFacts, findings: Findings): void {
  // Regions may share a key: its message names all of them.
  const byMessage = new Map([...keyErrors.values()].map((error) => [error.message, error]));
  for (const { message, hint } of byMessage.values()) {
    findings.problem('key_unusable', 2, message, hint ?? 'Set the key.');
  }
  const set = config.v3.regions.length + 1 - keyErrors.size;
  if (keyErrors.size === 0) findings.ok('keys_set', `${countOf(set, 'key')} can be read.`);
}

export function checkDatabase({ config, databaseError, sqlite }: LocalFacts, findings: Findings): void {
  const { database } = config;
  if (sqlite === null) {
    const fix = 'Install svc-migrate again with this Node.js, and with its optional dependencies.';
    findings.problem('sqlite_missing', 6, 'SQLite cannot be loaded.', fix);
  }
  const exists = existsSync(database);
  const path = exists ? database : dirname(database);
  if (!isWritable(path)) {
    findings.problem(
      'database_not_writable',
      6,
      `${path} cannot be written.`,
      'Name another file with "database" or --db.',
    );
  } else if (databaseError !== null) {
    const { code, exitCode, message, hint } = databaseError;
    findings.problem(
      `database_${code}`,
      exitCode === 2 ? 2 : 6,
      message,
      hint ?? 'Name another file with --db.',
    );
  } else if (exists) findings.ok('database_usable', `${database} can be used.`);
  else findings.ok('database_none', `${database} does not exist yet: the first export creates it.`);
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Less free space than this is a warning. */
const LITTLE_BYTES = 2 ** 30;

export function checkDisk({ config: { database } }: LocalFacts, findings: Findings): void {
  const free = freeBytesFor(database);
  if (free === null) return;
  const text = `${formatBytes(free)} are free where the database is, enough for about ${groupDigits(Math.floor(free / 1e6))} thousand records.`;
  if (free >= LITTLE_BYTES) findings.ok('disk_free', text);
  else
    findings.warning(
      'disk_low',
      text,
      'Name a larger disk with "database" or --db, or set "payload" to "ids".',
    );
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

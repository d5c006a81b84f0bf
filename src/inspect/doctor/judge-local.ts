import type { Config } from '../../config/config.js';
import { formatTime, groupDigits } from '../../text/numbers.js';
import { estimateDisk } from './estimate-disk.js';
import type { DatabaseFacts, LocalFacts, RemoteFacts } from './facts.js';
import { type Finding, note, ok, type ProblemCode, problem, warning } from './finding.js';

/** As package.json has it. */
const OLDEST_NODE = [20, 18, 1] as const;
const DAY_MS = 86_400_000;
/** The service suggests windows up to a quarter. */
const LONG_WINDOW_MS = 100 * DAY_MS;

export function judgeProgram({ node, sqlite }: Pick<LocalFacts, 'node' | 'sqlite'>): Finding[] {
  const findings = [];
  if (isOlder(node)) {
    findings.push(
      problem(
        'program',
        'node_old',
        6,
        `Node.js ${node} is too old.`,
        `Install Node.js ${OLDEST_NODE.join('.')} or later.`,
      ),
    );
  }
  if (sqlite === null) {
    findings.push(
      problem(
        'program',
        'sqlite_missing',
        6,
        'SQLite cannot be loaded.',
        'Install svc-migrate again with the Node.js that is to run it, and with its optional dependencies.',
      ),
    );
  }
  if (findings.length > 0) return findings;
  return [ok('program', 'versions', `Node.js ${node}, SQLite ${sqlite}.`)];
}

function isOlder(node: string): boolean {
  const parts = node.split('.').map(Number);
  for (const [at, least] of OLDEST_NODE.entries()) {
    if ((parts[at] ?? 0) !== least) return (parts[at] ?? 0) < least;
  }
  return false;
}

export function judgeConfig(
  config: Config,
  { companiesError }: Pick<LocalFacts, 'companiesError'>,
): Finding[] {
  const { models, v3, file } = config;
  const guessed = models.filter(({ v4Guessed, v4 }) => v4Guessed && v4 !== null).length;
  const findings = [
    ok(
      'configuration',
      'config_valid',
      `${file}: ${models.length} models, ${v3.regions.length} V3 ${v3.regions.length === 1 ? 'region' : 'regions'}.`,
    ),
  ];
  if (guessed > 0) {
    findings.push(
      note(
        'configuration',
        'names_guessed',
        `${groupDigits(guessed)} V4 names are guesses, because "models" does not name them.`,
        'Write those that V4 answers to into "models".',
      ),
    );
  }
  if (companiesError !== null) {
    findings.push(
      problem(
        'configuration',
        'companies_file',
        6,
        companiesError.message,
        companiesError.hint ?? 'Mend the file.',
      ),
    );
  }
  return findings;
}

export function judgeBackfill({ backfill }: Config, nowMs: number): Finding[] {
  const { sinceMs, isRelative } = backfill;
  if (sinceMs === null) {
    return [
      note(
        'backfill',
        'window_inferred',
        'The window that V4 loaded is not configured: it is inferred from V4, where that can be.',
        'Set backfill.since if the operator can tell it.',
      ),
    ];
  }
  const since = formatTime(new Date(sinceMs).toISOString());
  if (sinceMs > nowMs) {
    return [
      problem(
        'backfill',
        'window_in_future',
        2,
        `backfill.since is in the future: ${since}.`,
        'Set it to the start of what V4 loaded.',
      ),
    ];
  }
  if (isRelative === true) {
    return [
      warning(
        'backfill',
        'window_moves',
        `backfill.days counts back from now, so the window's start moves: today it is ${since}.`,
        'Once the first sync has begun, set backfill.since to its start.',
      ),
    ];
  }
  if (nowMs - sinceMs > LONG_WINDOW_MS) {
    return [
      note(
        'backfill',
        'window_long',
        `The window starts at ${since}, more than a quarter ago: the service suggests at most that.`,
      ),
    ];
  }
  return [ok('backfill', 'window', `The window starts at ${since}.`)];
}

/** Is there room for everything? Twice the estimate, because it is one. */
export function judgeDisk(remote: RemoteFacts, local: LocalFacts, config: Config): Finding[] {
  const { freeBytes, databaseBytes } = local;
  const { records, bytes, uncounted } = estimateDisk(remote, config);
  if (freeBytes === null || records === 0) {
    return freeBytes === null ? [] : [ok('disk', 'disk_free', `${formatBytes(freeBytes)} are free.`)];
  }
  const needed = Math.max(0, bytes - databaseBytes);
  const without = uncounted > 0 ? `; ${groupDigits(uncounted)} lists gave no count` : '';
  const text = `About ${formatBytes(bytes)} for ${groupDigits(records)} records (an estimate${without}), ${formatBytes(freeBytes)} are free.`;
  const fix = `Put the database on a larger disk with "database" or --db${config.payload === 'full' ? ', or set "payload" to "ids"' : ''}.`;
  if (freeBytes < needed) return [problem('disk', 'disk_full', 6, text, fix)];
  if (freeBytes < 2 * needed) return [warning('disk', 'disk_tight', text, fix)];
  return [ok('disk', 'disk_free', text)];
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'] as const;

function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${groupDigits(value < 10 && unit > 0 ? Number(value.toFixed(1)) : Math.round(value))} ${UNITS[unit]}`;
}

export function judgeDatabase(facts: DatabaseFacts, { database }: Config): Finding[] {
  switch (facts.kind) {
    case 'none':
      return [ok('database', 'database_none', `${database}: not there yet; the first export makes it.`)];
    case 'interrupted':
      return [
        note(
          'database',
          'database_interrupted',
          `${database}: a process died while it wrote; the next command takes back what was half written.`,
        ),
      ];
    case 'unusable': {
      const { code, exitCode, message, hint } = facts.error;
      const exit: ProblemCode = exitCode === 2 ? 2 : 6;
      return [problem('database', `database_${code}`, exit, message, hint ?? 'Name another file with --db.')];
    }
    case 'usable': {
      const { v3Records, v4Records, open } = facts;
      const text = `${database}: ${groupDigits(v3Records)} V3 and ${groupDigits(v4Records)} V4 records.`;
      return [
        ok('database', 'database_usable', text),
        ...open.map((one) => note('database', 'database_open', one)),
      ];
    }
  }
}

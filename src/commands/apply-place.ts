import { existsSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { readHead } from '../apply/files/file-snapshot.js';
import type { ApplyTarget } from '../config/apply-targets.js';
import type { Config } from '../config/config.js';
import type { Env } from '../domain.js';
import { SvcError } from '../errors.js';
import { shellLine } from '../text/escape.js';
import { didYouMean } from '../text/suggest.js';

/** A file or database that a word of the command line names. */
export interface Place {
  readonly kind: ApplyTarget['kind'];
  readonly name: string;
  readonly file?: string;
  readonly urlEnv?: string;
}

export function isTextFile({ kind }: Pick<Place, 'kind'>): boolean {
  return kind === 'csv' || kind === 'ndjson';
}

const SQLITE_FILE = /\.(db|db3|sqlite|sqlite3)$/i;
const TEXT_FILE = /\.(csv|tsv|ndjson|jsonl)$/i;

/**
 * @throws SvcError `usage` if there are none, with a command that looks for some: in a database or file that is there, if one is
 */
export function assertSomeTargets(targets: readonly ApplyTarget[], config: Config, env: Env): void {
  if (targets.length > 0) return;
  const own = basename(config.database);
  const urls = Object.keys(env).filter((name) => serverOf(env[name]) !== null);
  const files = readdirSync('.').filter((name) => name !== own && TEXT_FILE.test(name));
  const databases = readdirSync('.').filter((name) => name !== own && SQLITE_FILE.test(name));
  const [found] = [...urls, ...databases, ...files];
  const find = found === undefined ? null : shellLine(['svc-migrate', 'apply', 'find', found]);
  throw new SvcError('usage', 'No target is configured or named, so there is no place to look for ids.', {
    hint:
      find === null
        ? 'Name a file, or the environment variable with the address of a database: see `svc-migrate help apply`.'
        : `\`${find}\` looks for V3 ids there, and prints targets for the configuration.`,
  });
}

/** @throws SvcError `usage` if a word names neither a file nor a database */
export function placeOf(word: string, config: Config, env: Env): Place {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(word)) {
    throw new SvcError('usage', 'Connection strings are never given on the command line.', {
      hint: 'Put it into an environment variable, and name that as the target.',
    });
  }
  const url = env[word];
  const server = serverOf(url);
  if (server !== null) return { kind: server, name: word, urlEnv: word };
  if (existsSync(word) || /[./\\]/.test(word))
    return { kind: kindOfFile(word), name: basename(word), file: word };
  const known = config.apply.targets.map(({ name }) => name);
  const hint =
    url === undefined
      ? (didYouMean(word, known) ?? 'Targets are named under apply.targets in the configuration.')
      : 'Its environment variable holds no address like postgres://… or mysql://….';
  throw new SvcError('usage', `There is no configured target, file or environment variable "${word}".`, {
    hint,
  });
}

function serverOf(url: string | undefined): 'postgres' | 'mysql' | null {
  if (url === undefined) return null;
  if (/^postgres(ql)?:\/\//i.test(url)) return 'postgres';
  return /^(mysql|mariadb):\/\//i.test(url) ? 'mysql' : null;
}

/** What a file is, by its first bytes where its name does not say. */
function kindOfFile(file: string): 'csv' | 'ndjson' | 'sqlite' {
  const head = startOf(file);
  if (head.startsWith('SQLite format 3\0')) return 'sqlite';
  if (/\.(csv|tsv)$/i.test(file)) return 'csv';
  if (/\.(ndjson|jsonl)$/i.test(file)) return 'ndjson';
  if (SQLITE_FILE.test(file)) return 'sqlite';
  return /^(\u00ef\u00bb\u00bf)?\s*[[{]/.test(head) ? 'ndjson' : 'csv';
}

/** The first bytes of a file; '' if it cannot be read, which is reported when it is opened. */
function startOf(file: string): string {
  try {
    return readHead(file, 64).toString('latin1');
  } catch {
    return '';
  }
}

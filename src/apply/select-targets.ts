import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import {
  type ApplyTarget,
  applyTargetSchema,
  type DatabasePlace,
  MODEL_REF,
} from '../config/apply-targets.js';
import type { Env } from '../domain.js';
import { SvcError } from '../errors.js';
import { endWithSuggestion } from '../text/suggest.js';
import type { Connection, Database } from './db/database.js';

/** What a command works on: a target with its ids, or a place whose state says what was written there. */
export type Selection =
  | { readonly kind: 'target'; readonly target: ApplyTarget }
  | { readonly kind: 'place'; readonly place: DatabasePlace; readonly table: string | null };

export interface SelectOptions {
  readonly words: readonly string[];
  readonly table: string | undefined;
  readonly ids: readonly string[];
}

type Kind = ApplyTarget['kind'];

/**
 * The targets that a command line names: configured ones by name, or one file or environment variable with `--table` and
 * `--ids`. Without names: all that are configured.
 *
 * @throws SvcError `usage`
 */
export function selectTargets(
  { words, table, ids }: SelectOptions,
  configured: readonly ApplyTarget[],
  env: Env,
): Selection[] {
  if (words.length === 0) {
    if (table !== undefined || ids.length > 0)
      throw usage('--table and --ids describe a file or an environment variable: name it.');
    if (configured.length === 0)
      throw usage(
        'No targets are configured.',
        'Name a file or an environment variable, or fill apply.targets: `svc-migrate apply find` proposes lines.',
      );
    return configured.map((target) => ({ kind: 'target', target }));
  }
  const named = words.map((word) => configured.find((target) => target.name === word));
  if (named.every((target) => target !== undefined) && table === undefined && ids.length === 0)
    return named.map((target) => ({ kind: 'target', target }));
  const [word = ''] = words;
  const kind = findKind(word, env);
  if (kind === null) {
    const names = configured.map((target) => target.name);
    throw usage(
      `"${word}" is neither a configured target, nor a file, nor an environment variable${endWithSuggestion(word, names)}`,
    );
  }
  if (words.length > 1) throw usage('Name one file or environment variable.');
  return [describe(word, kind, table, ids)];
}

/** The kind of a file or of the database behind an environment variable; null if there is neither. */
export function findKind(word: string, env: Env): Kind | null {
  const url = env[word];
  if (url !== undefined && url !== '') {
    if (/^postgres(?:ql)?:/i.test(url)) return 'postgres';
    if (/^(?:mysql|mariadb):/i.test(url)) return 'mysql';
    throw usage(
      `The environment variable ${word} does not hold the address of a PostgreSQL, MySQL or MariaDB database.`,
      'It must look like postgresql://user@host/database.',
    );
  }
  const extension = extname(word).toLowerCase();
  const isThere = existsSync(word);
  if (isThere && statSync(word).isDirectory()) throw usage(`${word} is a folder: name a file in it.`);
  if (isThere && isSqlite(word)) return 'sqlite';
  if (['.csv', '.tsv'].includes(extension)) return 'csv';
  if (['.ndjson', '.jsonl'].includes(extension)) return 'ndjson';
  if (['.db', '.sqlite', '.sqlite3'].includes(extension)) return 'sqlite';
  return isThere ? 'csv' : null;
}

const SQLITE_HEADER = 'SQLite format 3\0';

function isSqlite(file: string): boolean {
  const bytes = Buffer.alloc(SQLITE_HEADER.length);
  const handle = openSync(file, 'r');
  try {
    readSync(handle, bytes, 0, bytes.length, 0);
  } finally {
    closeSync(handle);
  }
  return bytes.toString('latin1') === SQLITE_HEADER;
}

function describe(word: string, kind: Kind, table: string | undefined, ids: readonly string[]): Selection {
  const isText = kind === 'csv' || kind === 'ndjson';
  if (isText && table !== undefined) throw usage(`--table does not go with ${kind} files.`);
  if (ids.length === 0 && !isText) return { kind: 'place', place: placeOf(word, kind), table: table ?? null };
  const place = isText || kind === 'sqlite' ? { file: resolve(word) } : { urlEnv: word };
  const named = table === undefined ? {} : { table };
  const parsed = applyTargetSchema.safeParse({ name: word, kind, ...place, ...named, ids: ids.map(parseId) });
  if (parsed.success) return { kind: 'target', target: parsed.data };
  const [issue] = parsed.error.issues;
  const at = issue?.path[0];
  if (at === 'table') throw usage(`Name the table of ${word} with --table.`);
  if (ids.length === 0)
    throw usage(`Name the columns of ${word} with --ids.`, 'Example: --ids invoice_id=accounting/invoices');
  throw usage(`--ids ${issue?.message ?? 'is not valid'}.`);
}

function placeOf(word: string, kind: Kind): DatabasePlace {
  if (kind === 'sqlite') return { kind, file: resolve(word) };
  if (kind === 'postgres' || kind === 'mysql') return { kind, urlEnv: word };
  throw usage(`${word} is a ${kind} file.`);
}

function parseId(text: string): unknown {
  if (text.startsWith('{')) {
    try {
      return JSON.parse(text);
    } catch {
      throw usage(`--ids ${text} is not JSON.`);
    }
  }
  const at = text.lastIndexOf('=');
  const model = text.slice(at + 1);
  if (at > 0 && MODEL_REF.test(model)) return { column: text.slice(0, at), model };
  throw usage(`--ids ${text} is not column=category/model.`, 'Example: --ids invoice_id=accounting/invoices');
}

function usage(sentence: string, hint?: string): SvcError {
  return new SvcError('usage', sentence, { hint });
}

/** The tables among the targets. @throws SvcError `usage` for a place without ids */
export function requireTargets(selections: readonly Selection[]): ApplyTarget[] {
  return selections.map((selection) => {
    if (selection.kind === 'target') return selection.target;
    throw usage(
      `Name the ${selection.table === null ? 'table with --table, and its columns' : 'columns'} with --ids.`,
      '`svc-migrate apply find` proposes them. Example: --table orders --ids invoice_id=accounting/invoices',
    );
  });
}

export async function openPlace(
  place: DatabasePlace,
  mode: 'read' | 'write',
  connection: Connection,
  env: Env,
): Promise<Database> {
  if (place.kind === 'sqlite') {
    const { openSqlite } = await import('./db/sqlite.js');
    return openSqlite(place.file, mode, connection);
  }
  const url = env[place.urlEnv];
  if (url === undefined || url === '') {
    throw new SvcError('usage', `The environment variable ${place.urlEnv} is not set.`, {
      hint: 'It contains the connection string of the database.',
    });
  }
  const options = { ...connection, url, name: place.urlEnv, tls: place.tls ?? 'verified', mode } as const;
  if (place.kind === 'postgres') {
    const { openPostgres } = await import('./db/postgres.js');
    return openPostgres(options);
  }
  const { openMysql } = await import('./db/mysql.js');
  return openMysql(options);
}

/** Targets at the same place share a connection. */
export function placeKey(place: DatabasePlace): string {
  return place.kind === 'sqlite' ? `sqlite ${place.file}` : `${place.kind} ${place.urlEnv}`;
}

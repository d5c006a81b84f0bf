import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { SvcError } from '../../errors.js';
import { isLoopback, toUrl } from '../../text/addresses.js';
import type { Connection } from './database.js';

export interface ServerOptions extends Connection {
  readonly url: string;
  /** The environment variable that contains it, for messages. */
  readonly name: string;
  readonly tls: 'verified' | 'unverified';
  readonly mode: 'read' | 'write';
}

const CONNECT_TIMEOUT_MS = 15_000;

/** Parses a connection string. The message never repeats it, because it may hold a password. */
export function parseAddress(
  { url, name }: ServerOptions,
  protocols: readonly string[],
  example: string,
): URL {
  const parsed = toUrl(url.trim());
  if (parsed !== null && protocols.includes(parsed.protocol) && url.includes('://')) return parsed;
  throw new SvcError('config', `The environment variable ${name} does not hold a connection string.`, {
    hint: `It must look like ${example}.`,
  });
}

/**
 * Parameters of connection strings, each with a pattern of the values that are honoured. Other parameters and values are
 * refused: an ignored `schema` would rewrite another table.
 */
export type Parameters = Readonly<Record<string, RegExp>>;

/** What one connection without prepared statements and without a pool honours by itself (Prisma and others write them). */
export const POOL_PARAMETERS: Parameters = {
  connection_limit: /^[1-9]\d*$/,
  pool_timeout: /^\d+$/,
  connect_timeout: /^\d+$/,
  pgbouncer: /^(?:true|false)$/,
  statement_cache_size: /^\d+$/,
};

/** @throws SvcError `config` for a parameter that is not honoured */
export function assertParameters({ searchParams }: URL, name: string, honoured: Parameters): void {
  for (const key of new Set(searchParams.keys())) {
    const values = searchParams.getAll(key);
    const pattern = Object.hasOwn(honoured, key) ? honoured[key] : undefined;
    if (values.length === 1 && pattern?.test(values[0] ?? '') === true) continue;
    const what = pattern === undefined ? `parameter "${key}"` : `value of the parameter "${key}"`;
    throw new SvcError('config', `The ${what} in ${name} is not supported.`, {
      hint: `Remove it from the connection string. Supported: ${Object.keys(honoured).join(', ')}.`,
    });
  }
}

export function connectTimeout({ searchParams }: URL): number {
  const seconds = Number(searchParams.get('connect_timeout') ?? 0);
  return seconds > 0 ? seconds * 1000 : CONNECT_TIMEOUT_MS;
}

export type TlsMode = 'plain' | 'verified' | 'unverified';

/**
 * Off loopback the certificate is always verified, unless the target allows less. On loopback and Unix sockets the
 * address decides; without a word from it the connection is plain.
 *
 * @param asked PostgreSQL's `sslmode`; null if the address has none
 * @throws SvcError `config` if the address asks for less than the target requires
 */
export function chooseTls(
  host: string,
  asked: string | null,
  { tls, name }: Pick<ServerOptions, 'tls' | 'name'>,
): TlsMode {
  const asksForLess = ['disable', 'allow', 'no-verify'].includes(asked ?? '');
  if (host === '' || host.startsWith('/') || isLoopback(host) || host === '::1') {
    if (asked === null || asked === 'disable' || asked === 'allow' || asked === 'prefer') return 'plain';
    return asked === 'no-verify' || tls === 'unverified' ? 'unverified' : 'verified';
  }
  if (tls === 'unverified') return asked === 'disable' ? 'plain' : 'unverified';
  if (!asksForLess) return 'verified';
  throw new SvcError(
    'config',
    `The address in ${name} would connect to ${host} without a verified certificate.`,
    {
      hint: 'Remove the parameter from the connection string, or set "tls": "unverified" for the target.',
    },
  );
}

export type TlsOptions = { readonly rejectUnauthorized: boolean } & Partial<
  Record<'ca' | 'cert' | 'key', Buffer>
>;

/** @throws SvcError `config` if a file cannot be read */
export function readTls(
  mode: TlsMode,
  files: Readonly<Record<'ca' | 'cert' | 'key', string | null>>,
): TlsOptions {
  const read = Object.entries(files).flatMap(([name, file]) =>
    file === null ? [] : [[name, readTlsFile(file)]],
  );
  // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
  return { rejectUnauthorized: mode === 'verified', ...Object.fromEntries(read) };
}

function readTlsFile(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new SvcError('config', `The certificate file ${file} of the connection string cannot be read.`, {
      cause,
    });
  }
}

export function isAddress(host: string): boolean {
  return isIP(host.replace(/^\[|\]$/g, '')) !== 0;
}

/** The errors that mean the same on every server. */
export const SERVER_ERRORS = {
  lost: (place: string, error: string) =>
    new SvcError('bad_input', `The connection to ${place} was lost or could not be made.`, {
      hint: 'Run the same command again: what was carried out is recorded beside the table.',
      facts: { error },
    }),
  busy: (sentence: string, cause: unknown) =>
    new SvcError('locked', sentence, {
      hint: 'Another program or svc-migrate is working on the table: try again when it has finished.',
      cause,
    }),
  interrupted: () =>
    new SvcError('interrupted', 'Stopped; the running step was rolled back.', {
      hint: 'Run the same command again, or `svc-migrate apply undo`.',
    }),
} as const;

export const REFUSED_HINT = 'The data are unchanged: remove the cause, then run the same command again.';

export const CONSTRAINT_HINT =
  'A constraint of the table refuses the ids; the table is unchanged. Drop the constraint until the switch is done.';

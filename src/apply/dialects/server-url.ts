import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { ConnectionOptions } from 'mysql2';
import type { Env } from '../../domain.js';
import { SvcError } from '../../errors.js';
import { toUrl } from '../../text/addresses.js';

/** The connection strings of a kind of server. */
export interface UrlForm {
  /** The kind, for people. */
  readonly product: string;
  readonly protocols: readonly string[];
  readonly example: string;
}

/**
 * The connection string of a target, which is passed to the driver only.
 *
 * @throws SvcError `config` if it is not set, or not such a URL
 */
export function readUrl(urlEnv: string, env: Env, { product, protocols, example }: UrlForm): string {
  const text = env[urlEnv];
  if (text === undefined || text.trim() === '') {
    throw new SvcError('config', `The environment variable ${urlEnv} holds no connection string.`, {
      hint: `Set it to ${example}.`,
    });
  }
  const url = text.trim();
  // The message does not repeat the string, which holds a password.
  if (!protocols.includes(toUrl(url)?.protocol ?? '') || !url.includes('://')) {
    throw new SvcError(
      'config',
      `The environment variable ${urlEnv} does not hold a ${product} connection string.`,
      {
        hint: `It must look like ${example}.`,
      },
    );
  }
  return url;
}

/** The server and database of a connection string, without user and password. */
export function serverOf(url: string): string {
  const parsed = toUrl(url);
  const host = parsed?.searchParams.get('host') ?? parsed?.searchParams.get('socket') ?? parsed?.host ?? '';
  return `${host === '' ? 'localhost' : host}${parsed?.pathname ?? ''}`;
}

/** The target's setting `tls`. */
export type TlsPolicy = 'verified' | 'unverified';

/** Whether a connection is encrypted, and whether the certificate is checked. */
type TlsMode = 'plain' | 'verified' | 'unverified';

/**
 * How to connect to a host: except on loopback always with a verified certificate, unless the target allows less.
 * On loopback and Unix sockets `sslmode` decides; without one the connection is plain.
 *
 * @returns null if `sslmode` asks for less than the policy requires
 */
export function tlsModeFor(host: string, sslmode: string | null, policy: TlsPolicy): TlsMode | null {
  const asksForLess = ['disable', 'allow', 'no-verify'].includes(sslmode ?? '');
  if (isLocal(host)) {
    if (sslmode === null || sslmode === 'disable' || sslmode === 'allow' || sslmode === 'prefer')
      return 'plain';
    return sslmode === 'no-verify' || policy === 'unverified' ? 'unverified' : 'verified';
  }
  if (policy === 'verified') return asksForLess ? null : 'verified';
  return sslmode === 'disable' ? 'plain' : 'unverified';
}

/** Loopback addresses and Unix sockets. */
function isLocal(host: string): boolean {
  return (
    host === '' ||
    host.startsWith('/') ||
    host === 'localhost' ||
    host === '::1' ||
    /^127(\.\d{1,3}){3}$/.test(host)
  );
}

/** The TLS options of a connection: how the certificate is checked, and the files that were named. */
type Tls = { readonly rejectUnauthorized: boolean } & Partial<Record<'ca' | 'cert' | 'key', Buffer>>;

/** As `tlsModeFor`. `given`: the parameter of the connection string that asks for `sslmode`, as it is written. */
function requireTls(host: string, given: string, sslmode: string | null, policy: TlsPolicy): TlsMode {
  const mode = tlsModeFor(host, sslmode, policy);
  if (mode !== null) return mode;
  const text = `${given} would connect to ${host} without a verified certificate.`;
  throw new SvcError('config', text, {
    hint: 'Remove it from the connection string, or set "tls": "unverified" for the target.',
  });
}

function readTls(mode: TlsMode, files: Readonly<Record<'ca' | 'cert' | 'key', string | null>>): Tls {
  const read = Object.entries(files).flatMap(([name, file]) =>
    file === null ? [] : [[name, readFileSync(file)]],
  );
  // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
  return { rejectUnauthorized: mode === 'verified', ...Object.fromEntries(read) };
}

export const MYSQL_URL: UrlForm = {
  product: 'MySQL or MariaDB',
  protocols: ['mysql:', 'mariadb:'],
  example: 'mysql://user:password@host:3306/database',
};

/** PostgreSQL's `sslmode` for each `ssl-mode` of MySQL's programs. */
const SSL_MODES: Readonly<Record<string, string>> = {
  DISABLED: 'disable',
  PREFERRED: 'prefer',
  REQUIRED: 'require',
  VERIFY_CA: 'verify-ca',
  VERIFY_IDENTITY: 'verify-full',
};

/**
 * The MySQL driver's options for a connection string. Its parameters are `ssl-mode`, `ssl-ca`, `ssl-cert`, `ssl-key` and
 * `socket`; others are ignored.
 *
 * @throws SvcError `config` if it names no database, or asks for less TLS than the policy requires
 */
export function connectionOptions(text: string, policy: TlsPolicy): ConnectionOptions {
  const url = new URL(text);
  const database = decodeURIComponent(url.pathname.slice(1));
  if (database === '') {
    throw new SvcError('config', 'The connection string names no database.', {
      hint: `It must look like ${MYSQL_URL.example}.`,
    });
  }
  const socketPath = url.searchParams.get('socket');
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const ssl = mysqlTls(url, socketPath === null ? host : '', policy);
  return {
    ...(socketPath === null
      ? { host: host === '' ? '127.0.0.1' : host, port: url.port === '' ? 3306 : Number(url.port) }
      : { socketPath }),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database,
    ...(ssl === null ? {} : { ssl }),
  };
}

function mysqlTls({ searchParams }: URL, host: string, policy: TlsPolicy) {
  const given = (name: string) => searchParams.get(`ssl-${name}`);
  const written = given('mode');
  const sslmode = written === null ? null : (SSL_MODES[written.toUpperCase()] ?? 'no-verify');
  const mode = requireTls(host, `ssl-mode=${written}`, sslmode, policy);
  if (mode === 'plain') return null;
  // The driver verifies host names only.
  if (mode === 'verified' && isIP(host) !== 0) {
    throw new SvcError('config', `The certificate of ${host} cannot be verified by its address.`, {
      hint: 'Use the host name in the connection string, or set "tls": "unverified" for the target.',
    });
  }
  const files = { ca: given('ca'), cert: given('cert'), key: given('key') };
  return { ...readTls(mode, files), verifyIdentity: mode === 'verified' };
}

export const POSTGRES_URL: UrlForm = {
  product: 'PostgreSQL',
  protocols: ['postgres:', 'postgresql:'],
  example: 'postgres://user:password@host:5432/database',
};

/** Connection string parameters that PostgreSQL's driver would interpret itself; some of them disable verification. */
const SSL_PARAMETERS = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'uselibpqcompat'];

/**
 * Moves the TLS parameters of a connection string of PostgreSQL into options. `host`: the one the driver connects to.
 *
 * @throws SvcError `config` if the string asks for less than the policy requires
 */
export function secureUrl(
  text: string,
  host: string,
  policy: TlsPolicy,
): { readonly connectionString: string; readonly ssl: false | Tls } {
  const { searchParams } = new URL(text);
  const given = (name: string) => searchParams.get(name);
  const sslmode = given('sslmode') ?? sslmodeOf(given('ssl'));
  const mode = requireTls(host, `sslmode=${sslmode}`, sslmode, policy);
  const files = { ca: given('sslrootcert'), cert: given('sslcert'), key: given('sslkey') };
  return { connectionString: withoutTls(text), ssl: mode === 'plain' ? false : readTls(mode, files) };
}

/** A connection string of PostgreSQL without its TLS parameters, about which the driver would print warnings. */
export function withoutTls(text: string): string {
  const url = new URL(text);
  for (const name of SSL_PARAMETERS) url.searchParams.delete(name);
  return url.href;
}

/** The `sslmode` for the parameter `ssl` of older connection strings. */
function sslmodeOf(ssl: string | null): string | null {
  if (ssl === null) return null;
  if (ssl === 'no-verify') return ssl;
  return ssl === '0' || ssl === 'false' ? 'disable' : 'verify-full';
}

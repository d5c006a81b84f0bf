import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';
import type { ConnectionOptions } from 'node:tls';
import type { PostgresTarget } from '../../config/apply-targets.js';
import { errorCodeOf, SvcError } from '../../errors.js';

type Source = Pick<PostgresTarget, 'urlEnv' | 'urlFile'>;

/** Describes where a connection string comes from; the string itself is passed only to the driver. */
function sourceOf({ urlEnv, urlFile }: Source): string {
  return urlEnv === undefined ? `file ${urlFile ?? ''}` : `environment variable ${urlEnv}`;
}

/**
 * The connection string of a target.
 *
 * @throws SvcError `config` if it is not set, unreadable, readable by other users, or not a PostgreSQL URL
 */
export function readUrl(source: Source, env: Readonly<Record<string, string | undefined>>): string {
  const text = source.urlEnv === undefined ? readUrlFile(source.urlFile ?? '') : env[source.urlEnv];
  if (text === undefined || text.trim() === '') {
    throw new SvcError('config', `The ${sourceOf(source)} holds no connection string.`, {
      hint: 'Set it to postgres://user:password@host:5432/database.',
    });
  }
  const url = text.trim();
  // The message does not repeat the string, which holds a password.
  if (!/^postgres(?:ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw new SvcError('config', `The ${sourceOf(source)} does not hold a PostgreSQL connection string.`, {
      hint: 'It must look like postgres://user:password@host:5432/database.',
    });
  }
  return url;
}

function readUrlFile(file: string): string {
  let fd: number | null = null;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    // Checks the open file, which nobody can replace in between. Windows has no such modes.
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw unreadable(file, 'not a file');
    if ((stats.mode & 0o077) !== 0 && platform() !== 'win32') throw readableByOthers(file);
    return readFileSync(fd, 'utf8');
  } catch (error) {
    if (error instanceof SvcError) throw error;
    throw unreadable(file, errorCodeOf(error));
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

function unreadable(file: string, why: string): SvcError {
  return new SvcError('config', `The file ${file} cannot be read (${why}).`, {
    hint: 'It must hold a PostgreSQL connection string.',
  });
}

function readableByOthers(file: string): SvcError {
  return new SvcError('config', `Others can read ${file}, which holds a password.`, {
    hint: `chmod 600 ${file}`,
  });
}

/** The target's setting `tls`. */
export type TlsPolicy = 'verified' | 'unverified';

/** Whether a connection is encrypted, and whether the certificate is checked. */
export type TlsMode = 'plain' | 'verified' | 'unverified';

/** Connection string parameters that the driver would interpret itself; some of them disable verification. */
const SSL_PARAMETERS = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'uselibpqcompat'];

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

/** A connection string without its TLS parameters, and the TLS options that result from them and the policy. */
export interface SecuredUrl {
  readonly connectionString: string;
  readonly ssl: false | ConnectionOptions;
}

/**
 * Moves the TLS parameters of a connection string into options. `host`: the one the driver connects to.
 *
 * @throws SvcError `config` if the string asks for less than the policy requires
 */
export function secureUrl(text: string, host: string, policy: TlsPolicy): SecuredUrl {
  const url = new URL(text);
  const given = (name: string) => url.searchParams.get(name);
  const sslmode = given('sslmode') ?? sslmodeOf(given('ssl'));
  const mode = tlsModeFor(host, sslmode, policy);
  if (mode === null) {
    throw new SvcError(
      'config',
      `sslmode=${sslmode} would connect to ${host} without a verified certificate.`,
      {
        hint: 'Remove it from the connection string, or set "tls": "unverified" for the target.',
      },
    );
  }
  const files = { ca: given('sslrootcert'), cert: given('sslcert'), key: given('sslkey') };
  for (const name of SSL_PARAMETERS) url.searchParams.delete(name);
  if (mode === 'plain') return { connectionString: url.href, ssl: false };
  const read = Object.entries(files).flatMap(([name, file]) =>
    file === null ? [] : [[name, readFileSync(file)]],
  );
  // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
  const ssl = { rejectUnauthorized: mode === 'verified', ...Object.fromEntries(read) };
  return { connectionString: url.href, ssl };
}

/** The `sslmode` for the parameter `ssl` of older connection strings. */
function sslmodeOf(ssl: string | null): string | null {
  if (ssl === null) return null;
  if (ssl === 'no-verify') return ssl;
  return ssl === '0' || ssl === 'false' ? 'disable' : 'verify-full';
}

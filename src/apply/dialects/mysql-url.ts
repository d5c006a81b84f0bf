import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { ConnectionOptions, SslOptions } from 'mysql2';
import { SvcError } from '../../errors.js';
import { type TlsPolicy, tlsModeFor, type UrlForm } from './server-url.js';

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
 * The driver's options for a connection string. Its parameters are `ssl-mode`, `ssl-ca`, `ssl-cert`, `ssl-key` and
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
  const ssl = tlsOf(url, socketPath === null ? host : '', policy);
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

function tlsOf({ searchParams }: URL, host: string, policy: TlsPolicy): SslOptions | null {
  const given = searchParams.get('ssl-mode');
  const mode = tlsModeFor(
    host,
    given === null ? null : (SSL_MODES[given.toUpperCase()] ?? 'no-verify'),
    policy,
  );
  if (mode === null) {
    throw new SvcError(
      'config',
      `ssl-mode=${given} would connect to ${host} without a verified certificate.`,
      {
        hint: 'Remove it from the connection string, or set "tls": "unverified" for the target.',
      },
    );
  }
  if (mode === 'plain') return null;
  // The driver verifies host names only.
  if (mode === 'verified' && isIP(host) !== 0) {
    throw new SvcError('config', `The certificate of ${host} cannot be verified by its address.`, {
      hint: 'Use the host name in the connection string, or set "tls": "unverified" for the target.',
    });
  }
  const files = ['ca', 'cert', 'key'].flatMap((name) => {
    const file = searchParams.get(`ssl-${name}`);
    return file === null ? [] : [[name, readFileSync(file)]];
  });
  // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED=0 changes the default.
  const isVerified = mode === 'verified';
  return { rejectUnauthorized: isVerified, verifyIdentity: isVerified, ...Object.fromEntries(files) };
}

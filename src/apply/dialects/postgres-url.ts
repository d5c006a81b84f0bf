import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { SvcError } from '../../errors.js';
import { type TlsPolicy, tlsModeFor, type UrlForm } from './server-url.js';

export const POSTGRES_URL: UrlForm = {
  product: 'PostgreSQL',
  protocols: ['postgres:', 'postgresql:'],
  example: 'postgres://user:password@host:5432/database',
};

/** Connection string parameters that the driver would interpret itself; some of them disable verification. */
const SSL_PARAMETERS = ['ssl', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'uselibpqcompat'];

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

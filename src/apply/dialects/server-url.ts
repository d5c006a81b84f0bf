import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';
import type { ServerTarget } from '../../config/apply-targets.js';
import { describeFileError, SvcError } from '../../errors.js';

/** Where a connection string comes from. */
export type UrlSource = Pick<ServerTarget, 'urlEnv' | 'urlFile'>;

/** The connection strings of a kind of server. */
export interface UrlForm {
  /** The kind, for people. */
  readonly product: string;
  readonly protocols: readonly string[];
  readonly example: string;
}

/** Describes where a connection string comes from; the string itself is passed only to the driver. */
function sourceOf({ urlEnv, urlFile }: UrlSource): string {
  return urlEnv === undefined ? `file ${urlFile ?? ''}` : `environment variable ${urlEnv}`;
}

/**
 * The connection string of a target.
 *
 * @throws SvcError `config` if it is not set, unreadable, readable by other users, or not such a URL
 */
export function readUrl(
  source: UrlSource,
  env: Readonly<Record<string, string | undefined>>,
  { product, protocols, example }: UrlForm,
): string {
  const text = source.urlEnv === undefined ? readUrlFile(source.urlFile ?? '') : env[source.urlEnv];
  if (text === undefined || text.trim() === '') {
    throw new SvcError('config', `The ${sourceOf(source)} holds no connection string.`, {
      hint: `Set it to ${example}.`,
    });
  }
  const url = text.trim();
  // The message does not repeat the string, which holds a password.
  if (!URL.canParse(url) || !protocols.includes(new URL(url).protocol) || !url.includes('://')) {
    throw new SvcError('config', `The ${sourceOf(source)} does not hold a ${product} connection string.`, {
      hint: `It must look like ${example}.`,
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
    if (!stats.isFile()) throw unreadable(file, 'it is not a regular file');
    if ((stats.mode & 0o077) !== 0 && platform() !== 'win32') throw readableByOthers(file);
    return readFileSync(fd, 'utf8');
  } catch (error) {
    if (error instanceof SvcError) throw error;
    throw unreadable(file, describeFileError(error));
  } finally {
    if (fd !== null) closeSync(fd);
  }
}

function unreadable(file: string, why: string): SvcError {
  return new SvcError('config', `The file ${file} cannot be read: ${why}.`, {
    hint: 'It must hold a connection string.',
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

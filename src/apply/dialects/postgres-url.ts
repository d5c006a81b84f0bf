import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { platform } from 'node:os';
import type { PostgresTarget } from '../../config/apply-targets.js';
import { SvcError } from '../../errors.js';

type Source = Pick<PostgresTarget, 'urlEnv' | 'urlFile'>;

/** Names the place of a connection string; the string itself never leaves this file but to the driver. */
function sourceOf({ urlEnv, urlFile }: Source): string {
  return urlEnv === undefined ? `file ${urlFile ?? ''}` : `environment variable ${urlEnv}`;
}

/**
 * The connection string of a target.
 *
 * @throws SvcError `config`: not set, unreadable, readable by others, or no PostgreSQL address
 */
export function readUrl(source: Source, env: Readonly<Record<string, string | undefined>>): string {
  const text = source.urlEnv === undefined ? readUrlFile(source.urlFile ?? '') : env[source.urlEnv];
  if (text === undefined || text.trim() === '') {
    throw new SvcError('config', `The ${sourceOf(source)} holds no connection string.`, {
      hint: 'Set it to postgres://user:password@host:5432/database.',
    });
  }
  const url = text.trim();
  // Says what is wrong without repeating it: it holds a password.
  if (!/^postgres(?:ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw new SvcError('config', `What ${sourceOf(source)} holds is no PostgreSQL address.`, {
      hint: 'It must look like postgres://user:password@host:5432/database.',
    });
  }
  return url;
}

function readUrlFile(file: string): string {
  let fd: number | null = null;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    // Of the open file, so that it cannot be exchanged in between. Windows has no such modes.
    const stats = fstatSync(fd);
    if (!stats.isFile()) throw unreadable(file, 'not a file');
    if ((stats.mode & 0o077) !== 0 && platform() !== 'win32') throw readableByOthers(file);
    return readFileSync(fd, 'utf8');
  } catch (error) {
    if (error instanceof SvcError) throw error;
    throw unreadable(file, error instanceof Error && 'code' in error ? String(error.code) : 'unknown');
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

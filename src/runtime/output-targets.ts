import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { SvcError } from '../errors.js';

/**
 * Suffixes of the files that SQLite and this program keep beside a database. Output must not replace them: SQLite
 * replays any `-journal` or `-wal` it finds.
 */
const COMPANIONS = ['', '-journal', '-wal', '-shm', '-writer', '.lock'];

/**
 * Checks that no two outputs share a target, and that none would overwrite one of `ownFiles` or its companions.
 *
 * @throws SvcError `usage`
 */
export function assertTargets(targets: readonly string[], ownFiles: readonly string[]): void {
  if (targets.filter((target) => target === '-').length > 1) {
    throw new SvcError('usage', 'Only one output can go to stdout (-).', {
      hint: 'Name a file for the others.',
    });
  }
  const option = targets.find((target) => target !== '-' && target.startsWith('-'));
  if (option !== undefined) {
    throw new SvcError('usage', `An output needs a file name, not "${option}".`, {
      hint: 'Write - for stdout, such as `--json -`.',
    });
  }
  const files = targets.filter((target) => target !== '-').map(realPath);
  const twice = files.find((file, at) => files.slice(0, at).some((earlier) => isSameFile(earlier, file)));
  if (twice !== undefined) {
    throw new SvcError('usage', `Two outputs would go to ${twice}.`, { hint: 'Give each its own file.' });
  }
  const own = ownFiles.map(realPath).flatMap((file) => COMPANIONS.map((suffix) => `${file}${suffix}`));
  const overwritten = files.find((file) => own.some((one) => isSameFile(one, file)));
  if (overwritten !== undefined) {
    throw new SvcError(
      'usage',
      `${overwritten} is an input of this command or belongs to the database: it is not overwritten.`,
      { hint: 'Name another file.' },
    );
  }
}

/** The error for an existing file that must not be replaced. */
export function alreadyThere(
  file: string,
  hint = 'Name another file, or replace this one with --force.',
): SvcError {
  return new SvcError('usage', `${file} exists already; it was not changed.`, { hint });
}

/** Compares two results of `realPath`; hard links to one file count as the same file. */
function isSameFile(a: string, b: string): boolean {
  if (a === b) return true;
  const [one, other] = [a, b].map((file) => statSync(file, { bigint: true, throwIfNoEntry: false }));
  return one?.isFile() === true && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}

/** Resolves symbolic links; the file itself need not exist. */
export function realPath(target: string): string {
  const file = resolve(target);
  try {
    return realpathSync(file);
  } catch {
    return dirname(file) === file ? file : join(realPath(dirname(file)), basename(file));
  }
}

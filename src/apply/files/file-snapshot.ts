import { createHash, randomBytes } from 'node:crypto';
import {
  type BigIntStats,
  constants,
  createReadStream,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { SvcError } from '../../errors.js';

/** Neither follows a symbolic link nor waits for the other end of a pipe. */
const READ_ITSELF = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** A regular file as it was when its bytes were read. */
export interface FileSnapshot {
  readonly sha256: string;
  readonly stats: BigIntStats;
}

/**
 * Opens a regular file of that very name for reading; null where there is none.
 *
 * @throws SvcError `bad_input` where the name is a symbolic link, a folder or anything else
 */
export function openRegularFile(file: string): number | null {
  let fd: number;
  try {
    fd = openSync(file, READ_ITSELF);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP') throw noRegularFile(file);
    throw error;
  }
  if (fstatSync(fd).isFile()) return fd;
  throw noRegularFile(file);
}

function noRegularFile(file: string): SvcError {
  return new SvcError('bad_input', `${file} is not a regular file.`, {
    hint: 'svc-migrate did not make it: look at it, and move it away.',
  });
}

/**
 * Reads a file through one descriptor; null where there is none.
 *
 * @throws SvcError `bad_input` where it is no regular file
 */
export async function takeSnapshot(file: string): Promise<FileSnapshot | null> {
  const fd = openRegularFile(file);
  if (fd === null) return null;
  const stats = fstatSync(fd, { bigint: true });
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { fd })) hash.update(chunk);
  return { sha256: hash.digest('hex'), stats };
}

/** Whether a name still leads to the file of a snapshot, and nobody wrote to it since. */
export function isUnchangedFile(file: string, { stats }: Pick<FileSnapshot, 'stats'>): boolean {
  const now = lstatSync(file, { bigint: true, throwIfNoEntry: false });
  return (
    now?.dev === stats.dev &&
    now.ino === stats.ino &&
    now.size === stats.size &&
    now.mtimeNs === stats.mtimeNs
  );
}

/**
 * Removes the file of a snapshot. It is set aside first, so that another file that took its name meanwhile is not
 * removed in its stead.
 *
 * @throws SvcError `bad_input` where it is not the file that was seen; then it stays
 */
export function removeUnchanged(file: string, seen: FileSnapshot): void {
  const aside = `${file}.${randomBytes(6).toString('hex')}.svc-migrate-tmp`;
  renameSync(file, aside);
  if (!isUnchangedFile(aside, seen)) {
    renameToFreeName(aside, file);
    throw changedMeanwhile(file);
  }
  rmSync(aside);
}

/** Gives a file another name, which must be free. */
export function renameToFreeName(file: string, name: string): void {
  try {
    linkSync(file, name);
  } catch (error) {
    // Some file systems know no links.
    if (lstatSync(name, { throwIfNoEntry: false }) !== undefined) throw error;
    renameSync(file, name);
    return;
  }
  rmSync(file);
}

/** Somebody wrote to a file, or put another in its place, between looking and acting. */
export function changedMeanwhile(file: string): SvcError {
  return new SvcError('bad_input', `${file} changed a moment ago; it was left as it is.`, {
    hint: 'Make sure that nobody writes to it, then run the same command again.',
  });
}

import { createHash, randomBytes } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { describeFileError, errorCodeOf, SvcError } from '../../errors.js';

/** Follows no symbolic link, and does not wait for the other end of a pipe. */
const READ_ITSELF = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The content and metadata of a regular file at one moment. */
export interface FileSnapshot {
  readonly sha256: string;
  readonly stats: BigIntStats;
}

/**
 * Opens a regular file for reading, following no symbolic link; null if it does not exist.
 *
 * @throws SvcError `bad_input` if the name is a symbolic link, a folder or anything else
 */
export function openRegularFile(file: string): number | null {
  let fd: number;
  try {
    fd = openSync(file, READ_ITSELF);
  } catch (error) {
    const code = errorCodeOf(error);
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP') throw noRegularFile(file);
    throw error;
  }
  if (fstatSync(fd).isFile()) return fd;
  throw noRegularFile(file);
}

function noRegularFile(file: string): SvcError {
  return new SvcError('bad_input', `${file} is not a regular file.`, {
    hint: 'svc-migrate did not create it: see what it is, and move it elsewhere.',
  });
}

/** Reads into a buffer from a position on, until it is full or the file ends; returns the number of bytes. */
export function readFully(fd: number, buffer: Buffer, position: number): number {
  let at = position;
  for (let got = -1; got !== 0 && at < buffer.length; at += got) {
    got = readSync(fd, buffer, at, buffer.length - at, null);
  }
  return at - position;
}

/** The first bytes of a file: at most so many. */
export function readHead(file: string, most: number): Buffer {
  const fd = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(most);
    return bytes.subarray(0, readFully(fd, bytes, 0));
  } finally {
    closeSync(fd);
  }
}

/**
 * Reads a file through one descriptor; null if it does not exist.
 *
 * @throws SvcError `bad_input` if it is not a regular file
 */
export async function takeSnapshot(file: string): Promise<FileSnapshot | null> {
  const fd = openRegularFile(file);
  if (fd === null) return null;
  const stats = fstatSync(fd, { bigint: true });
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file, { fd })) hash.update(chunk);
  return { sha256: hash.digest('hex'), stats };
}

/**
 * Removes the file of a snapshot. It is renamed first, so that a file that took its place meanwhile is not removed
 * instead.
 *
 * @throws SvcError `bad_input` if it is not the file of the snapshot; then it stays
 */
export function removeUnchanged(file: string, { stats }: FileSnapshot): void {
  const aside = `${file}.${randomBytes(6).toString('hex')}.svc-migrate-tmp`;
  renameSync(file, aside);
  const now = lstatSync(aside, { bigint: true });
  if (now.ino !== stats.ino || now.size !== stats.size || now.mtimeNs !== stats.mtimeNs) {
    renameToFreeName(aside, file);
    throw changedMeanwhile(file);
  }
  rmSync(aside);
}

/** Renames a file, without replacing an existing file. */
export function renameToFreeName(file: string, name: string): void {
  try {
    linkSync(file, name);
  } catch (error) {
    // Some file systems have no hard links.
    if (lstatSync(name, { throwIfNoEntry: false }) !== undefined) throw error;
    renameSync(file, name);
    return;
  }
  rmSync(file);
}

/** The error for a file that was modified or replaced between the check and the action. */
export function changedMeanwhile(file: string): SvcError {
  return new SvcError('bad_input', `${file} changed a moment ago; it was left as it is.`, {
    hint: 'Make sure that nobody writes to it, then run the same command again.',
  });
}

/** Turns an error of the file system into one that names the file; other errors stay. */
export function asDiskError(error: unknown, output: string): unknown {
  if (error instanceof SvcError || !(error instanceof Error) || !('syscall' in error)) return error;
  return new SvcError('disk', `Cannot write ${output}: ${describeFileError(error)}.`, {
    hint: 'Check the folder or free disk space, then run the same command again.',
    facts: { error: errorCodeOf(error) },
    cause: error,
  });
}

import { randomBytes } from 'node:crypto';
import { fstatSync, lstatSync, readFileSync, readlinkSync, realpathSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, link, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { describeFileError, errorCodeOf, SvcError, throwIfInterrupted } from '../errors.js';

export type Chunks = Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;

export interface OutputIo {
  readonly stdout: Writable;
  readonly signal: AbortSignal;
}

const BUFFER_CHARS = 65_536;
const STDOUT = 1;
/** `O_RDWR` in the octal flags of Linux's `/proc/self/fdinfo`. */
const READ_WRITE = /^flags:\s+\d*2$/m;
/** Names of open files of the process: shells pass `>(…)` as one. */
const OPEN_FILE = /^(?:\/dev\/(?:std(?:out|err)|fd\/\d+)|\/proc\/self\/fd\/\d+)$/;
const STDOUT_FILE = /^(?:-|\/dev\/stdout|\/(?:dev|proc\/self)\/fd\/1)$/;

export function isStdout(target: string): boolean {
  return STDOUT_FILE.test(target);
}

/**
 * Writes to stdout or a file. A file is replaced atomically and readable by its owner only; devices, pipes and open
 * files are written to in place.
 * @throws SvcError `output` if it cannot be written (full disk, missing folder, closed pipe), `interrupted`
 */
export async function writeOutput(
  target: string,
  chunks: Chunks,
  { stdout, signal }: OutputIo,
): Promise<void> {
  const buffers = inBuffers(chunks, signal);
  if (isStdout(target)) return writeText(stdout, buffers);
  await onFile(target, async () => {
    if (isInPlace(target)) await writeInto(await open(target, 'a'), buffers);
    else await withTemporary(realPath(target), { replace: true }, (file) => writeInto(file, buffers));
  });
}

/** Creates a file atomically. @throws SvcError `usage` if it exists, even if it was created meanwhile, `output` */
export async function createFile(target: string, text: string): Promise<void> {
  const file = resolve(target);
  await onFile(target, () =>
    withTemporary(file, { replace: false }, (handle) => writeInto(handle, [text])),
  ).catch((error: unknown) => {
    if (!(error instanceof SvcError) || error.facts['error'] !== 'EEXIST') throw error;
    throw new SvcError('usage', `${file} exists; it was not changed.`, { hint: 'Name another file.' });
  });
}

/** Waits until all of it is flushed. @throws SvcError `output` if the reader closed the pipe or the disk is full */
export async function writeText(stream: Writable, chunks: Chunks): Promise<void> {
  // A failed write also emits `error` later, which would end the process if there were no listener.
  const ignore = () => {};
  stream.on('error', ignore);
  for await (const chunk of chunks) {
    await new Promise<void>((done, fail) => {
      stream.write(chunk, (error) => (error ? fail(cannotWrite('stdout', error)) : done()));
    });
  }
  stream.off('error', ignore);
}

async function* inBuffers(chunks: Chunks, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
    length += chunk.length;
    if (length < BUFFER_CHARS) continue;
    yield Buffer.concat(parts);
    parts = [];
    length = 0;
    await throwIfInterrupted(signal);
  }
  if (length > 0) yield Buffer.concat(parts);
}

function isInPlace(target: string): boolean {
  if (OPEN_FILE.test(target)) return true;
  const stat = statSync(target, { throwIfNoEntry: false });
  return stat !== undefined && !stat.isFile() && !stat.isDirectory();
}

async function withTemporary(
  file: string,
  { replace }: { readonly replace: boolean },
  write: (handle: FileHandle) => Promise<void>,
): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await write(await open(temporary, 'wx', 0o600));
    await (replace ? rename(temporary, file) : link(temporary, file));
  } finally {
    await rm(temporary, { force: true });
  }
  const folder = await open(dirname(file), 'r');
  await syncAndClose(folder);
}

async function writeInto(handle: FileHandle, chunks: Chunks): Promise<void> {
  try {
    for await (const chunk of chunks) await handle.writeFile(chunk);
  } catch (error) {
    await handle.close();
    throw error;
  }
  await syncAndClose(handle);
}

/** Devices and pipes cannot be synced: `EINVAL` is ignored. */
async function syncAndClose(handle: FileHandle): Promise<void> {
  try {
    await handle.sync();
  } catch (error) {
    if (!['EINVAL', 'EROFS', 'ENOTSUP'].includes(errorCodeOf(error))) throw error;
  } finally {
    await handle.close();
  }
}

async function onFile<T>(target: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Error && 'syscall' in error ? cannotWrite(target, error) : error;
  }
}

function cannotWrite(target: string, cause: Error): SvcError {
  const code = errorCodeOf(cause);
  const why = code === 'ENOENT' ? 'its folder does not exist' : describeFileError(cause);
  return new SvcError('output', `Cannot write ${target}: ${why}.`, {
    hint: code === 'EPIPE' ? undefined : 'Check that the folder exists, is writable and has free space.',
    facts: { error: code },
    cause,
  });
}

/** Removes the file of an earlier run; devices, pipes and folders stay. @throws SvcError `output` */
export async function removeOutput(target: string): Promise<void> {
  if (isStdout(target)) return;
  await onFile(target, () => {
    if (isInPlace(target)) return;
    const file = realPath(target);
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) rmSync(file);
  });
}

/** Files that SQLite and this program keep beside a database; SQLite replays any `-journal` or `-wal` it finds. */
const COMPANIONS = ['', '-journal', '-wal', '-shm', '-writer'];

/**
 * Checks that no two outputs share a target, and that none would replace one of `inputs` or its companions.
 * @throws SvcError `usage`; `output` if a target cannot be a file
 */
export async function assertTargets(targets: readonly string[], inputs: readonly string[]): Promise<void> {
  if (targets.filter(isStdout).length > 1) {
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
  const places: string[] = [];
  const protectedFiles = inputs.flatMap((file) =>
    COMPANIONS.flatMap((suffix) => placeOf(`${file}${suffix}`) ?? []),
  );
  for (const target of targets) {
    if (isStdout(target) || OPEN_FILE.test(target)) continue;
    const place = await onFile(target, () => (isInPlace(target) ? resolve(target) : realPath(target)));
    if (places.some((other) => isSameFile(other, place))) {
      throw new SvcError('usage', `Two outputs would go to ${place}.`, { hint: 'Give each its own file.' });
    }
    if (protectedFiles.some((file) => isSameFile(file, place))) {
      const sentence = `${place} is an input of this command or belongs to the database: it is not overwritten.`;
      throw new SvcError('usage', sentence, { hint: 'Name another file.' });
    }
    places.push(place);
  }
  if (targets.some(isStdout) && isStdoutClosed()) {
    const hint = 'Redirect it to a file, or name one.';
    throw new SvcError('output', 'There is no stdout to write to.', { hint });
  }
}

/** For `>&-`, Node opens /dev/null for reading and writing; a shell's `> /dev/null` opens it for writing only. */
function isStdoutClosed(): boolean {
  try {
    const { rdev } = statSync('/dev/null');
    const isNull = fstatSync(STDOUT).rdev === rdev;
    return isNull && READ_WRITE.test(readFileSync(`/proc/self/fdinfo/${STDOUT}`, 'utf8'));
  } catch {
    return false;
  }
}

function isSameFile(a: string, b: string): boolean {
  if (a === b) return true;
  const first = statSync(a, { bigint: true, throwIfNoEntry: false });
  const second = statSync(b, { bigint: true, throwIfNoEntry: false });
  return first?.isFile() === true && second?.dev === first.dev && second.ino === first.ino;
}

function placeOf(file: string): string | null {
  try {
    return realPath(file);
  } catch {
    return null;
  }
}

/** Resolves symbolic links; the file itself need not exist. @throws system errors, such as `ELOOP` */
function realPath(target: string): string {
  const file = resolve(target);
  try {
    return realpathSync(file);
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOENT' || dirname(file) === file) throw error;
    const isLink = lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return isLink
      ? realPath(resolve(dirname(file), readlinkSync(file)))
      : join(realPath(dirname(file)), basename(file));
  }
}

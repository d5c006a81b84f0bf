import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { describeFileError, errorCodeOf, SvcError } from '../errors.js';
import { throwIfInterrupted } from './pause.js';

/** Text to write to a file, or to stdout if `target` is `-`. */
export interface Output {
  readonly target: string;
  readonly chunks: () => Iterable<string>;
}

const BUFFER_CHARS = 65_536;
const STDOUT = 1;
/** `O_RDWR` in the octal flags of Linux's `/proc/self/fdinfo`. */
const READ_WRITE = /^flags:\s+\d*2$/m;

/**
 * Whether the process was started without a stdout (`>&-`). Node then opens /dev/null for reading and writing in its
 * place; a shell's `> /dev/null` opens it for writing only. False on systems without `/proc`.
 */
function isStdoutClosed(): boolean {
  try {
    const { rdev } = statSync('/dev/null');
    return (
      fstatSync(STDOUT).rdev === rdev && READ_WRITE.test(readFileSync(`/proc/self/fdinfo/${STDOUT}`, 'utf8'))
    );
  } catch {
    return false;
  }
}

/** @throws SvcError `output` if the process was started without a stdout */
export function assertStdout(): void {
  if (!isStdoutClosed()) return;
  throw new SvcError('output', 'There is no stdout to write to.', {
    hint: 'Redirect stdout to a file; where the command has --json FILE or --output FILE, name one.',
  });
}

/**
 * Writes text to stdout or, atomically, to a file.
 *
 * @throws SvcError `output` if it cannot be written (full disk, missing folder, closed pipe), `interrupted`
 */
export async function writeOutput(output: Output, io: OutputIo): Promise<void> {
  if (output.target === '-') return writeText(io.stdout, interruptible(output, io.signal));
  await writeTextFile(output.target, interruptible(output, io.signal));
}

export interface OutputIo {
  readonly stdout: Writable;
  readonly signal: AbortSignal;
}

/** `writeOutput` for text that is made while it is written. */
export async function writeStream(
  target: string,
  chunks: AsyncIterable<string>,
  { stdout }: Pick<OutputIo, 'stdout'>,
): Promise<void> {
  await (target === '-' ? writeText(stdout, chunks) : writeTextFile(target, chunks));
}

/**
 * The text in buffers; signals are checked between them. `chunks` is called only when the first buffer is read, because
 * a query that is started and never read to its end stays open.
 */
async function* interruptible({ chunks }: Output, signal: AbortSignal): AsyncGenerator<string> {
  for (const buffer of inBuffers(chunks())) {
    yield buffer;
    await throwIfInterrupted(signal);
  }
}

/**
 * Writes text to a stream and waits until all of it is flushed.
 *
 * @throws SvcError `output` if the reader closed the pipe or the disk is full
 */
export async function writeText(stream: Writable, chunks: Chunks): Promise<void> {
  // A failed write also emits `error` later, which would end the process if there were no listener.
  const ignore = () => {};
  stream.on('error', ignore);
  for await (const chunk of buffersOf(chunks)) {
    await new Promise<void>((done, fail) => {
      stream.write(chunk, (error) => (error ? fail(cannotWrite('stdout', error)) : done()));
    });
  }
  stream.off('error', ignore);
}

/** Text in pieces. Those of an `AsyncIterable` are written one by one. */
type Chunks = Iterable<string> | AsyncIterable<string>;

function buffersOf(chunks: Chunks): Chunks {
  return Symbol.iterator in chunks ? inBuffers(chunks) : chunks;
}

function* inBuffers(chunks: Iterable<string>): Generator<string> {
  let parts: string[] = [];
  let length = 0;
  for (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length < BUFFER_CHARS) continue;
    yield parts.join('');
    parts = [];
    length = 0;
  }
  if (length > 0) yield parts.join('');
}

/**
 * Replaces a file atomically. Only its owner can read it. Symbolic links are followed; devices and pipes are written to in
 * place.
 *
 * @throws SvcError `output`
 */
export async function writeTextFile(target: string, chunks: Chunks): Promise<void> {
  const file = realPath(target);
  try {
    if (isSpecial(file)) await writeInto(openSync(file, 'w'), chunks);
    else await replaceFile(file, chunks);
  } catch (error) {
    throw error instanceof Error && 'syscall' in error ? cannotWrite(target, error) : error;
  }
}

function isSpecial(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat !== undefined && !stat.isFile() && !stat.isDirectory();
}

async function replaceFile(file: string, chunks: Chunks): Promise<void> {
  const temporary = temporaryBeside(file);
  try {
    await writeInto(openSync(temporary, 'wx', 0o600), chunks);
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(dirname(file));
}

/**
 * Creates a file atomically. Without `replace`, an existing file is never overwritten, even one created meanwhile.
 *
 * @throws system errors, such as `EEXIST`
 */
export function createFile(target: string, text: string, { replace }: { readonly replace: boolean }): void {
  withTemporary(replace ? realPath(target) : resolve(target), (temporary) => {
    writeFileSync(temporary, text, { flag: 'wx' });
    moveInto(temporary, target, { replace });
  });
}

/** Runs `work` with the name of a new file beside `file`, and deletes what is left of it. */
function withTemporary(file: string, work: (temporary: string) => void): void {
  const temporary = temporaryBeside(file);
  try {
    work(temporary);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** A random name for a temporary file beside `file`. */
export function temporaryBeside(file: string): string {
  return `${file}.${randomBytes(6).toString('hex')}.tmp`;
}

/**
 * Syncs a temporary file to disk and renames it. Without `replace`, an existing file is never overwritten, even one
 * created meanwhile.
 *
 * @throws system errors, such as `EEXIST`
 */
export function moveInto(
  temporary: string,
  target: string,
  { replace }: { readonly replace: boolean },
): void {
  const file = replace ? realPath(target) : resolve(target);
  const fd = openSync(temporary, 'r');
  try {
    syncIfPossible(fd);
  } finally {
    closeSync(fd);
  }
  if (replace) renameSync(temporary, file);
  else {
    linkSync(temporary, file);
    rmSync(temporary);
  }
  syncFolder(dirname(file));
}

/**
 * Runs `work` and turns its system errors into ours.
 *
 * @throws SvcError `output`
 */
export function onFile<T>(target: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Error && 'syscall' in error ? cannotWrite(target, error) : error;
  }
}

async function writeInto(fd: number, chunks: Chunks): Promise<void> {
  try {
    for await (const buffer of buffersOf(chunks)) writeFully(fd, Buffer.from(buffer));
    syncIfPossible(fd);
  } finally {
    closeSync(fd);
  }
}

/** Writes all bytes: one call of `writeSync` may write fewer. */
export function writeFully(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/** Devices and pipes cannot be synced: `EINVAL` is ignored. */
function syncIfPossible(fd: number): void {
  try {
    fsyncSync(fd);
  } catch (error) {
    if (errorCodeOf(error) !== 'EINVAL') throw error;
  }
}

/** Makes renames in a folder durable. */
export function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    syncIfPossible(fd);
  } finally {
    closeSync(fd);
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

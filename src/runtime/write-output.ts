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
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { errorCodeOf, SvcError } from '../errors.js';
import { throwIfInterrupted } from './pause.js';

/** Text on its way to a file, or to stdout where the target is `-`. */
export interface Output {
  readonly target: string;
  readonly chunks: () => Iterable<string>;
}

const BUFFER_CHARS = 65_536;
const STDOUT = 1;
/** `O_RDWR` in the octal flags that Linux shows. */
const READ_WRITE = /^flags:\s+\d*2$/m;

/** What SQLite and this program keep beside a database; SQLite replays a `-journal` or `-wal` that it finds. */
const COMPANIONS = ['', '-journal', '-wal', '-shm', '-writer', '.lock'];

/**
 * Refuses targets that cannot all be honoured: stdout twice, a file twice, one of our own files or a companion of it.
 *
 * @throws SvcError `usage`
 */
export function assertTargets(targets: readonly string[], ownFiles: readonly string[]): void {
  if (targets.filter((target) => target === '-').length > 1) {
    throw new SvcError('usage', 'Only one output can go to stdout (-).', {
      hint: 'Name a file for the others.',
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

/**
 * Whether the process began without a stdout (`>&-`). Node then opens /dev/null in its place, for reading and writing,
 * which a shell's `> /dev/null` does not; false where the system does not tell.
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

/**
 * For data that were asked for on stdout.
 *
 * @throws SvcError `output` where the process began without a stdout
 */
export function assertStdout(): void {
  if (!isStdoutClosed()) return;
  throw new SvcError('output', 'There is no stdout to write to.', {
    hint: 'Redirect stdout to a file; where the command has --json FILE or --output FILE, name one.',
  });
}

/** Compares what `realPath` gave; hard links to one file are that file. Devices and pipes may be named twice. */
function isSameFile(a: string, b: string): boolean {
  if (a === b) return true;
  const [one, other] = [a, b].map((file) => statSync(file, { bigint: true, throwIfNoEntry: false }));
  return one?.isFile() === true && other !== undefined && one.dev === other.dev && one.ino === other.ino;
}

/** Without links, also where the file itself is not there yet. */
export function realPath(target: string): string {
  const file = resolve(target);
  try {
    return realpathSync(file);
  } catch {
    return dirname(file) === file ? file : join(realPath(dirname(file)), basename(file));
  }
}

/**
 * Writes text to a file, whole or not at all, or to stdout.
 *
 * @throws SvcError `output` where it cannot be written: full disk, missing folder, closed pipe; `interrupted`
 */
export async function writeOutput(output: Output, io: OutputIo): Promise<void> {
  if (output.target === '-') return writeText(io.stdout, hearing(output, io.signal));
  await writeFile(output.target, hearing(output, io.signal));
}

export interface OutputIo {
  readonly stdout: Writable;
  readonly signal: AbortSignal;
}

/** Text in buffers; between them signals are heard. Begun only once there is somewhere to write: a query left unread stays open. */
async function* hearing({ chunks }: Output, signal: AbortSignal): AsyncGenerator<string> {
  for (const buffer of inBuffers(chunks())) {
    yield buffer;
    await throwIfInterrupted(signal);
  }
}

/**
 * Writes text to a stream and waits until it has taken all of it.
 *
 * @throws SvcError `output` where the reader went away or the disk is full
 */
export async function writeText(
  stream: Writable,
  chunks: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  // A failed write also emits `error`, later; without a listener that would end the process.
  const ignore = () => {};
  stream.on('error', ignore);
  for await (const chunk of Symbol.iterator in chunks ? inBuffers(chunks) : chunks) {
    await new Promise<void>((done, fail) => {
      stream.write(chunk, (error) => (error ? fail(cannotWrite('stdout', error)) : done()));
    });
  }
  stream.off('error', ignore);
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

/** A link is followed to its file; devices and pipes are written to in place. */
async function writeFile(target: string, buffers: AsyncIterable<string>): Promise<void> {
  const file = realPath(target);
  try {
    if (isSpecial(file)) await writeInto(openSync(file, 'w'), buffers);
    else await replaceFile(file, buffers);
  } catch (error) {
    throw error instanceof Error && 'syscall' in error ? cannotWrite(target, error) : error;
  }
}

function isSpecial(file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat !== undefined && !stat.isFile() && !stat.isDirectory();
}

async function replaceFile(file: string, buffers: AsyncIterable<string>): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await writeInto(openSync(temporary, 'wx', 0o600), buffers);
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(dirname(file));
}

/**
 * Creates a file, whole or not at all. Without `replace` a file of the name is left alone, also one that comes meanwhile.
 *
 * @throws the system's error, `EEXIST` among them
 */
export function createFile(target: string, text: string, { replace }: { readonly replace: boolean }): void {
  const file = replace ? realPath(target) : resolve(target);
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const fd = openSync(temporary, 'wx');
    try {
      writeFully(fd, Buffer.from(text));
    } finally {
      closeSync(fd);
    }
    moveInto(temporary, target, { replace });
  } finally {
    rmSync(temporary, { force: true });
  }
}

/**
 * Gives a finished file its name, durably. Without `replace` a file of that name is left alone, also one that came
 * meanwhile.
 *
 * @throws the system's error, `EEXIST` among them
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
 * Runs work on an output file.
 *
 * @throws SvcError `output` for an error of the system
 */
export function onFile<T>(target: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof Error && 'syscall' in error ? cannotWrite(target, error) : error;
  }
}

async function writeInto(fd: number, buffers: AsyncIterable<string>): Promise<void> {
  try {
    for await (const buffer of buffers) writeFully(fd, Buffer.from(buffer));
    syncIfPossible(fd);
  } finally {
    closeSync(fd);
  }
}

export function writeFully(fd: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

/** Devices and pipes refuse to be synced. */
function syncIfPossible(fd: number): void {
  try {
    fsyncSync(fd);
  } catch (error) {
    if (errorCodeOf(error) !== 'EINVAL') throw error;
  }
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    syncIfPossible(fd);
  } finally {
    closeSync(fd);
  }
}

function cannotWrite(target: string, cause: Error): SvcError {
  const code = errorCodeOf(cause);
  return new SvcError('output', `Cannot write ${target}: ${code}.`, {
    hint: code === 'EPIPE' ? undefined : 'Check that the folder exists, can be written and has room.',
    facts: { error: code },
    cause,
  });
}

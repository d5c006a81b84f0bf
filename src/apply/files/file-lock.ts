import { randomBytes } from 'node:crypto';
import { constants, copyFileSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { errorCodeOf, SvcError } from '../../errors.js';
import { describeProcess, isGone, ownerSchema, thisProcess } from '../../runtime/owner.js';
import * as z from '../../zod.js';

const SUFFIX = '.svc-migrate-lock';
/** File systems without hard links refuse one with these codes. */
const NO_HARD_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/** The content of a lock: the process that holds it, and a word that no other lock has. */
const holderSchema = ownerSchema.extend({ token: z.string().regex(/^[0-9a-f]{16}$/) });
type Holder = z.output<typeof holderSchema>;

/** The file to lock, and the command that writes it. */
interface FileHold {
  readonly file: string;
  /** Such as `apply write`. */
  readonly command: string;
  readonly nowMs: number;
}

/**
 * Runs `work` while no other svc-migrate writes `file`. The lock is a file beside it, which only one process can create; one
 * that a killed process left behind is taken over.
 *
 * @throws SvcError `locked`, naming the process that holds it
 */
export async function withFileLock<T>(
  { file, command, nowMs }: FileHold,
  work: () => Promise<T>,
): Promise<T> {
  const lock = file + SUFFIX;
  const own = { ...thisProcess(command, nowMs), token: randomBytes(8).toString('hex') };
  acquire(file, lock, own);
  try {
    return await work();
  } finally {
    release(lock, own);
  }
}

function acquire(file: string, lock: string, own: Holder): void {
  while (!createLock(lock, own)) {
    const holder = readHolder(lock);
    if (holder === 'nobody') continue;
    if (holder === 'unknown') throw inUse(file, lock, 'a process that its lock does not name');
    if (!isGone(holder)) throw inUse(file, lock, describeProcess(holder));
    if (takeOver(file, lock, holder, own)) return;
  }
}

/**
 * Replaces the lock of a process that is gone; false if another process was faster. Only who holds the lock named after the
 * old one may replace it: otherwise, of two processes that found the old one, the later would replace the lock of the earlier.
 */
function takeOver(file: string, lock: string, gone: Holder, own: Holder): boolean {
  const right = `${lock}.${gone.token}`;
  acquire(file, right, own);
  try {
    if (!isHeldBy(lock, gone)) return false;
    const temporary = `${lock}.${own.token}.new`;
    writeHolder(temporary, own);
    renameSync(temporary, lock);
    return true;
  } finally {
    release(right, own);
  }
}

/** Creates the lock with its content in one step; false if it exists. */
function createLock(lock: string, own: Holder): boolean {
  const temporary = `${lock}.${own.token}.new`;
  writeHolder(temporary, own);
  try {
    linkOrCopy(temporary, lock);
    return true;
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Gives a file a second name, without replacing an existing file. */
function linkOrCopy(file: string, name: string): void {
  try {
    linkSync(file, name);
  } catch (error) {
    if (!NO_HARD_LINKS.includes(errorCodeOf(error))) throw error;
    copyFileSync(file, name, constants.COPYFILE_EXCL);
  }
}

function writeHolder(file: string, own: Holder): void {
  writeFileSync(file, JSON.stringify(own), { mode: 0o600, flag: 'wx' });
}

/** Who holds a lock. `unknown`: its file cannot be read. */
function readHolder(lock: string): Holder | 'nobody' | 'unknown' {
  try {
    return holderSchema.parse(JSON.parse(readFileSync(lock, 'utf8')));
  } catch (error) {
    return errorCodeOf(error) === 'ENOENT' ? 'nobody' : 'unknown';
  }
}

function isHeldBy(lock: string, { token }: Holder): boolean {
  const holder = readHolder(lock);
  return typeof holder === 'object' && holder.token === token;
}

function release(lock: string, own: Holder): void {
  // Somebody may have removed it by hand, and another process taken it since.
  if (isHeldBy(lock, own)) rmSync(lock, { force: true });
}

function inUse(file: string, lock: string, holder: string): SvcError {
  return new SvcError('locked', `${file} is in use: ${holder}.`, {
    hint: `Wait until it has finished, then look again. If it no longer runs, remove ${lock}.`,
    facts: { lock },
  });
}

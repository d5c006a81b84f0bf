import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { kill, pid } from 'node:process';
import { errorCodeOf } from '../errors.js';
import * as z from '../zod.js';

/** A process that uses a file. */
const ownerSchema = z.object({
  pid: z.int(),
  host: z.string(),
  /** When the system started the process, so that a later one with the same number is not taken for it; '': not known. */
  started: z.string().default(''),
  since: z.iso.datetime(),
  command: z.string(),
});
type Owner = z.infer<typeof ownerSchema>;

/** This process as the owner of a file. */
export function thisProcess(command: string, nowMs: number): Owner {
  return { pid, host: hostname(), started: startOf(pid), since: new Date(nowMs).toISOString(), command };
}

export function describeProcess({ command, pid, host, since }: Owner): string {
  const time = since.replace('T', ' ').replace(/\.\d+Z$/, ' UTC');
  return `svc-migrate ${command} (process ${pid} on ${host}) since ${time}`;
}

/** Writes the file `note`, which names the process that uses another file. It is not the lock. */
export function saveOwner(note: string, owner: Owner): void {
  try {
    rmSync(note, { force: true });
    writeFileSync(note, JSON.stringify(owner), { mode: 0o600, flag: 'wx' });
  } catch {
    // The note is only for messages; the lock is SQLite's.
  }
}

/** The process that a note names; null if there is no note, or the process no longer runs. */
export function readOwner(note: string): Owner | null {
  try {
    const owner = ownerSchema.parse(JSON.parse(readFileSync(note, 'utf8')));
    return isGone(owner) ? null : owner;
  } catch {
    return null;
  }
}

/** Whether the process no longer runs. False for processes on other machines, which cannot be asked. */
function isGone(owner: Pick<Owner, 'pid' | 'host' | 'started'>): boolean {
  if (owner.host !== hostname()) return false;
  try {
    kill(owner.pid, 0);
  } catch (error) {
    return errorCodeOf(error) === 'ESRCH';
  }
  const started = startOf(owner.pid);
  return owner.started !== '' && started !== '' && started !== owner.started;
}

/** The time since boot at which a process started, in the system's ticks; '' on systems without `/proc`. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name of the program, the second field, may contain spaces and parentheses.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { kill, pid } from 'node:process';
import { errorCodeOf } from '../errors.js';
import * as z from '../zod.js';

/** A process that uses a file. */
export const ownerSchema = z.object({
  pid: z.int(),
  host: z.string(),
  /** When the system started the process, so that a later one with the same number is not taken for it; '': not known. */
  started: z.string().default(''),
  since: z.iso.datetime(),
  command: z.string(),
});
export type Owner = z.infer<typeof ownerSchema>;

/** This process as the owner of a file. */
export function thisProcess(command: string, nowMs: number): Owner {
  return { pid, host: hostname(), started: startOf(pid), since: new Date(nowMs).toISOString(), command };
}

export function describeProcess({ command, pid, host, since }: Owner): string {
  const time = since.replace('T', ' ').replace(/\.\d+Z$/, ' UTC');
  return `svc-migrate ${command} (process ${pid} on ${host}) since ${time}`;
}

/** Whether the process no longer runs. False for processes on other machines, which cannot be asked. */
export function isGone(owner: Pick<Owner, 'pid' | 'host' | 'started'>): boolean {
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

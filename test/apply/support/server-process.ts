import type { ChildProcess } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../support/free-port.js';

type User = { readonly uid?: number; readonly gid?: number };

/** Servers refuse to run as root: then they run as the user that their package made. */
export function findUser(name: string): User {
  if (process.getuid?.() !== 0) return {};
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${name}:`));
  const [, , uid, gid] = (line ?? '').split(':');
  return uid === undefined || gid === undefined ? {} : { uid: Number(uid), gid: Number(gid) };
}

/** A new folder of that user, in memory where the system offers that. */
export function makeServerFolder(prefix: string, { uid, gid }: User): string {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), prefix));
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

/** A server that answers on a port, until it is stopped. */
export interface ServerProcess {
  readonly port: number;
  /** Ends it at once and removes its folder. */
  stop(): Promise<void>;
}

const RUNNING = new Map<ChildProcess, string>();

/** Another process may take the free port first: then the next one is tried. `ask` throws until the server answers. */
export async function startServer(
  product: string,
  folder: string,
  start: (port: number) => ChildProcess,
  ask: (port: number) => Promise<unknown>,
): Promise<ServerProcess> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const port = await freePort();
    const server = start(port);
    RUNNING.set(server, folder);
    if (await isReady(port, server, ask)) return { port, stop: () => stopServer(server, folder) };
    server.kill('SIGKILL');
    RUNNING.delete(server);
  }
  throw new Error(`${product} did not start`);
}

async function stopServer(server: ChildProcess, folder: string): Promise<void> {
  const ended = new Promise((done) => server.once('exit', done));
  server.kill('SIGKILL');
  await ended;
  RUNNING.delete(server);
  removeFolder(folder);
}

/** Processes of PostgreSQL live for a moment longer than the first of them. */
function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 9, retryDelay: 20 });
}

/** False where the server ended, or somebody else answers on its port. */
async function isReady(
  port: number,
  server: ChildProcess,
  ask: (port: number) => Promise<unknown>,
): Promise<boolean> {
  for (let attempt = 0; attempt < 1200 && server.exitCode === null; attempt += 1) {
    try {
      await ask(port);
      return server.exitCode === null;
    } catch {
      await sleep(25);
    }
  }
  return false;
}

/** Vitest ends a process that runs test files with this signal, and soon after with another that nobody hears. */
process.once('SIGTERM', () => {
  for (const server of RUNNING.keys()) server.kill('SIGKILL');
  for (const folder of [...RUNNING.values(), ...FOLDERS]) removeFolder(folder);
  process.kill(process.pid, 'SIGTERM');
});

const FOLDERS = new Set<string>();

/** A folder that the test files of this process share: removed when the process is. */
export function keepFolder(folder: string): string {
  FOLDERS.add(folder);
  return folder;
}

const KEPT = new Map<string, Promise<unknown>>();

/** The server with this name that the test files of this process share: started by the first. */
export function keepServer<T>(name: string, start: () => Promise<T>): Promise<T> {
  const kept = (KEPT.get(name) as Promise<T> | undefined) ?? start();
  KEPT.set(name, kept);
  return kept;
}

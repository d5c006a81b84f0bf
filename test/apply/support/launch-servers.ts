import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import mysql from 'mysql2/promise';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { freePort } from '../../support/free-port.js';
import { findPrograms, PASSWORD, PRODUCTS, type Product, type ServerPrograms } from './server-programs.js';

const PACKAGES: Readonly<Record<Product, string>> = {
  PostgreSQL: 'apt-get install postgresql',
  MariaDB: 'apt-get install mariadb-server',
  MySQL: 'Set SVC_MYSQL_SYSTEM to a Debian system with mysql-server.',
};

/**
 * Starts the servers once for all test files. Tests do not wait here: a server says its port in a file when it answers,
 * or why it did not start.
 */
export default function launchServers(project: TestProject): () => Promise<void> {
  const isMysqlOnly = process.env['SVC_MYSQL_SYSTEM'] !== undefined;
  const wanted = PRODUCTS.filter((product) => (product === 'MySQL') === isMysqlOnly);
  const launched = wanted.flatMap((product) => {
    const programs = findPrograms(product);
    if (programs === null) {
      process.stderr.write(
        `\n*** NOT TESTED: ${product} is not installed, so its part of apply was not tried. ${PACKAGES[product]} ***\n\n`,
      );
      return [];
    }
    const { folder, user } = makeFolder(programs.user);
    const server = start(programs, folder, user).catch((error: unknown) => {
      writeFileSync(join(folder, 'error'), String(error));
      return null;
    });
    return [{ product, folder, server }];
  });
  project.provide(
    'servers',
    launched.map(({ product, folder }) => ({ product, folder })),
  );
  return async () => {
    for (const { folder, server } of launched) await stopProcess(await server, folder);
  };
}

interface User {
  readonly uid?: number;
  readonly gid?: number;
}

/** A new folder, in memory where the system offers that. Servers refuse to run as root, so they own it. */
export function makeFolder(userName: string): { readonly folder: string; readonly user: User } {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'svc-server-'));
  const user = process.getuid?.() === 0 ? findUser(userName) : {};
  own(folder, user);
  return { folder, user };
}

function findUser(name: string): User {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  const [, , uid, gid] = (lines.find((text) => text.startsWith(`${name}:`)) ?? '').split(':');
  return uid === undefined || gid === undefined ? {} : { uid: Number(uid), gid: Number(gid) };
}

function own(path: string, { uid, gid }: User): void {
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}

async function start(programs: ServerPrograms, folder: string, user: User): Promise<ChildProcess> {
  const data = join(folder, 'data');
  mkdirSync(`${data}.tmp`);
  own(`${data}.tmp`, user);
  writeFileSync(`${data}.sql`, programs.first);
  makeCertificate(data);
  for (const end of ['crt', 'key']) own(`${data}.${end}`, user);
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' } };
  const [install, ...words] = programs.install(data);
  await promisify(execFile)(install, words, options);
  const port = await freePort();
  const [serve, ...more] = programs.serve(data, port);
  const server = spawn(serve, more, { ...options, stdio: 'ignore' });
  process.once('exit', () => server.kill('SIGKILL'));
  await waitUntilAnswered(server, () => (programs.user === 'mysql' ? askMysql : askPostgres)(port));
  writeFileSync(join(folder, 'port'), String(port));
  return server;
}

/** For `localhost`, signed by itself. */
function makeCertificate(path: string): void {
  const files = ['-keyout', `${path}.key`, '-out', `${path}.crt`, '-subj', '/CN=localhost'];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-days', '2'];
  const names = ['-addext', 'subjectAltName=DNS:localhost'];
  execFileSync('openssl', ['req', '-x509', '-nodes', ...kind, ...names, ...files], { stdio: 'ignore' });
}

export async function askPostgres(port: number): Promise<void> {
  const connectionString = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`;
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  await client.connect();
  await client.end();
}

async function askMysql(port: number): Promise<void> {
  const login = { user: 'admin', password: PASSWORD, host: '127.0.0.1' };
  const client = await mysql.createConnection({ ...login, port });
  await client.end();
}

/** Waits until a server takes a login: it listens before that. */
export async function waitUntilAnswered(server: ChildProcess, ask: () => Promise<void>): Promise<void> {
  while (server.exitCode === null) {
    const isReady = await ask().then(
      () => true,
      () => false,
    );
    if (isReady) return;
    await sleep(25);
  }
  throw new Error(`exited with code ${server.exitCode}`);
}

export async function stopProcess(server: ChildProcess | null, folder: string): Promise<void> {
  if (server !== null && server.exitCode === null) {
    const ended = once(server, 'exit');
    server.kill('SIGKILL');
    await ended;
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 9, retryDelay: 20 });
}

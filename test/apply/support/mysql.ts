import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import mysql from 'mysql2/promise';
import { freePort } from '../../support/free-port.js';

/** A MariaDB server of the test's own, on loopback. */
export interface MysqlServer {
  readonly port: number;
  /** Connection string of a database, for the administrator or another user, who has the same password. */
  url(database: string, user?: string): string;
  /** A new empty database. */
  createDatabase(name: string): Promise<string>;
  stop(): Promise<void>;
}

const PASSWORD = 'canary-password';
const FOLDERS = ['/usr/sbin', '/usr/bin', '/usr/libexec', '/usr/local/bin', '/opt/homebrew/bin'];

function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':'), ...FOLDERS];
  return folders.map((folder) => join(folder, name)).find(existsSync);
}

/** The server refuses to run as root: then it runs as the user its package made. */
function findUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith('mysql:'));
  const [, , uid, gid] = (line ?? '').split(':');
  return uid === undefined || gid === undefined ? {} : { uid: Number(uid), gid: Number(gid) };
}

/**
 * Starts a server with fresh data; null, said loudly, where there is no MariaDB to start: then nothing is proved here.
 * `settings`: options of the server; `files`: texts in the folder above its data.
 */
export async function startMysql(
  settings: readonly string[] = [],
  files: Readonly<Record<string, string>> = {},
): Promise<MysqlServer | null> {
  const [install, program] = [findProgram('mariadb-install-db'), findProgram('mariadbd')];
  if (install === undefined || program === undefined) {
    process.stderr.write(
      '\n*** NOT TESTED: MariaDB is not installed, so its part of apply was not tried. ***\n' +
        '*** Install it (apt-get install mariadb-server) and run the tests again.    ***\n\n',
    );
    return null;
  }
  const user = findUser();
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'svc-my-'));
  const data = join(folder, 'data');
  const grants = join(folder, 'grants.sql');
  const statements = [
    `GRANT ALL ON *.* TO 'admin'@'127.0.0.1' IDENTIFIED BY '${PASSWORD}' WITH GRANT OPTION;`,
    // Half of the server's work would be to parse its views whenever foreign keys are looked up.
    'DROP DATABASE IF EXISTS sys;',
  ];
  writeFileSync(grants, `${statements.join('\n')}\n`);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' }, stdio: 'ignore' as const };
  const common = ['--no-defaults', `--datadir=${data}`];
  execFileSync(install, [...common, '--skip-test-db', '--skip-name-resolve', `--tmpdir=${folder}`], options);
  const all = [
    ...common,
    `--socket=${join(folder, 'socket')}`,
    `--pid-file=${join(folder, 'pid')}`,
    `--tmpdir=${folder}`,
    `--init-file=${grants}`,
    '--bind-address=127.0.0.1',
    '--skip-name-resolve',
    '--innodb-buffer-pool-size=64M',
    // Nothing here has to survive a power cut.
    '--innodb-flush-log-at-trx-commit=0',
    '--skip-innodb-doublewrite',
    ...settings,
  ];
  const { port, server } = await startServer(program, all, options);
  const kill = () => server.kill('SIGKILL');
  process.once('exit', kill);
  const url = (database: string, name = 'admin') =>
    `mysql://${name}:${PASSWORD}@127.0.0.1:${port}/${database}`;
  return {
    port,
    url,
    createDatabase: async (name) => {
      const client = await connectMysql(url('mysql'));
      await client.query(`CREATE DATABASE ${name} CHARACTER SET utf8mb4`);
      await client.end();
      return url(name);
    },
    stop: async () => {
      process.off('exit', kill);
      const ended = new Promise((done) => server.once('exit', done));
      server.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Another process may take the free port first: then the next one is tried. */
async function startServer(
  program: string,
  settings: readonly string[],
  options: object,
): Promise<{ readonly port: number; readonly server: ChildProcess }> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const port = await freePort();
    const server = spawn(program, [...settings, `--port=${port}`], options);
    if (await isReady(port, server)) return { port, server };
    server.kill('SIGKILL');
  }
  throw new Error('MariaDB did not start');
}

async function isReady(port: number, server: ChildProcess): Promise<boolean> {
  for (let attempt = 0; attempt < 600 && server.exitCode === null; attempt += 1) {
    try {
      await (await connectMysql(`mysql://admin:${PASSWORD}@127.0.0.1:${port}/mysql`)).end();
      return server.exitCode === null;
    } catch {
      await sleep(50);
    }
  }
  return false;
}

/** A connection that reads everything as text. */
export async function connectMysql(url: string): Promise<mysql.Connection> {
  const client = await mysql.createConnection({
    uri: url,
    charset: 'utf8mb4_bin',
    multipleStatements: true,
    rowsAsArray: true,
    typeCast: (field) => field.buffer()?.toString('utf8') ?? null,
  });
  client.on('error', () => {});
  return client;
}

/** Rows of a query, as text. */
export async function readMysql(client: mysql.Connection, sql: string): Promise<(string | null)[][]> {
  const [rows] = await client.query<(string | null)[][] & mysql.RowDataPacket[][]>(sql);
  return Array.isArray(rows) ? rows : [];
}

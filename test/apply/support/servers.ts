import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { freePort } from '../../support/free-port.js';

export type Cells = (string | null)[];

/** A server on loopback, started for one test file. */
export interface TestServer {
  readonly product: 'PostgreSQL' | 'MariaDB' | 'MySQL';
  readonly kind: 'postgres' | 'mysql';
  readonly port: number;
  /** A new database; returns its connection string. */
  createDatabase(name: string, options?: string): Promise<string>;
  /** Runs statements of a user's program; returns the rows of the last one as text. */
  run(url: string, sql: string): Promise<Cells[]>;
  /** Runs the server's own client with a script. */
  client(url: string, script: string): string;
  stop(): Promise<void>;
}

const PASSWORD = 'canary-password';

function skipLoudly(product: string, hint: string): null {
  process.stderr.write(
    `\n*** NOT TESTED: ${product} is not installed, so its part of apply was not tried. ${hint} ***\n\n`,
  );
  return null;
}

interface User {
  readonly uid?: number;
  readonly gid?: number;
}

/** Servers refuse to run as root: then they run as the user of their package. */
function findUser(name: string): User {
  if (process.getuid?.() !== 0) return {};
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`${name}:`));
  const [, , uid, gid] = (line ?? '').split(':');
  return uid === undefined || gid === undefined ? {} : { uid: Number(uid), gid: Number(gid) };
}

function makeFolder(prefix: string, { uid, gid }: User): string {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), prefix));
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid);
  return folder;
}

const running = new Map<ChildProcess, string>();

process.once('exit', () => {
  for (const [server, folder] of running) {
    server.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
});

/** `ask` throws until the server answers. */
async function startProcess(
  product: string,
  folder: string,
  start: (port: number) => ChildProcess,
  ask: (port: number) => Promise<unknown>,
): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const port = await freePort();
  const server = start(port);
  running.set(server, folder);
  for (let attempt = 0; attempt < 1200 && server.exitCode === null; attempt += 1) {
    try {
      await ask(port);
      return { port, stop: () => stopProcess(server, folder) };
    } catch {
      await sleep(25);
    }
  }
  throw new Error(`${product} did not start in ${folder}`);
}

async function stopProcess(server: ChildProcess, folder: string): Promise<void> {
  const ended = new Promise((done) => server.once('exit', done));
  server.kill('SIGKILL');
  await ended;
  running.delete(server);
  rmSync(folder, { recursive: true, force: true, maxRetries: 9, retryDelay: 20 });
}

function findPostgres(): string | null {
  const root = '/usr/lib/postgresql';
  const folders = existsSync(root) ? readdirSync(root).map((name) => join(root, name, 'bin')) : [];
  return folders.filter((folder) => existsSync(join(folder, 'initdb'))).at(-1) ?? null;
}

const TEXT = { getTypeParser: () => (value: string | Buffer) => String(value) };

async function runPostgres(url: string, sql: string): Promise<Cells[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  await client.connect();
  try {
    const result = await client.query({ text: sql, rowMode: 'array', types: TEXT });
    const last = Array.isArray(result) ? result.at(-1) : result;
    return last.rows;
  } finally {
    await client.end();
  }
}

export async function startPostgres(): Promise<TestServer | null> {
  const programs = findPostgres();
  if (programs === null) return skipLoudly('PostgreSQL', 'apt-get install postgresql');
  const user = findUser('postgres');
  const folder = makeFolder('svc-pg-', user);
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' } };
  const initdb = ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-sync', '--no-locale'];
  execFileSync(join(programs, 'initdb'), initdb, { ...options, stdio: 'ignore' });
  const settings = (port: number) => [
    ...['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1'],
    // Nothing here has to survive a power cut.
    ...['-c', 'fsync=off', '-c', 'full_page_writes=off', '-c', 'autovacuum=off', '-c', 'shared_buffers=64MB'],
  ];
  const urlOf = (port: number, database: string) =>
    `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${database}`;
  const { port, stop } = await startProcess(
    'PostgreSQL',
    folder,
    (free) => spawn(join(programs, 'postgres'), settings(free), { ...options, stdio: 'ignore' }),
    (free) => runPostgres(urlOf(free, 'postgres'), 'select 1'),
  );
  return {
    product: 'PostgreSQL',
    kind: 'postgres',
    port,
    createDatabase: async (name, more = '') => {
      await runPostgres(urlOf(port, 'postgres'), `drop database if exists ${name} with (force)`);
      await runPostgres(urlOf(port, 'postgres'), `create database ${name} ${more}`);
      return urlOf(port, name);
    },
    run: runPostgres,
    client: (url, script) =>
      execFileSync(join(programs, 'psql'), ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', url], {
        input: script,
        encoding: 'utf8',
        stdio: ['pipe', 'pipe', 'pipe'],
      }),
    stop,
  };
}

/** A PgBouncer in transaction mode before a server. */
export async function startPgBouncer(
  server: TestServer,
  poolSize: number,
): Promise<Pick<TestServer, 'port' | 'stop'> | null> {
  const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find(existsSync);
  if (program === undefined) return skipLoudly('PgBouncer', 'apt-get install pgbouncer');
  const user = findUser('postgres');
  const folder = makeFolder('svc-pgb-', user);
  const start = (port: number) => {
    const file = join(folder, 'pgbouncer.ini');
    writeFileSync(
      file,
      `[databases]\n* = host=127.0.0.1 port=${server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = ${poolSize}\nadmin_users = postgres\n`.replace(
        '* = ',
        '* = user=postgres ',
      ),
    );
    return spawn(program, [file], { ...user, cwd: folder, stdio: 'ignore' });
  };
  return startProcess('PgBouncer', folder, start, (port) =>
    runPostgres(`postgres://postgres:x@127.0.0.1:${port}/postgres`, 'select 1'),
  );
}

interface MysqlPrograms {
  readonly install: readonly [string, ...string[]];
  readonly server: readonly [string, ...string[]];
  readonly first: string;
}

function findMariadb(): MysqlPrograms | null {
  const find = (name: string) =>
    ['/usr/sbin', '/usr/bin', '/usr/local/bin'].map((at) => join(at, name)).find(existsSync);
  const [install, server] = [find('mariadb-install-db'), find('mariadbd')];
  if (install === undefined || server === undefined) return null;
  return {
    install: [install, '--no-defaults', '--skip-test-db', '--skip-name-resolve'],
    server: [server, '--no-defaults', '--skip-innodb-doublewrite'],
    first: `grant all on *.* to 'admin'@'127.0.0.1' identified by '${PASSWORD}' with grant option;\n`,
  };
}

/** Its libraries are newer than those of this system, so that its own loader starts the server. */
function findMysql(): MysqlPrograms | null {
  const system = process.env['SVC_MYSQL_SYSTEM'] ?? '';
  const program = join(system, 'usr/sbin/mysqld');
  if (system === '' || !existsSync(program)) return null;
  const paths = readdirSync(join(system, 'usr/lib'))
    .filter((name) => name.endsWith('-linux-gnu'))
    .map((name) => join(system, 'usr/lib', name));
  const loader = paths
    .flatMap((path) => readdirSync(path).map((name) => join(path, name)))
    .find((path) => /\/ld-linux[^/]*\.so\.\d+$/.test(path));
  if (loader === undefined) return null;
  const libraries = [...paths, join(system, 'usr/lib/mysql/private')].join(':');
  const start = [
    loader,
    '--library-path',
    libraries,
    program,
    '--no-defaults',
    `--basedir=${join(system, 'usr')}`,
  ] as const;
  const messages = `--lc-messages-dir=${join(system, 'usr/share/mysql')}`;
  const lean = ['--innodb-doublewrite=OFF', '--mysqlx=OFF', '--skip-log-bin', '--secure-file-priv=NULL'];
  return {
    install: [...start, messages, '--initialize-insecure'],
    server: [...start, messages, ...lean],
    first: `create user 'admin'@'127.0.0.1' identified by '${PASSWORD}';\ngrant all on *.* to 'admin'@'127.0.0.1' with grant option;\n`,
  };
}

async function runMysql(url: string, sql: string): Promise<Cells[]> {
  const client = await mysql.createConnection({
    uri: url,
    charset: 'utf8mb4_bin',
    multipleStatements: true,
    rowsAsArray: true,
    typeCast: (field) => field.buffer()?.toString('utf8') ?? null,
  });
  try {
    const [result]: [unknown, unknown] = await client.query(sql);
    return lastRows(result);
  } finally {
    await client.end();
  }
}

/** The rows of a result, or of the last one of several. */
function lastRows(result: unknown): Cells[] {
  if (!Array.isArray(result)) return [];
  const results: readonly unknown[] = result;
  const isRow = (row: unknown) =>
    Array.isArray(row) && !row.some((cell) => typeof cell === 'object' && cell !== null);
  if (!results.every(isRow)) return lastRows(results.at(-1));
  return results.map((row) =>
    Array.isArray(row) ? row.map((cell) => (cell === null ? null : String(cell))) : [],
  );
}

export const startMariadb = () => startMysqlKind('MariaDB', findMariadb(), 'apt-get install mariadb-server');
export const startMysql = () =>
  startMysqlKind('MySQL', findMysql(), 'Set SVC_MYSQL_SYSTEM to a Debian system with mysql-server.');

async function startMysqlKind(
  product: 'MariaDB' | 'MySQL',
  programs: MysqlPrograms | null,
  hint: string,
): Promise<TestServer | null> {
  if (programs === null) return skipLoudly(product, hint);
  const user = findUser('mysql');
  const folder = makeFolder('svc-my-', user);
  const data = join(folder, 'data');
  const first = join(folder, 'first.sql');
  writeFileSync(first, programs.first);
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' }, stdio: 'ignore' as const };
  const [install, ...installArguments] = [...programs.install, `--datadir=${data}`, `--tmpdir=${folder}`];
  execFileSync(install, installArguments, options);
  const [program, ...common] = [
    ...programs.server,
    ...[`--datadir=${data}`, `--socket=${join(folder, 'socket')}`, `--pid-file=${join(folder, 'pid')}`],
    ...[`--tmpdir=${folder}`, `--init-file=${first}`, '--bind-address=127.0.0.1', '--skip-name-resolve'],
    ...['--innodb-buffer-pool-size=64M', '--innodb-flush-log-at-trx-commit=0'],
  ];
  const urlOf = (port: number, database: string) => `mysql://admin:${PASSWORD}@127.0.0.1:${port}/${database}`;
  const { port, stop } = await startProcess(
    product,
    folder,
    (free) => spawn(program, [...common, `--port=${free}`], options),
    (free) => runMysql(urlOf(free, 'mysql'), 'select 1'),
  );
  return {
    product,
    kind: 'mysql',
    port,
    createDatabase: async (name) => {
      await runMysql(
        urlOf(port, 'mysql'),
        `drop database if exists ${name}; create database ${name} character set utf8mb4`,
      );
      return urlOf(port, name);
    },
    run: runMysql,
    client: (url, script) => {
      const { pathname } = new URL(url);
      const login = [
        '--no-defaults',
        '-N',
        '-B',
        '-h127.0.0.1',
        `-P${port}`,
        '-uadmin',
        `-p${PASSWORD}`,
        pathname.slice(1),
      ];
      return execFileSync('mariadb', login, {
        input: script,
        encoding: 'utf8',
        stdio: ['pipe', 'pipe', 'pipe'],
      });
    },
    stop,
  };
}

import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../../support/free-port.js';

/** A PostgreSQL server of the test's own, on loopback. */
export interface Cluster {
  readonly port: number;
  /** Connection string of a database. */
  url(database?: string): string;
  /** A new empty database. */
  createDatabase(name: string): Promise<string>;
  /** Runs one of the server's programs; returns what it prints. */
  execute(program: string, args: readonly string[]): string;
  stop(): Promise<void>;
}

/** Where Debian, Red Hat, Homebrew and others put the server's programs. */
function findPrograms(): string | null {
  const roots = ['/usr/lib/postgresql', '/usr/pgsql', '/opt/homebrew/opt', '/usr/local/opt'];
  const found = roots
    .filter((root) => existsSync(root))
    .flatMap((root) => readdirSync(root).map((name) => join(root, name, 'bin')))
    .filter((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'postgres')));
  found.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const onPath = (process.env['PATH'] ?? '').split(':').find((folder) => existsSync(join(folder, 'initdb')));
  return found.at(-1) ?? onPath ?? null;
}

/** PostgreSQL refuses to run as root: then it runs as the user its package made. */
function findUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith('postgres:'));
  const [, , uid, gid] = (line ?? '').split(':');
  return uid === undefined || gid === undefined ? {} : { uid: Number(uid), gid: Number(gid) };
}

/**
 * Starts a server with a fresh cluster; null, said loudly, where there is no PostgreSQL to start: then nothing is
 * proved here.
 */
export async function startPostgres(): Promise<Cluster | null> {
  const programs = findPrograms();
  if (programs === null) {
    process.stderr.write(
      '\n*** NOT TESTED: PostgreSQL is not installed, so its part of apply was not tried. ***\n' +
        '*** Install it (apt-get install postgresql) and run the tests again.          ***\n\n',
    );
    return null;
  }
  const user = findUser();
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'svc-pg-'));
  if (user.uid !== undefined && user.gid !== undefined) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' } };
  const initdb = ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-sync', '--no-locale'];
  execFileSync(join(programs, 'initdb'), initdb, { ...options, stdio: 'ignore' });
  const { port, server } = await startServer(join(programs, 'postgres'), folder, {
    ...options,
    stdio: 'ignore',
  });
  const kill = () => server.kill('SIGKILL');
  process.once('exit', kill);
  return {
    port,
    url: (database = 'postgres') => `postgres://postgres:canary-password@127.0.0.1:${port}/${database}`,
    createDatabase: async (name) => {
      await run(port, 'postgres', `CREATE DATABASE ${name}`);
      return `postgres://postgres:canary-password@127.0.0.1:${port}/${name}`;
    },
    execute: (program, args) => execFileSync(join(programs, program), args, { ...options, encoding: 'utf8' }),
    stop: async () => {
      process.off('exit', kill);
      const ended = new Promise((done) => server.once('exit', done));
      server.kill('SIGINT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Another process may take the free port first: then the next one is tried. */
async function startServer(
  program: string,
  folder: string,
  options: SpawnOptions,
): Promise<{ readonly port: number; readonly server: ChildProcess }> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const port = await freePort();
    const server = spawn(program, ['-D', join(folder, 'data'), ...settings(folder, port)], options);
    if (await isReady(port, server)) return { port, server };
    server.kill('SIGKILL');
  }
  throw new Error('PostgreSQL did not start');
}

function settings(folder: string, port: number): string[] {
  const values = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    // Nothing here has to survive a power cut.
    fsync: 'off',
    full_page_writes: 'off',
    autovacuum: 'off',
    max_connections: 50,
    shared_buffers: '64MB',
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** False where the server ended, or somebody else answers on its port. */
async function isReady(port: number, server: ChildProcess): Promise<boolean> {
  for (let attempt = 0; attempt < 600 && server.exitCode === null; attempt += 1) {
    try {
      await run(port, 'postgres', 'SELECT 1');
      return server.exitCode === null;
    } catch {
      await sleep(50);
    }
  }
  return false;
}

async function run(port: number, database: string, sql: string): Promise<void> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: 'postgres',
    password: 'x',
    database,
    connectionTimeoutMillis: 5000,
  });
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** A connection that reads everything as text. */
export async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

const AS_TEXT = { getTypeParser: () => (value: string | Buffer) => String(value) };

/** Rows of a query, as text. */
export async function readAll(client: pg.Client, text: string): Promise<(string | null)[][]> {
  const result = await client.query<(string | null)[]>({ text, rowMode: 'array', types: AS_TEXT });
  return result.rows;
}

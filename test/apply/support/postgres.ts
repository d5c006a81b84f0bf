import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { findUser, keepServer, makeServerFolder, type ServerProcess, startServer } from './server-process.js';

/** A PostgreSQL server, on loopback. */
export interface Cluster {
  readonly port: number;
  /** Connection string of a database. */
  url(database?: string): string;
  /** A new empty database, in place of one of that name. */
  createDatabase(name: string): Promise<string>;
  /** Runs one of the server's programs; returns what it prints. */
  execute(program: string, args: readonly string[]): string;
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

/** The server that the test files of this process share, without users and databases; null where there is none to start. */
export async function startPostgres(): Promise<Cluster | null> {
  const cluster = await keepServer('PostgreSQL', startOwnPostgres);
  if (cluster !== null) await empty(cluster);
  return cluster;
}

async function empty(cluster: Cluster): Promise<void> {
  const client = await connect(cluster.url());
  const names = async (sql: string) => (await readAll(client, sql)).map(([name]) => name ?? '');
  for (const name of await names(
    "SELECT quote_ident(datname) FROM pg_database WHERE datname !~ '^(postgres|template.)$'",
  ))
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
  for (const name of await names(
    "SELECT quote_ident(rolname) FROM pg_roles WHERE rolname !~ '^(postgres$|pg_)'",
  ))
    await client.query(`DROP ROLE ${name}`);
  await client.end();
}

/**
 * Starts a server with a fresh cluster, for tests that change it; null, said loudly, where there is no PostgreSQL to
 * start: then nothing is proved here.
 */
export async function startOwnPostgres(): Promise<(Cluster & Pick<ServerProcess, 'stop'>) | null> {
  const programs = findPrograms();
  if (programs === null) {
    process.stderr.write(
      '\n*** NOT TESTED: PostgreSQL is not installed, so its part of apply was not tried. ***\n' +
        '*** Install it (apt-get install postgresql) and run the tests again.          ***\n\n',
    );
    return null;
  }
  const user = findUser('postgres');
  const folder = makeServerFolder('svc-pg-', user);
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' } };
  const initdb = ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-sync', '--no-locale'];
  execFileSync(join(programs, 'initdb'), initdb, { ...options, stdio: 'ignore' });
  const { port, stop } = await startServer(
    'PostgreSQL',
    folder,
    (own) =>
      spawn(join(programs, 'postgres'), ['-D', data, ...settings(folder, own)], {
        ...options,
        stdio: 'ignore',
      }),
    (own) => run(own, 'SELECT 1'),
  );
  const url = (database = 'postgres') => `postgres://postgres:canary-password@127.0.0.1:${port}/${database}`;
  return {
    port,
    url,
    createDatabase: async (name) => {
      await run(port, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`, `CREATE DATABASE ${name}`);
      return url(name);
    },
    execute: (program, args) => execFileSync(join(programs, program), args, { ...options, encoding: 'utf8' }),
    stop,
  };
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

async function run(port: number, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user: 'postgres',
    password: 'x',
    database: 'postgres',
    connectionTimeoutMillis: 5000,
  });
  client.on('error', () => {});
  await client.connect();
  try {
    for (const sql of statements) await client.query(sql);
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

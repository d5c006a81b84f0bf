import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { inject } from 'vitest';
import type { Database } from '../../../src/apply/db/database.js';
import { openMysql } from '../../../src/apply/db/mysql.js';
import { openPostgres } from '../../../src/apply/db/postgres.js';
import { freePort } from '../../support/free-port.js';
import { askPostgres, makeFolder, stopProcess, waitUntilAnswered } from './launch-servers.js';
import { type Cells, CONNECTION, type Shop } from './scene.js';
import { findPrograms, PASSWORD, type Product } from './server-programs.js';

declare module 'vitest' {
  interface ProvidedContext {
    readonly servers: readonly { readonly product: Product; readonly folder: string }[];
  }
}

/** A server on loopback, started once for all test files. */
export interface TestServer {
  readonly product: Product;
  readonly kind: 'postgres' | 'mysql';
  /** The certificate of the server, which it signed itself. */
  readonly certificate: string;
  port(): Promise<number>;
  /** An empty database; returns its connection string. `options`: of CREATE DATABASE. */
  createDatabase(name?: string, options?: string): Promise<string>;
  /** Runs statements of a user's program; returns the rows of the last one as text. */
  run(url: string, sql: string): Promise<Cells[]>;
  /** Runs the server's own client with a script. */
  client(url: string, script: string): string;
}

/** The server of a product; null where it is not installed. */
export function testServer(product: Product): TestServer | null {
  const launched = inject('servers').find((server) => server.product === product);
  const programs = findPrograms(product);
  if (launched === undefined || programs === null) return null;
  const { folder } = launched;
  const port = () => readPort(folder);
  const client: TestServer['client'] = (url, script) => {
    const [program, ...words] = programs.client(url);
    return execFileSync(program, words, { input: script, encoding: 'utf8', stdio: 'pipe' });
  };
  const rest = { product, certificate: join(folder, 'data.crt'), port, client };
  return product === 'PostgreSQL'
    ? { ...rest, kind: 'postgres', run: runPostgres, createDatabase: createPostgres(port) }
    : { ...rest, kind: 'mysql', run: runMysql, createDatabase: createMysql(port) };
}

async function readPort(folder: string): Promise<number> {
  for (;;) {
    const [file, error] = [join(folder, 'port'), join(folder, 'error')];
    if (existsSync(error)) throw new Error(`The server did not start: ${readFileSync(error, 'utf8')}`);
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    if (text !== '') return Number(text);
    await sleep(25);
  }
}

/** Test files run at the same time. */
const uniqueName = (name: string) => `${name}_${process.pid}`;

/** Removing schemas takes a fifth of the time of a new database. */
const EMPTY = `do $$ declare name text; begin
  for name in select nspname from pg_namespace where nspname !~ '^(pg_|information_schema)' loop
    execute format('drop schema %I cascade', name);
  end loop;
  create schema public;
end $$`;

function createPostgres(port: () => Promise<number>): TestServer['createDatabase'] {
  return async (given = 'shop', options = '') => {
    const name = uniqueName(given);
    const urlOf = async (database: string) =>
      `postgres://postgres:${PASSWORD}@127.0.0.1:${await port()}/${database}`;
    const isThere = `select 1 from pg_database where datname = '${name}'`;
    if ((await runPostgres(await urlOf('postgres'), isThere)).length > 0)
      await runPostgres(await urlOf(name), EMPTY);
    else await runPostgres(await urlOf('postgres'), `create database ${name} ${options}`);
    return urlOf(name);
  };
}

function createMysql(port: () => Promise<number>): TestServer['createDatabase'] {
  return async (given = 'shop', options = 'character set utf8mb4') => {
    const name = uniqueName(given);
    const url = `mysql://admin:${PASSWORD}@127.0.0.1:${await port()}`;
    await runMysql(url, `drop database if exists ${name}; create database ${name} ${options}`);
    return `${url}/${name}`;
  };
}

const TEXT = { getTypeParser: () => (value: string | Buffer) => String(value) };

/** A connection for each of the last databases: to open one takes much longer than a statement. */
const clients = new Map<string, Promise<pg.Client>>();
/** Each worker keeps its connections; the server takes 100. */
const MAX_CLIENTS = 20;

async function connectPostgres(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function runPostgres(url: string, sql: string): Promise<Cells[]> {
  const client = clients.get(url) ?? connectPostgres(url);
  clients.delete(url);
  clients.set(url, client);
  for (const [idle, oldest] of [...clients].slice(0, -MAX_CLIENTS)) {
    clients.delete(idle);
    await (await oldest).end();
  }
  const result = await (await client).query({ text: sql, rowMode: 'array', types: TEXT });
  const last = Array.isArray(result) ? result.at(-1) : result;
  return last.rows;
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

/** A database of svc-migrate on a server. */
export function openServer(
  { kind }: Pick<TestServer, 'kind'>,
  url: string,
  {
    tls = 'verified',
    lockTimeoutMs = 1000,
  }: { tls?: 'verified' | 'unverified'; lockTimeoutMs?: number } = {},
): Promise<Database> {
  const options = { ...CONNECTION, url, name: 'DB', tls, mode: 'write', lockTimeoutMs } as const;
  return kind === 'postgres' ? openPostgres(options) : openMysql(options);
}

/** Every table of a database with its columns and rows, to compare before and after. */
async function dumpServer({ kind, run }: TestServer, url: string): Promise<string> {
  const own =
    kind === 'postgres' ? "table_schema !~ '^(pg_|information_schema)'" : 'table_schema = database()';
  const columns = await run(
    url,
    `select table_name, column_name, column_type_text from (select table_schema, table_name, column_name, ordinal_position,
       ${kind === 'postgres' ? 'data_type' : 'column_type'} as column_type_text from information_schema.columns where ${own}) as c
     order by table_schema, table_name, ordinal_position`,
  );
  const tables = [...new Set(columns.map((row) => String(row[0])))];
  const quote = (name: string) => (kind === 'postgres' ? `"${name}"` : `\`${name}\``);
  const rows = [];
  for (const table of tables) rows.push(await run(url, `select * from ${quote(table)} order by 1`));
  return JSON.stringify([columns, rows]);
}

export function serverShop(server: TestServer, url: string): Shop {
  return {
    kind: server.kind,
    open: () => openServer(server, url),
    run: (sql) => server.run(url, sql),
    dump: () => dumpServer(server, url),
  };
}

/** A PgBouncer in transaction mode before a server. */
export async function startPgBouncer(
  server: TestServer,
  poolSize: number,
): Promise<{ readonly port: number; stop(): Promise<void> } | null> {
  const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find(existsSync);
  if (program === undefined) {
    process.stderr.write('\n*** NOT TESTED: PgBouncer is not installed. apt-get install pgbouncer ***\n\n');
    return null;
  }
  const { folder, user } = makeFolder('postgres');
  const file = join(folder, 'pgbouncer.ini');
  const port = await freePort();
  const databases = `[databases]\n* = user=postgres host=127.0.0.1 port=${await server.port()}\n`;
  const listen = `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any\n`;
  writeFileSync(
    file,
    `${databases}[pgbouncer]\n${listen}pool_mode = transaction\ndefault_pool_size = ${poolSize}\nadmin_users = postgres\n`,
  );
  const process_ = spawn(program, [file], { ...user, cwd: folder, stdio: 'ignore' });
  await waitUntilAnswered(process_, () => askPostgres(port));
  return { port, stop: () => stopProcess(process_, folder) };
}

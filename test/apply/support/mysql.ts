import { execFileSync, spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import { findUser, keepServer, makeServerFolder, type ServerProcess, startServer } from './server-process.js';

/** A MariaDB server, on loopback. */
export interface MysqlServer {
  readonly port: number;
  /** Connection string of a database, for the administrator or another user, who has the same password. */
  url(database: string, user?: string): string;
  /** A new empty database, in place of one of that name. */
  createDatabase(name: string): Promise<string>;
}

const PASSWORD = 'canary-password';
const FOLDERS = ['/usr/sbin', '/usr/bin', '/usr/libexec', '/usr/local/bin', '/opt/homebrew/bin'];

function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':'), ...FOLDERS];
  return folders.map((folder) => join(folder, name)).find(existsSync);
}

/**
 * The server that the test files of this process share, without users and databases; null where there is none to start.
 * `settings`: options of the server.
 */
export async function startMysql(settings: readonly string[] = []): Promise<MysqlServer | null> {
  const server = await keepServer(`MariaDB ${settings.join(' ')}`, () => startOwnMysql(settings));
  if (server !== null) await empty(server);
  return server;
}

async function empty(server: MysqlServer): Promise<void> {
  const client = await connectMysql(server.url('mysql'));
  const all = async (sql: string) => (await readMysql(client, sql)).map(([value]) => value ?? '');
  // A session that was left behind may hold a lock.
  for (const id of await all("SELECT id FROM information_schema.PROCESSLIST WHERE user = 'admin'")) {
    if (Number(id) !== client.threadId) await client.query(`KILL SOFT CONNECTION ${id}`).catch(() => {});
  }
  for (const name of await all('SHOW DATABASES'))
    if (!/^(mysql|.*_schema)$/.test(name)) await client.query(`DROP DATABASE ${name}`);
  const users = `SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user
    WHERE user NOT IN ('admin', 'mariadb.sys', 'PUBLIC') AND host <> 'localhost'`;
  for (const user of await all(users)) await client.query(`DROP USER ${user}`);
  await client.end();
}

/**
 * Starts a server with fresh data, for tests that change it; null, said loudly, where there is no MariaDB to start: then
 * nothing is proved here. `files`: texts in the folder above its data.
 */
export async function startOwnMysql(
  settings: readonly string[] = [],
  files: Readonly<Record<string, string>> = {},
): Promise<(MysqlServer & Pick<ServerProcess, 'stop'>) | null> {
  const [install, program] = [findProgram('mariadb-install-db'), findProgram('mariadbd')];
  if (install === undefined || program === undefined) {
    process.stderr.write(
      '\n*** NOT TESTED: MariaDB is not installed, so its part of apply was not tried. ***\n' +
        '*** Install it (apt-get install mariadb-server) and run the tests again.    ***\n\n',
    );
    return null;
  }
  const user = findUser('mysql');
  const folder = makeServerFolder('svc-my-', user);
  const data = join(folder, 'data');
  const grants = join(folder, 'grants.sql');
  const statements = [
    `GRANT ALL ON *.* TO 'admin'@'127.0.0.1' IDENTIFIED BY '${PASSWORD}' WITH GRANT OPTION;`,
    // Half of the server's work would be to parse its views whenever foreign keys are looked up.
    'DROP DATABASE IF EXISTS sys;',
  ];
  writeFileSync(grants, `${statements.join('\n')}\n`);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
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
  const { port, stop } = await startServer(
    'MariaDB',
    folder,
    (own) => spawn(program, [...all, `--port=${own}`], options),
    async (own) => (await connectMysql(`mysql://admin:${PASSWORD}@127.0.0.1:${own}/mysql`)).end(),
  );
  const url = (database: string, name = 'admin') =>
    `mysql://${name}:${PASSWORD}@127.0.0.1:${port}/${database}`;
  return {
    port,
    url,
    createDatabase: async (name) => {
      const client = await connectMysql(url('mysql'));
      await client.query(`DROP DATABASE IF EXISTS ${name}; CREATE DATABASE ${name} CHARACTER SET utf8mb4`);
      await client.end();
      return url(name);
    },
    stop,
  };
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

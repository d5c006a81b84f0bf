import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import { findUser, keepServer, makeServerFolder, type ServerProcess, startServer } from './server-process.js';

/** A MariaDB or MySQL server, on loopback. */
export interface MysqlServer {
  readonly port: number;
  /** Connection string of a database, for the administrator or another user, who has the same password. */
  url(database: string, user?: string): string;
  /** A new empty database, in place of one of that name. */
  createDatabase(name: string): Promise<string>;
}

const PASSWORD = 'canary-password';
const FOLDERS = ['/usr/sbin', '/usr/bin', '/usr/libexec', '/usr/local/bin', '/opt/homebrew/bin'];

/** The folder of a Debian system that has `mysql-server`: the tests run on MySQL then, otherwise on MariaDB. */
const MYSQL_SYSTEM = process.env['SVC_MYSQL_SYSTEM'];
export const MYSQL_PRODUCT = MYSQL_SYSTEM === undefined ? 'MariaDB' : 'MySQL';

/** A program with the arguments that come before all others. */
type Program = readonly [string, ...string[]];

interface Programs {
  /** Creates the data of a server. */
  readonly install: Program;
  readonly server: Program;
  /** Statements that create the administrator and remove what the tests do not use. */
  readonly firstStatements: readonly string[];
}

function findPrograms(): Programs | null {
  return MYSQL_SYSTEM === undefined ? findMariadb() : findMysql(MYSQL_SYSTEM);
}

function findMariadb(): Programs | null {
  const [install, server] = [findProgram('mariadb-install-db'), findProgram('mariadbd')];
  if (install === undefined || server === undefined) return null;
  const firstStatements = [
    `GRANT ALL ON *.* TO 'admin'@'127.0.0.1' IDENTIFIED BY '${PASSWORD}' WITH GRANT OPTION;`,
    // Half of the server's work would be to parse its views whenever foreign keys are looked up.
    'DROP DATABASE IF EXISTS sys;',
  ];
  return {
    install: [install, '--no-defaults', '--skip-test-db', '--skip-name-resolve'],
    server: [server, '--no-defaults', '--skip-innodb-doublewrite'],
    firstStatements,
  };
}

/** Its libraries are newer than those of this system: its own loader starts the server, which needs no `chroot` then. */
function findMysql(system: string): Programs | null {
  const program = join(system, 'usr/sbin/mysqld');
  if (!existsSync(program)) return null;
  const libraries = readdirSync(join(system, 'usr/lib')).filter((name) => name.endsWith('-linux-gnu'));
  const paths = libraries.map((name) => join(system, 'usr/lib', name));
  const loader = paths
    .flatMap((path) => readdirSync(path).map((name) => join(path, name)))
    .find((path) => /\/ld-linux[^/]*\.so\.\d+$/.test(path));
  if (loader === undefined) return null;
  const common = [
    '--no-defaults',
    `--basedir=${join(system, 'usr')}`,
    `--lc-messages-dir=${join(system, 'usr/share/mysql')}`,
  ];
  const start: Program = [
    loader,
    '--library-path',
    [...paths, join(system, 'usr/lib/mysql/private')].join(':'),
    program,
  ];
  const firstStatements = [
    `CREATE USER 'admin'@'127.0.0.1' IDENTIFIED BY '${PASSWORD}';`,
    "GRANT ALL ON *.* TO 'admin'@'127.0.0.1' WITH GRANT OPTION;",
  ];
  return {
    install: [...start, ...common, '--initialize-insecure'],
    server: [
      ...start,
      ...common,
      '--innodb-doublewrite=OFF',
      '--mysqlx=OFF',
      '--skip-log-bin',
      '--secure-file-priv=NULL',
    ],
    firstStatements,
  };
}

function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':'), ...FOLDERS];
  return folders.map((folder) => join(folder, name)).find(existsSync);
}

/**
 * The server that the test files of this process share, without users and databases; null where there is none to start.
 * `settings`: options of the server.
 */
export async function startMysql(settings: readonly string[] = []): Promise<MysqlServer | null> {
  const server = await keepServer(`${MYSQL_PRODUCT} ${settings.join(' ')}`, () => startOwnMysql(settings));
  if (server !== null) await empty(server);
  return server;
}

async function empty(server: MysqlServer): Promise<void> {
  const client = await connectMysql(server.url('mysql'));
  const all = async (sql: string) => (await readMysql(client, sql)).map(([value]) => value ?? '');
  // A session that was left behind may hold a lock.
  for (const id of await all("SELECT id FROM information_schema.PROCESSLIST WHERE user = 'admin'")) {
    if (Number(id) !== client.threadId) await client.query(`KILL CONNECTION ${id}`).catch(() => {});
  }
  for (const name of await all('SHOW DATABASES'))
    if (!/^(mysql|sys|.*_schema)$/.test(name)) await client.query(`DROP DATABASE ${name}`);
  const users = `SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user
    WHERE user NOT IN ('admin', 'mariadb.sys', 'PUBLIC') AND host <> 'localhost'`;
  for (const user of await all(users)) await client.query(`DROP USER ${user}`);
  await client.end();
}

/**
 * Starts a server with fresh data, for tests that change it; null, said loudly, where there is none to start: then
 * nothing is proved here. `files`: texts in the folder above its data.
 */
export async function startOwnMysql(
  settings: readonly string[] = [],
  files: Readonly<Record<string, string>> = {},
): Promise<(MysqlServer & Pick<ServerProcess, 'stop'>) | null> {
  const programs = findPrograms();
  if (programs === null) {
    process.stderr.write(
      `\n*** NOT TESTED: ${MYSQL_PRODUCT} is not installed, so its part of apply was not tried. ***\n` +
        '*** `.ci/run` installs MariaDB (mariadb-server) and MySQL, and runs the tests on both.  ***\n\n',
    );
    return null;
  }
  const user = findUser('mysql');
  const folder = makeServerFolder('svc-my-', user);
  const data = join(folder, 'data');
  const grants = join(folder, 'grants.sql');
  writeFileSync(grants, `${programs.firstStatements.join('\n')}\n`);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const options = { ...user, cwd: folder, env: { ...process.env, LC_ALL: 'C' }, stdio: 'ignore' as const };
  const [install, ...installArguments] = [...programs.install, `--datadir=${data}`, `--tmpdir=${folder}`];
  execFileSync(install, installArguments, options);
  const [program, ...all] = [
    ...programs.server,
    `--datadir=${data}`,
    `--socket=${join(folder, 'socket')}`,
    `--pid-file=${join(folder, 'pid')}`,
    `--tmpdir=${folder}`,
    `--init-file=${grants}`,
    '--bind-address=127.0.0.1',
    '--skip-name-resolve',
    '--innodb-buffer-pool-size=64M',
    // Nothing here has to survive a power cut.
    '--innodb-flush-log-at-trx-commit=0',
    ...settings,
  ];
  const { port, stop } = await startServer(
    MYSQL_PRODUCT,
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

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export const PRODUCTS = ['PostgreSQL', 'MariaDB', 'MySQL'] as const;
export type Product = (typeof PRODUCTS)[number];

export const PASSWORD = 'canary-password';

type Words = readonly [program: string, ...words: string[]];

/** How a server is made, started, and asked by its own client. */
export interface ServerPrograms {
  /** The system user of its package, as which it runs where the tests run as root. */
  readonly user: string;
  readonly install: (data: string) => Words;
  readonly serve: (data: string, port: number) => Words;
  readonly client: (url: string) => Words;
  /** SQL that the server runs at its start. */
  readonly first: string;
}

/** The programs of a product; null if they are not installed. */
export function findPrograms(product: Product): ServerPrograms | null {
  return { PostgreSQL: findPostgres, MariaDB: findMariadb, MySQL: findMysql }[product]();
}

function findPostgres(): ServerPrograms | null {
  const root = '/usr/lib/postgresql';
  const folders = existsSync(root) ? readdirSync(root).map((name) => join(root, name, 'bin')) : [];
  const folder = folders.filter((path) => existsSync(join(path, 'initdb'))).at(-1);
  if (folder === undefined) return null;
  const setting = (text: string) => ['-c', text];
  return {
    user: 'postgres',
    install: (data) => [
      join(folder, 'initdb'),
      ...['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-sync', '--no-locale'],
    ],
    serve: (data, port) => [
      join(folder, 'postgres'),
      ...['-D', data, '-p', String(port), '-k', data],
      ...['listen_addresses=127.0.0.1', 'shared_buffers=64MB', 'autovacuum=off'].flatMap(setting),
      // Nothing here has to survive a power cut.
      ...['fsync=off', 'full_page_writes=off', 'synchronous_commit=off'].flatMap(setting),
      ...['ssl=on', `ssl_cert_file=${data}.crt`, `ssl_key_file=${data}.key`].flatMap(setting),
    ],
    client: (url) => [join(folder, 'psql'), '-X', '-q', '-A', '-t', '-F', '\t', url],
    first: '',
  };
}

const MYSQL_SETTINGS = [
  ...['--bind-address=127.0.0.1', '--skip-name-resolve', '--innodb-buffer-pool-size=64M'],
  '--innodb-flush-log-at-trx-commit=0',
];

function mysqlPlaces(data: string, port: number): string[] {
  return [
    ...[`--datadir=${data}`, `--socket=${data}.sock`, `--pid-file=${data}.pid`, `--tmpdir=${data}.tmp`],
    ...[`--init-file=${data}.sql`, `--port=${port}`, `--ssl-cert=${data}.crt`, `--ssl-key=${data}.key`],
  ];
}

const mysqlLogin = (url: string) => {
  const { port, pathname } = new URL(url);
  return ['-N', '-B', '-h127.0.0.1', `-P${port}`, '-uadmin', `-p${PASSWORD}`, pathname.slice(1)];
};

function findMariadb(): ServerPrograms | null {
  const find = (name: string) =>
    ['/usr/sbin', '/usr/bin', '/usr/local/bin'].map((at) => join(at, name)).find(existsSync);
  const [install, server, client] = [find('mariadb-install-db'), find('mariadbd'), find('mariadb')];
  if (install === undefined || server === undefined || client === undefined) return null;
  const [flags, lean] = [
    ['--no-defaults', '--skip-test-db', '--skip-name-resolve'],
    '--skip-innodb-doublewrite',
  ];
  return {
    user: 'mysql',
    install: (data) => [install, ...flags, `--datadir=${data}`, `--tmpdir=${data}.tmp`],
    serve: (data, port) => [server, '--no-defaults', lean, ...MYSQL_SETTINGS, ...mysqlPlaces(data, port)],
    client: (url) => [client, '--no-defaults', ...mysqlLogin(url)],
    first: `grant all on *.* to 'admin'@'127.0.0.1' identified by '${PASSWORD}' with grant option;\n`,
  };
}

/** Its libraries are newer than those of this system, so that its own loader starts its programs. */
function findMysql(): ServerPrograms | null {
  const system = process.env['SVC_MYSQL_SYSTEM'] ?? '';
  if (system === '' || !existsSync(join(system, 'usr/sbin/mysqld'))) return null;
  const paths = readdirSync(join(system, 'usr/lib'))
    .filter((name) => name.endsWith('-linux-gnu'))
    .map((name) => join(system, 'usr/lib', name));
  const loader = paths
    .flatMap((path) => readdirSync(path).map((name) => join(path, name)))
    .find((path) => /\/ld-linux[^/]*\.so\.\d+$/.test(path));
  if (loader === undefined) return null;
  const libraries = [...paths, join(system, 'usr/lib/mysql/private')].join(':');
  const start = (name: string): Words => [
    loader,
    ...['--library-path', libraries, join(system, 'usr', name), '--no-defaults'],
  ];
  const server: Words = [
    ...start('sbin/mysqld'),
    `--basedir=${join(system, 'usr')}`,
    `--lc-messages-dir=${join(system, 'usr/share/mysql')}`,
  ];
  const lean = ['--innodb-doublewrite=OFF', '--mysqlx=OFF', '--skip-log-bin', '--secure-file-priv=NULL'];
  return {
    user: 'mysql',
    install: (data) => [...server, '--initialize-insecure', `--datadir=${data}`, `--tmpdir=${data}.tmp`],
    serve: (data, port) => [...server, ...lean, ...MYSQL_SETTINGS, ...mysqlPlaces(data, port)],
    client: (url) => [...start('bin/mysql'), ...mysqlLogin(url)],
    first: `create user 'admin'@'127.0.0.1' identified by '${PASSWORD}';\ngrant all on *.* to 'admin'@'127.0.0.1' with grant option;\n`,
  };
}

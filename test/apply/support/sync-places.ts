import { join } from 'node:path';
import type { ApplyContext, DataStore } from '../../../src/apply/context.js';
import { openMysqlStore } from '../../../src/apply/dialects/mysql-dialect.js';
import { openPostgresStore } from '../../../src/apply/dialects/postgres-dialect.js';
import { openSqliteStore } from '../../../src/apply/dialects/sqlite-dialect.js';
import type { ApplyTarget, TableTarget } from '../../../src/config/apply-targets.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { connectMysql, readMysql, startMysql } from './mysql.js';
import { connect, readAll, startPostgres } from './postgres.js';
import { target } from './remap.js';

type Rows = (string | null)[][];

/** An empty database in which triggers are tried. */
export interface SyncPlace {
  readonly kind: TableTarget['kind'];
  /** Its connection string or file. */
  readonly url: string;
  /** Types of columns of ids. */
  readonly types: readonly string[];
  /** Runs one statement; its rows as text. */
  sql(text: string): Promise<Rows>;
  /** A target in it. */
  target(more: object): ApplyTarget;
  /** `as`: the connection string of another user. */
  open(context: ApplyContext, targets: readonly ApplyTarget[], as?: string): DataStore;
  /** Names of triggers, functions and tables of `--sync` in it. */
  objects(): Promise<string[]>;
  close(): Promise<void>;
}

function isKind<K extends TableTarget['kind']>(kind: K) {
  return (one: ApplyTarget): one is Extract<ApplyTarget, { kind: K }> => one.kind === kind;
}

export function sqlitePlace(folder: string, name: string): SyncPlace {
  const file = join(folder, `${name}.db`);
  const db = new Sqlite(file, { timeout: 10_000 });
  db.pragma('journal_mode = WAL');
  const sql = async (text: string): Promise<Rows> => {
    if (!/^\s*(SELECT|PRAGMA)/i.test(text)) db.exec(text);
    else {
      const rows = db.prepare<[], unknown[]>(text).raw().safeIntegers().all();
      return rows.map((row) => row.map((cell) => (cell === null ? null : String(cell))));
    }
    return [];
  };
  return {
    kind: 'sqlite',
    url: file,
    types: ['INTEGER', 'TEXT', ''],
    sql,
    target: (more) => target({ kind: 'sqlite', file, table: 't', ...more }),
    open: (context, targets) => openSqliteStore(context, file, targets.filter(isKind('sqlite'))),
    objects: async () =>
      (await sql("SELECT name FROM sqlite_schema WHERE name LIKE '%svc!_migrate!_sync%' ESCAPE '!'"))
        .flat()
        .map(String),
    close: async () => void db.close(),
  };
}

/** Opens new databases on a server; null if it is not installed. */
export async function startSyncServers() {
  const [postgres, mysql] = [
    await startPostgres(),
    await startMysql(['--log-bin=bin', '--binlog-format=MIXED']),
  ];
  return {
    postgres:
      postgres === null
        ? null
        : async (name: string): Promise<SyncPlace> => {
            const url = await postgres.createDatabase(name);
            const client = await connect(url);
            const sql = (text: string) => readAll(client, text);
            return {
              kind: 'postgres',
              url,
              types: ['bigint', 'text', 'numeric(20,0)', 'char(20)'],
              sql,
              target: (more) => target({ kind: 'postgres', urlEnv: 'TEST_URL', table: 't', ...more }),
              open: (context, targets) =>
                openPostgresStore({ ...context, env: { TEST_URL: url } }, targets.filter(isKind('postgres'))),
              objects: async () =>
                (
                  await sql(`SELECT tgname FROM pg_trigger WHERE tgname LIKE '%svc_migrate_sync%' UNION ALL SELECT relname FROM pg_class
                    WHERE relname LIKE 'sync%' AND relkind = 'r' UNION ALL SELECT proname FROM pg_proc WHERE proname LIKE 'sync%'`)
                )
                  .flat()
                  .map(String),
              close: () => client.end(),
            };
          },
    mysql:
      mysql === null
        ? null
        : async (name: string): Promise<SyncPlace> => {
            const url = await mysql.createDatabase(name);
            const client = await connectMysql(url);
            const sql = (text: string) => readMysql(client, text);
            return {
              kind: 'mysql',
              url,
              types: ['bigint', 'varchar(20)', 'varchar(20) CHARACTER SET latin1'],
              sql,
              target: (more) => target({ kind: 'mysql', urlEnv: 'TEST_URL', table: 't', ...more }),
              open: (context, targets, as = url) =>
                openMysqlStore({ ...context, env: { TEST_URL: as } }, targets.filter(isKind('mysql'))),
              objects: async () =>
                (
                  await sql(`SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() UNION ALL
                    SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE 'svc_migrate_sync%'`)
                )
                  .flat()
                  .map(String),
              close: () => client.end(),
            };
          },
  };
}

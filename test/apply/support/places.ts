import { join } from 'node:path';
import type { ApplyContext, DataStore } from '../../../src/apply/context.js';
import { openMysqlStore } from '../../../src/apply/dialects/mysql-dialect.js';
import { openPostgresStore } from '../../../src/apply/dialects/postgres-dialect.js';
import { openSqliteStore } from '../../../src/apply/dialects/sqlite-dialect.js';
import type { SqlScript } from '../../../src/apply/emit/emit-request.js';
import type { ApplyTarget } from '../../../src/config/apply-targets.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { type LedgerReader, mysqlLedger, postgresLedger, sqliteLedger } from './ledger.js';
import { connectMysql, readMysql, startMysql } from './mysql.js';
import { connect, readAll, startPostgres } from './postgres.js';
import { target } from './remap.js';

/** An empty database of the user. */
export interface Place {
  readonly product: string;
  quote(name: string): string;
  /** Opens one table of it. */
  open(context: ApplyContext, table: object): DataStore;
  run(sql: string): Promise<void>;
  /** The rows of a query, as text. */
  rows(sql: string): Promise<string>;
  readonly ledger: LedgerReader;
  close(): Promise<void>;
}

type Open = (name: string) => Promise<Place>;

const double = (name: string) => `"${name.replaceAll('"', '""')}"`;

function only<K extends ApplyTarget['kind']>(kind: K, where: object) {
  const one = target({ name: 't', kind, table: 't', ...where });
  return [one].filter((each): each is Extract<ApplyTarget, { kind: K }> => each.kind === kind);
}

/** The databases that the same cases hold for; those that cannot be started here are left out. */
export async function openPlaces(folder: string): Promise<readonly (readonly [product: string, Open])[]> {
  const cluster = await startPostgres();
  const server = await startMysql();
  const sqlite: Open = async (name) => {
    const file = join(folder, `${name}.db`);
    const db = new Sqlite(file);
    return {
      product: 'SQLite',
      quote: double,
      open: (context, table) => openSqliteStore(context, file, only('sqlite', { file, ...table })),
      run: async (sql) => void db.exec(sql),
      rows: async (sql) => String(db.prepare<[], unknown[]>(sql).raw().all()),
      ledger: sqliteLedger(file),
      close: async () => void db.close(),
    };
  };
  const postgres: Open = async (name) => {
    const url = (await cluster?.createDatabase(name)) ?? '';
    const client = await connect(url);
    return {
      product: 'PostgreSQL',
      quote: double,
      open: (context, table) =>
        openPostgresStore({ ...context, env: { DB: url } }, only('postgres', { urlEnv: 'DB', ...table })),
      run: async (sql) => void (await client.query(sql)),
      rows: async (sql) => String(await readAll(client, sql)),
      ledger: postgresLedger(client),
      close: () => client.end(),
    };
  };
  const mysql: Open = async (name) => {
    const url = (await server?.createDatabase(name)) ?? '';
    const client = await connectMysql(url);
    return {
      product: 'MySQL',
      quote: (column) => `\`${column.replaceAll('`', '``')}\``,
      open: (context, table) =>
        openMysqlStore({ ...context, env: { DB: url } }, only('mysql', { urlEnv: 'DB', ...table })),
      run: async (sql) => void (await client.query(sql)),
      rows: async (sql) => String(await readMysql(client, sql)),
      ledger: mysqlLedger(client),
      close: () => client.end(),
    };
  };
  return [
    ['SQLite', sqlite],
    ...(cluster === null ? [] : [['PostgreSQL', postgres] as const]),
    ...(server === null ? [] : [['MySQL', mysql] as const]),
  ];
}

/** Statements of a script as one file. */
export function fileOf({ begin }: SqlScript, statements: readonly string[]): string {
  return (begin === null ? statements : [begin, ...statements, 'COMMIT']).join(';\n');
}

import { copyFileSync, existsSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import type { ApplyContext, DataStore } from '../../../src/apply/context.js';
import { openMysqlStore } from '../../../src/apply/dialects/mysql-dialect.js';
import { openPostgresStore } from '../../../src/apply/dialects/postgres-dialect.js';
import { openSqliteStore } from '../../../src/apply/dialects/sqlite-dialect.js';
import type { SqlScript } from '../../../src/apply/emit/layouts.js';
import type { ApplyTarget, TableTarget } from '../../../src/config/apply-targets.js';
import type { Db } from '../../../src/store/open.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { makeFastFolder } from '../../support/fast-folder.js';
import { type Case, createSql, type Row, rowsOf, targetOf } from './cases.js';
import { LedgerReader } from './ledger.js';
import { connectMysql, MYSQL_PRODUCT, type MysqlServer, readMysql, startMysql } from './mysql.js';
import { type Cluster, connect, readAll, startPostgres } from './postgres.js';
import { target } from './remap.js';
import { keepFolder } from './server-process.js';

export type Kind = 'sqlite' | 'postgres' | 'mysql';

/** A connection that reads everything as text. */
export interface Session {
  /** Carries out SQL, in which `?` stand for `values`. */
  query(sql: string, values?: readonly (string | number | null)[]): Promise<(string | null)[][]>;
  end(): Promise<void>;
}

/** A database product that the same scenarios hold for. */
export interface Engine {
  readonly kind: Kind;
  readonly product: string;
  /** The user who owns everything; '' where there are no users. */
  readonly owner: string;
  readonly json: readonly string[];
  quote(name: string): string;
  /** Where a target finds the database of this name; connection strings are in `TEST_URL`. */
  whereIs(name: string): object;
  /** A new, empty database in place of one of that name. */
  createDatabase(name: string): Promise<Database>;
  /** A row of a case as text: exact, or as the product writes JSON. */
  showRow(row: Row): string;
}

/** What the products do each in their own way. */
interface Access {
  /** Its connection string; of SQLite, its file. */
  readonly url: string;
  /** A session for the user, who sees only what is committed. */
  connect(): Promise<Session>;
  openStore(context: ApplyContext, targets: readonly TableTarget[]): DataStore;
  /** All that the user has in the database, definitions and rows, to the byte. */
  dump(query: Session['query']): Promise<string>;
  /** Looks at the database at one moment, without mending what a killed process left. */
  freeze<T>(database: Database, look: (frozen: Database) => Promise<T>): Promise<T>;
  /** Whether a process that is gone left a transaction behind that has yet to be rolled back. */
  isHalfDone(query: Session['query']): Promise<boolean>;
}

/** A database of a user. */
export class Database {
  readonly engine: Engine;
  readonly name: string;
  readonly url: string;
  readonly ledger: LedgerReader;
  readonly #access: Access;
  #session: Session | null = null;

  constructor(engine: Engine, name: string, access: Access) {
    this.engine = engine;
    this.name = name;
    this.url = access.url;
    this.#access = access;
    this.ledger = new LedgerReader(engine.kind, this.query);
  }

  /** Carries out SQL; its rows as text. */
  readonly query: Session['query'] = async (sql, values) => {
    // A SQLite connection that stays open would see to what a killed process left.
    if (this.engine.kind !== 'sqlite') {
      this.#session ??= await this.#access.connect();
      return this.#session.query(sql, values);
    }
    const session = await this.#access.connect();
    try {
      return await session.query(sql, values);
    } finally {
      await session.end();
    }
  };

  connect(): Promise<Session> {
    return this.#access.connect();
  }

  /** A target for a table of this database. */
  target(input: object): TableTarget {
    return targetIn(this.engine, this.name, input);
  }

  /** `url`: another connection string of the same database. */
  openStore(context: ApplyContext, targets: readonly TableTarget[], url = this.url): DataStore {
    return this.#access.openStore({ ...context, env: { TEST_URL: url } }, targets);
  }

  dump(): Promise<string> {
    return this.#access.dump(this.query);
  }

  freeze<T>(look: (frozen: Database) => Promise<T>): Promise<T> {
    return this.#access.freeze(this, look);
  }

  isHalfDone(): Promise<boolean> {
    return this.#access.isHalfDone(this.query);
  }

  /** Runs SQL as one file, in a session of its own. */
  async run(sql: string): Promise<void> {
    const session = await this.connect();
    try {
      await session.query(sql);
    } finally {
      await session.end();
    }
  }

  /** Makes the tables of some cases, as a user would have them before. */
  async createCases(cases: readonly Case[]): Promise<void> {
    const statements = cases.flatMap((one, at) => {
      const json = this.engine.json[at % this.engine.json.length] ?? 'text';
      const rows = rowsOf(one, false).map((row) => `(${row.map((cell) => this.#literal(cell)).join(', ')})`);
      const insert = rows.length === 0 ? [] : [`INSERT INTO ${one.name} VALUES ${rows.join(', ')}`];
      return [createSql(one, { json }), ...insert];
    });
    await this.run(statements.join(';\n'));
  }

  #literal(cell: string | null): string {
    if (cell === null) return 'NULL';
    const text = cell.replaceAll("'", "''");
    return `'${this.engine.kind === 'mysql' ? text.replaceAll('\\', '\\\\') : text}'`;
  }

  targetsOf(cases: readonly Case[]): TableTarget[] {
    const where = { kind: this.engine.kind, ...this.engine.whereIs(this.name) };
    return cases.map((one) => tableTarget(targetOf(one, where)));
  }

  /** The rows of every case's table as `showRow` shows them, sorted. */
  async readCases(cases: readonly Case[]): Promise<string[][]> {
    const tables: string[][] = [];
    for (const one of cases)
      tables.push((await this.query(`SELECT * FROM ${one.name}`)).map(this.engine.showRow).sort());
    return tables;
  }

  async close(): Promise<void> {
    await this.#session?.end();
    this.#session = null;
  }
}

/** A target for a table of the database with this name; by default the table `t`. */
export function targetIn(engine: Engine, name: string, input: object): TableTarget {
  return tableTarget(target({ name: 't', kind: engine.kind, table: 't', ...engine.whereIs(name), ...input }));
}

function tableTarget(one: ApplyTarget): TableTarget {
  if ('table' in one) return one;
  throw new Error('no table');
}

function ofKind<K extends Kind>(kind: K, targets: readonly TableTarget[]) {
  return targets.filter((one): one is Extract<TableTarget, { kind: K }> => one.kind === kind);
}

const doubled = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** A row as text; jsonb has a form of its own. */
function showNormalized(row: Row): string {
  return JSON.stringify(row.map((cell) => (cell?.startsWith('{') ? sortMembers(cell) : cell)));
}

function sortMembers(json: string): string {
  return JSON.stringify(JSON.parse(json), (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function openSqlite(): Engine {
  const folder = keepFolder(makeFastFolder());
  const engine: Engine = {
    kind: 'sqlite',
    product: 'SQLite',
    owner: '',
    json: ['text'],
    quote: doubled,
    showRow: (row) => JSON.stringify(row),
    whereIs: (name) => ({ file: join(folder, `${name}.db`) }),
    createDatabase: async (name) => {
      const file = join(folder, `${name}.db`);
      for (const part of SQLITE_PARTS) rmSync(file + part, { force: true });
      return new Database(engine, name, sqliteAccess(engine, file));
    },
  };
  return engine;
}

const SQLITE_PARTS = ['', '-journal', '-wal', '-shm'];

function sqliteAccess(engine: Engine, file: string): Access {
  return {
    url: file,
    connect: async () => {
      const db = new Sqlite(file, { timeout: 10_000 });
      db.pragma('synchronous = OFF');
      db.pragma('foreign_keys = ON');
      return {
        query: async (sql, values = []) => querySqlite(db, sql, values),
        end: async () => void db.close(),
      };
    },
    openStore: (context, targets) => openSqliteStore(context, file, ofKind('sqlite', targets)),
    dump: dumpSqlite,
    freeze: async ({ name }, look) => {
      const copy = `${file}.copy`;
      for (const part of SQLITE_PARTS) if (existsSync(file + part)) copyFileSync(file + part, copy + part);
      try {
        // Rolls back.
        new Sqlite(copy).exec('BEGIN IMMEDIATE').exec('ROLLBACK').close();
        return await look(new Database(engine, `${name}.copy`, sqliteAccess(engine, copy)));
      } finally {
        for (const part of SQLITE_PARTS) rmSync(copy + part, { force: true });
      }
    },
    isHalfDone: async () =>
      ['-journal', '-wal'].some((part) => (statSync(file + part, { throwIfNoEntry: false })?.size ?? 0) > 0),
  };
}

/** One statement with its rows, or several without. */
function querySqlite(db: Db, sql: string, values: readonly (string | number | null)[]): (string | null)[][] {
  try {
    const statement = db.prepare<unknown[], unknown[]>(sql);
    if (statement.reader) {
      const rows = statement
        .raw()
        .safeIntegers()
        .all(...values);
      return rows.map((row) => row.map((cell) => (cell === null ? null : String(cell))));
    }
    statement.run(...values);
  } catch (error) {
    // The driver's errors for more than one statement, and for none.
    if (!(error instanceof RangeError)) throw error;
    db.exec(sql);
  }
  return [];
}

async function dumpSqlite(query: Session['query']): Promise<string> {
  const schema = await query(
    "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'svc_migrate%' ORDER BY type, name",
  );
  const tables = await query(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'svc_migrate%' ORDER BY name",
  );
  const rows: string[] = [];
  for (const [table] of tables) {
    const names = await query(`SELECT name FROM pragma_table_info('${table}')`);
    const terms = names.map(([name]) => `quote(${doubled(name ?? '')})`).join(" || ',' || ");
    const all = await query(`SELECT ${terms} FROM ${doubled(table ?? '')} ORDER BY 1`);
    rows.push(`${table}: ${all.flat().join(' | ')}`);
  }
  return `${JSON.stringify(schema)}\n${rows.join('\n')}`;
}

function openPostgres(cluster: Cluster): Engine {
  const engine: Engine = {
    kind: 'postgres',
    product: 'PostgreSQL',
    owner: 'postgres',
    json: ['json', 'jsonb'],
    quote: doubled,
    whereIs: () => ({ urlEnv: 'TEST_URL' }),
    showRow: showNormalized,
    createDatabase: async (name) => {
      const url = await cluster.createDatabase(name);
      return new Database(engine, name, {
        url,
        connect: async () => {
          const client = await connect(url);
          return {
            query: async (sql, values) => {
              if (values === undefined) return readAll(client, sql);
              const parts = sql.split('?');
              const text = parts.map((part, at) => (at === 0 ? part : `$${at}${part}`)).join('');
              await client.query(text, [...values]);
              return [];
            },
            end: () => client.end(),
          };
        },
        openStore: (context, targets) => openPostgresStore(context, ofKind('postgres', targets)),
        dump: dumpPostgres,
        freeze: (database, look) =>
          lookOnce(database, 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', look),
        isHalfDone: async (query) => {
          const sql = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'svc-migrate'
            AND datname = current_database() AND xact_start IS NOT NULL`;
          return (await query(sql)).length > 0;
        },
      });
    },
  };
  return engine;
}

async function dumpPostgres(query: Session['query']): Promise<string> {
  const own = "NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'svc_migrate')";
  const definitions = await query(
    `SELECT c.oid::regclass::text, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull::text, pg_get_expr(d.adbin, d.adrelid)
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
       LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
       WHERE n.nspname ${own} AND a.attnum > 0 AND NOT a.attisdropped
     UNION ALL SELECT conrelid::regclass::text, conname, pg_get_constraintdef(k.oid), '', ''
       FROM pg_constraint k JOIN pg_namespace n ON n.oid = k.connamespace WHERE n.nspname ${own}
     UNION ALL SELECT tablename, indexname, indexdef, '', '' FROM pg_indexes WHERE schemaname ${own} ORDER BY 1, 2, 3`,
  );
  const tables = await query(
    `SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname ${own} AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
  );
  const rows = tables.map(([name], at) => `SELECT ${at}, t::text FROM ${name} AS t`);
  const all = rows.length === 0 ? [] : await query(`${rows.join(' UNION ALL ')} ORDER BY 1, 2`);
  return [...definitions, ...all].map((row) => row.join(' ')).join('\n');
}

/** Everything is read from one snapshot: the server of a killed process may still be at work. */
async function lookOnce<T>(
  database: Database,
  begin: string,
  look: (frozen: Database) => Promise<T>,
): Promise<T> {
  await database.query(begin);
  try {
    return await look(database);
  } finally {
    await database.query('COMMIT');
  }
}

function openMysql(server: MysqlServer): Engine {
  const engine: Engine = {
    kind: 'mysql',
    product: MYSQL_PRODUCT,
    owner: 'admin',
    json: ['json'],
    quote: (name) => `\`${name.replaceAll('`', '``')}\``,
    whereIs: () => ({ urlEnv: 'TEST_URL' }),
    showRow: showNormalized,
    createDatabase: async (name) => {
      const url = await server.createDatabase(name);
      return new Database(engine, name, {
        url,
        connect: async () => {
          const client = await connectMysql(url);
          return {
            query: async (sql, values) => {
              if (values === undefined) return readMysql(client, sql);
              await client.query(sql, [...values]);
              return [];
            },
            end: () => client.end(),
          };
        },
        openStore: (context, targets) => openMysqlStore(context, ofKind('mysql', targets)),
        dump: dumpMysql,
        freeze: (database, look) =>
          lookOnce(database, 'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY', look),
        isHalfDone: async (query) => {
          const sql =
            'SELECT 1 FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id <> CONNECTION_ID()';
          return (await query(sql)).length > 0;
        },
      });
    },
  };
  return engine;
}

async function dumpMysql(query: Session['query']): Promise<string> {
  const found = await query(
    "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'svc\\_migrate%' ORDER BY 1",
  );
  const tables: string[] = [];
  for (const [name = ''] of found) {
    const quoted = `\`${(name ?? '').replaceAll('`', '``')}\``;
    const [[, definition] = []] = await query(`SHOW CREATE TABLE ${quoted}`);
    const rows = (await query(`SELECT * FROM ${quoted}`)).map((row) => JSON.stringify(row));
    tables.push(`${definition}\n${rows.sort().join('\n')}`);
  }
  return tables.join('\n');
}

/**
 * The databases that can be started here; of those that cannot, their servers say loudly that nothing is proved. Where
 * the tests of MySQL are run on MySQL itself, that is the only one: the others were tried before.
 */
export const ENGINES: readonly Engine[] = await openEngines();

async function openEngines(): Promise<Engine[]> {
  const server = await startMysql();
  const mysql = server === null ? [] : [openMysql(server)];
  if (process.env['SVC_MYSQL_SYSTEM'] !== undefined) return mysql;
  const cluster = await startPostgres();
  return [openSqlite(), ...(cluster === null ? [] : [openPostgres(cluster)]), ...mysql];
}

/** Those of these products that can be started here. Without any, the file says so with a test that is skipped. */
export function only(...kinds: readonly Kind[]): readonly Engine[] {
  const found = ENGINES.filter(({ kind }) => kinds.includes(kind));
  if (found.length === 0) it.skip(`${kinds.join(' or ')} cannot be started here`, () => {});
  return found;
}

/** Statements of a script as one file. */
export function fileOf({ begin }: SqlScript, statements: readonly string[]): string {
  return (begin === null ? statements : [begin, ...statements, 'COMMIT']).join(';\n\n');
}

import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ApplyContext, DataStore } from '../../../src/apply/context.js';
import { openMysqlStore } from '../../../src/apply/dialects/mysql-dialect.js';
import { openPostgresStore } from '../../../src/apply/dialects/postgres-dialect.js';
import { openSqliteStore } from '../../../src/apply/dialects/sqlite-dialect.js';
import type { Policy } from '../../../src/apply/plan.js';
import type { ApplyTarget } from '../../../src/config/apply-targets.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { makeFolder } from '../support/folder.js';
import { type LedgerReader, mysqlLedger, postgresLedger, sqliteLedger } from '../support/ledger.js';
import { connectMysql, MYSQL_PRODUCT, readMysql, startMysql } from '../support/mysql.js';
import { connect, readAll, startPostgres } from '../support/postgres.js';
import { createRemap, IN_PLACE, INVOICES, NEW, openContext, target } from '../support/remap.js';

type Rows = (string | null)[][];

/** A database of the user. */
interface UserDatabase {
  open(context: ApplyContext): DataStore;
  /** Runs SQL as one file. */
  run(sql: string): Promise<void>;
  rows(sql: string): Promise<Rows>;
  readonly ledger: LedgerReader;
  close(): Promise<void>;
}

const BIG = 9_007_199_254_740_993n;
/** Mapped, swapped, beyond 2^53, negative, to itself, without a twin, deleted with a twin, a V4 id only. */
const REMAP = [
  { v3: 1, v4: 2, platformId: 'a' },
  { v3: 2, v4: 1, platformId: "42 é'" },
  { v3: BIG, v4: BIG + 2n },
  { v3: BIG + 2n, v4: BIG },
  { v3: -5, v4: 5 },
  { v3: 7, v4: 7 },
  { v3: 8, platformId: '8' },
  { v3: 9, v4: 10, status: 'deleted', reason: 'deleted_in_v3' },
  { v3: null, v4: 11, status: 'v4_only' },
];
const IDS = ['1', '2', null, '1', String(BIG), String(BIG + 2n), '-5', '7', '8', '9', '11', '404', '8'];
const TEXTS = [...IDS, '', ' 1', '007', "it's; -- \\ ? é $x", '1.0'];
const CREATE = [
  'CREATE TABLE numbers(id integer PRIMARY KEY, svc_id bigint, other bigint)',
  'CREATE TABLE texts(id integer PRIMARY KEY, svc_id varchar(40), other integer)',
];

const folder = makeFolder();
const remap = join(folder, 'remap.db');
createRemap(remap, REMAP);
const cluster = await startPostgres();
const server = await startMysql();

const quoted = (value: string | null) => (value === null ? 'NULL' : `'${value.replaceAll("'", "''")}'`);
const targetsOf = (where: object, mode: Policy['mode']) =>
  ['numbers', 'texts'].map((table) => {
    const stored = mode === 'new' ? { platformIdColumn: 'platform' } : {};
    return target({ ...where, name: table, table, ids: [{ column: 'svc_id', model: INVOICES, ...stored }] });
  });
function only<K extends ApplyTarget['kind']>(kind: K, { policy }: ApplyContext, where: object) {
  return targetsOf({ kind, ...where }, policy.mode).filter(
    (one): one is Extract<ApplyTarget, { kind: K }> => one.kind === kind,
  );
}

const DATABASES: Readonly<Record<string, ((name: string) => Promise<UserDatabase>) | null>> = {
  SQLite: async (name) => {
    const file = join(folder, `${name}.db`);
    const use = <T>(work: (db: InstanceType<typeof Sqlite>) => T): T => {
      const db = new Sqlite(file);
      try {
        return work(db);
      } finally {
        db.close();
      }
    };
    return {
      open: (context) => openSqliteStore(context, file, only('sqlite', context, { file })),
      run: async (sql) => use((db) => void db.exec(sql)),
      rows: async (sql) =>
        use((db) => {
          const rows = db.prepare<[], unknown[]>(sql).raw().safeIntegers().all();
          return rows.map((row) =>
            row.map((cell) => (cell === null ? null : `${typeof cell} ${String(cell)}`)),
          );
        }),
      ledger: sqliteLedger(file),
      close: async () => {},
    };
  },
  PostgreSQL:
    cluster === null
      ? null
      : async (name) => {
          const url = await cluster.createDatabase(name);
          const client = await connect(url);
          return {
            open: (context) =>
              openPostgresStore(
                { ...context, env: { DB: url } },
                only('postgres', context, { urlEnv: 'DB' }),
              ),
            run: async (sql) => void (await client.query(sql)),
            rows: (sql) => readAll(client, sql),
            ledger: postgresLedger(client),
            close: () => client.end(),
          };
        },
  [MYSQL_PRODUCT]:
    server === null
      ? null
      : async (name) => {
          const url = await server.createDatabase(name);
          const client = await connectMysql(url);
          return {
            open: (context) =>
              openMysqlStore({ ...context, env: { DB: url } }, only('mysql', context, { urlEnv: 'DB' })),
            // A session of the user's, whose mode says less.
            run: async (sql) => void (await client.query(`SET sql_mode = ''; ${sql}`)),
            rows: (sql) => readMysql(client, sql),
            ledger: mysqlLedger(client),
            close: () => client.end(),
          };
        },
};

const POLICIES: readonly (readonly [string, Policy])[] = [
  ['in place, keeping the rest', { ...IN_PLACE, missing: 'keep', unknown: 'keep' }],
  [
    'in place, emptying and with deleted ones',
    { ...IN_PLACE, missing: 'null', unknown: 'keep', mapDeleted: true },
  ],
  ['into new columns', { ...NEW, missing: 'keep', unknown: 'keep' }],
];

/** A database with both tables, and what is in it and in its ledger. */
async function fill(open: (name: string) => Promise<UserDatabase>, name: string) {
  const database = await open(name);
  const insert = (table: string, ids: readonly (string | null)[]) =>
    `INSERT INTO ${table} VALUES ${ids.map((id, at) => `(${at + 1}, ${quoted(id)}, ${at})`).join(', ')}`;
  await database.run(
    [...CREATE, insert('numbers', IDS), insert('texts', TEXTS.map(backslashed(name)))].join(';'),
  );
  const read = async () => ({
    numbers: await database.rows('SELECT * FROM numbers ORDER BY id'),
    texts: await database.rows('SELECT * FROM texts ORDER BY id'),
  });
  const readLedger = async () => ({
    runs: await database.ledger.records(),
    changes: await database.ledger.changes(),
  });
  return { ...database, read, readLedger };
}

const backslashed = (name: string) => (id: string | null) =>
  name.startsWith('mariadb') ? (id?.replaceAll('\\', '\\\\') ?? null) : id;

const CASES = Object.entries(DATABASES).flatMap(([product, open]) =>
  POLICIES.map(([what, policy], at) => ({ product, open, what, policy, at })),
);

it.each(CASES.filter(({ open }) => open !== null))(
  '$product: SQL does $what what apply does, to the ledger',
  async ({ product, open, policy, at }) => {
    if (open === null) throw new Error('not reached');
    const context = openContext(remap, policy);
    const name = `${product.toLowerCase()}_${at}`;
    const [one, other] = [await fill(open, `${name}_apply`), await fill(open, `${name}_sql`)];
    const before = await other.read();
    const stores = [one.open(context), other.open(context)] as const;
    const run = { run: 'run-1', planSha256: 'p', isExact: true };
    const plans = await stores[0].survey();
    await stores[0].write(plans, run);
    const script = await stores[1].emit?.(await stores[1].survey(), run);
    if (script === undefined) throw new Error('no SQL');
    const sql = [...script.load, ...script.up];
    await other.run((script.begin === null ? sql : [script.begin, ...sql, 'COMMIT']).join(';\n'));
    expect(await other.read()).toEqual(await one.read());
    expect(await other.read()).not.toEqual(before);
    expect(await other.readLedger()).toEqual(await one.readLedger());
    expect((await other.rows(script.verify))[0]?.[0]).toMatch(/^(bigint )?0$/);
    await stores[1].undo('run-1');
    expect(await other.read()).toEqual(before);
    await Promise.all([...stores, one, other].map((opened) => opened.close()));
    context.remap.close();
  },
);

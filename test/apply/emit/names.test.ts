import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ApplyContext, DataStore } from '../../../src/apply/context.js';
import { openMysqlStore } from '../../../src/apply/dialects/mysql-dialect.js';
import { openPostgresStore } from '../../../src/apply/dialects/postgres-dialect.js';
import { openSqliteStore } from '../../../src/apply/dialects/sqlite-dialect.js';
import type { ApplyTarget } from '../../../src/config/apply-targets.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { makeFolder } from '../support/folder.js';
import { connectMysql, readMysql, startMysql } from '../support/mysql.js';
import { connect, readAll, startPostgres } from '../support/postgres.js';
import { createRemap, IN_PLACE, INVOICES, NEW, openContext, target } from '../support/remap.js';

/** Everything that ends a name or a literal somewhere, and a backslash at the end. */
const NAMES = { table: 't\\\'"`;$1 é --\\', id: 'i\\\'"`;$1 é\\', key: 'k\\\'"`;$1 /* é\\' } as const;

interface Place {
  readonly quote: (name: string) => string;
  open(context: ApplyContext): DataStore;
  run(sql: string): Promise<void>;
  rows(sql: string): Promise<string>;
  close(): Promise<void>;
}

const folder = makeFolder();
const remap = join(folder, 'remap.db');
createRemap(remap, [
  { v3: 1, v4: 2 },
  { v3: 2, v4: 1 },
]);
const cluster = await startPostgres();
const server = await startMysql();

function only<K extends ApplyTarget['kind']>(kind: K, where: object) {
  const one = target({
    ...{ name: 't', kind, table: NAMES.table, ids: [{ column: NAMES.id, model: INVOICES }] },
    ...where,
  });
  return [one].filter((each): each is Extract<ApplyTarget, { kind: K }> => each.kind === kind);
}

const double = (name: string) => `"${name.replaceAll('"', '""')}"`;

const PLACES: Readonly<Record<string, ((name: string) => Promise<Place>) | null>> = {
  SQLite: async (name) => {
    const file = join(folder, `${name}.db`);
    const db = new Sqlite(file);
    return {
      quote: double,
      open: (context) => openSqliteStore(context, file, only('sqlite', { file })),
      run: async (sql) => void db.exec(sql),
      rows: async (sql) => String(db.prepare<[], unknown[]>(sql).raw().all()),
      close: async () => void db.close(),
    };
  },
  PostgreSQL:
    cluster === null
      ? null
      : async (name) => {
          const url = await cluster.createDatabase(name);
          const client = await connect(url);
          return {
            quote: double,
            open: (context) =>
              openPostgresStore({ ...context, env: { DB: url } }, only('postgres', { urlEnv: 'DB' })),
            run: async (sql) => void (await client.query(sql)),
            rows: async (sql) => String(await readAll(client, sql)),
            close: () => client.end(),
          };
        },
  MariaDB:
    server === null
      ? null
      : async (name) => {
          const url = await server.createDatabase(name);
          const client = await connectMysql(url);
          return {
            quote: (column) => `\`${column.replaceAll('`', '``')}\``,
            open: (context) =>
              openMysqlStore({ ...context, env: { DB: url } }, only('mysql', { urlEnv: 'DB' })),
            run: async (sql) => void (await client.query(sql)),
            rows: async (sql) => String(await readMysql(client, sql)),
            close: () => client.end(),
          };
        },
};

const CASES = Object.entries(PLACES).flatMap(([product, open]) =>
  [NEW, IN_PLACE].map((policy) => ({ product, mode: policy.mode, open, policy })),
);

it.each(CASES.filter(({ open }) => open !== null))(
  '$product: SQL takes any name of a table and its columns ($mode)',
  async ({ product, open, policy, mode }) => {
    if (open === null) throw new Error('not reached');
    const place = await open(`names_${product.toLowerCase()}_${mode}`);
    const [table, id, key] = [NAMES.table, NAMES.id, NAMES.key].map(place.quote);
    await place.run(
      `CREATE TABLE ${table}(${key} bigint PRIMARY KEY, ${id} bigint); INSERT INTO ${table} VALUES (1, 1), (2, 2), (3, NULL)`,
    );
    const context = openContext(remap, policy);
    const store = place.open(context);
    const run = { run: 'run-1', planSha256: 'p', isExact: true };
    const script = await store.emit?.(await store.survey(), run);
    if (script === undefined) throw new Error('no SQL');
    const file = (statements: readonly string[]) =>
      (script.begin === null ? statements : [script.begin, ...statements, 'COMMIT']).join(';\n');
    await place.run(file([...script.load, ...script.up]));
    const after = await place.rows(`SELECT * FROM ${table} ORDER BY ${key}`);
    expect(after).toBe(mode === 'new' ? '1,1,2,2,2,1,3,,' : '1,2,2,1,3,');
    expect(await place.rows(script.verify)).toBe('0');
    expect(await store.verify(null)).toMatchObject([{ wrongCount: 0, changedSinceCount: 0 }]);
    await place.run(file(script.down));
    expect(await place.rows(`SELECT * FROM ${table} ORDER BY ${key}`)).toBe('1,1,2,2,3,');
    await store.close();
    await place.close();
    context.remap.close();
  },
);

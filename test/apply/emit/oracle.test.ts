import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ApplyContext, DataStore } from '../../../src/apply/context.js';
import { openMysqlStore } from '../../../src/apply/dialects/mysql-dialect.js';
import { openPostgresStore } from '../../../src/apply/dialects/postgres-dialect.js';
import { openSqliteStore } from '../../../src/apply/dialects/sqlite-dialect.js';
import type { SqlScript } from '../../../src/apply/emit/emit-request.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { campaign } from '../../support/campaign.js';
import { type Case, makeCase, remapRowsOf, rowsBeside, rowsOf, SHAPES } from '../support/cases.js';
import { makeFolder } from '../support/folder.js';
import { connectMysql, MYSQL_PRODUCT, readMysql, startMysql } from '../support/mysql.js';
import {
  createMysqlTables,
  dumpMysqlRows,
  mysqlTargetsOf,
  readMysqlTables,
} from '../support/mysql-tables.js';
import { connect, readAll, startPostgres } from '../support/postgres.js';
import * as pgTables from '../support/postgres-tables.js';
import { createRemap, IN_PLACE, NEW, openContext } from '../support/remap.js';
import { createTables, dumpTables, readTables, targetsOf } from '../support/sqlite-tables.js';

/** A database with the tables of the cases, and the way to run SQL in it. */
interface Place {
  openStore(context: ApplyContext): DataStore;
  read(): Promise<string[][]>;
  dump(): Promise<string>;
  /** Runs a script as one file. */
  run(sql: string): Promise<void>;
  one(sql: string): Promise<string | null>;
  close(): Promise<void>;
}

const TABLES = campaign({ small: 14, full: 28, soak: 60 });
const MAPS = campaign({ small: 6, full: 20, soak: 60 });

const CASES = Array.from({ length: TABLES }, (_, at) => makeCase(at + 1, SHAPES[at % SHAPES.length], MAPS));

const folder = makeFolder();
const remap = join(folder, 'remap.db');
beforeAll(() => createRemap(remap, CASES.flatMap(remapRowsOf)));

const cluster = await startPostgres();
const server = await startMysql();

const PLACES: Readonly<Record<string, ((name: string) => Promise<Place>) | null>> = {
  SQLite: async (name) => {
    const file = join(folder, `${name}.db`);
    createTables(file, CASES);
    const db = () => {
      const opened = new Sqlite(file);
      opened.pragma('foreign_keys = ON');
      return opened;
    };
    return {
      openStore: (context) => openSqliteStore(context, file, targetsOf(CASES, file)),
      read: async () => readTables(file, CASES).map((rows) => rows.map(showText).sort()),
      dump: async () => dumpTables(file),
      run: async (sql) => {
        const own = db();
        try {
          own.exec(sql);
        } finally {
          own.close();
        }
      },
      one: async (sql) => {
        const own = db();
        const value = String(own.prepare<[], unknown>(sql).pluck().get());
        own.close();
        return value;
      },
      close: async () => {},
    };
  },
  PostgreSQL:
    cluster === null
      ? null
      : async (name) => {
          const url = await cluster.createDatabase(name);
          const client = await connect(url);
          await pgTables.createTables(client, CASES);
          return {
            openStore: (context) =>
              openPostgresStore({ ...context, env: { TEST_PG: url } }, pgTables.targetsOf(CASES)),
            read: () => pgTables.readTables(client, CASES),
            dump: () => pgTables.dumpRows(client, CASES),
            run: async (sql) => {
              const own = await connect(url);
              try {
                await own.query(sql);
              } finally {
                await own.end();
              }
            },
            one: async (sql) => (await readAll(client, sql))[0]?.[0] ?? null,
            close: () => client.end(),
          };
        },
  [MYSQL_PRODUCT]:
    server === null
      ? null
      : async (name) => {
          const url = await server.createDatabase(name);
          const client = await connectMysql(url);
          await createMysqlTables(client, CASES);
          return {
            openStore: (context) =>
              openMysqlStore({ ...context, env: { TEST_MYSQL: url } }, mysqlTargetsOf(CASES)),
            read: () => readMysqlTables(client, CASES),
            dump: () => dumpMysqlRows(client, CASES),
            run: async (sql) => {
              const own = await connectMysql(url);
              try {
                await own.query(sql);
              } finally {
                await own.end();
              }
            },
            one: async (sql) => (await readMysql(client, sql))[0]?.[0] ?? null,
            close: () => client.end(),
          };
        },
};

const showText = (row: string) => pgTables.showRow(JSON.parse(row) as string[]);

const fileOf = ({ begin }: SqlScript, statements: readonly string[]) =>
  (begin === null ? statements : [begin, ...statements, 'COMMIT']).join(';\n\n');
const upOf = (script: SqlScript) => fileOf(script, [...script.load, ...script.up]);
const sorted = (rows: (one: Case) => readonly (readonly (string | null)[])[]) =>
  CASES.map((one) => rows(one).map(pgTables.showRow).sort());

describe.each(Object.entries(PLACES))('emitted SQL in %s', (product, open) => {
  it.skipIf(open === null).each([
    ['in place', IN_PLACE, sorted((one) => rowsOf(one, true))],
    ['into new columns', NEW, sorted(rowsBeside)],
  ] as const)(
    'rewrites %s what the oracle says, once, and is undone to the byte',
    async (what, policy, expected) => {
      const place = await open?.(policy.mode);
      if (place === undefined) throw new Error('not reached');
      const context = openContext(remap, policy);
      const store = place.openStore(context);
      const before = await place.dump();
      const emit = async (): Promise<SqlScript> => {
        const script = await store.emit?.(await store.survey(), {
          run: 'sql-1',
          planSha256: 'p',
          isExact: true,
        });
        if (script === undefined) throw new Error('no SQL');
        return script;
      };
      const script = await emit();
      expect(await emit()).toEqual(script);
      const isRepeatable = product !== 'SQLite' || policy.mode !== 'new';
      const runUp = async () => {
        await place.run(upOf(script));
        expect(await place.read()).toEqual(expected);
        const once = await place.dump();
        // SQLite cannot add a column only if it is missing: the second run stops there.
        const again = place.run(upOf(script));
        if (isRepeatable) await again;
        else await expect(again).rejects.toThrow('duplicate column');
        expect(await place.dump()).toBe(once);
        expect(await place.one(script.verify)).toBe('0');
      };
      await runUp();
      const verified = await store.verify(null);
      expect(verified.reduce((sum, one) => sum + one.wrongCount + one.changedSinceCount, 0)).toBe(0);
      expect(verified.reduce((sum, one) => sum + one.checked, 0)).toBeGreaterThan(100);
      expect((await store.survey()).map(({ earlier }) => earlier.changedSince)).toEqual(CASES.map(() => 0));
      await store.undo('sql-1');
      expect(await place.dump()).toBe(before);
      expect(await place.one(script.verify).catch(String)).not.toBe('0');
      await place.run(upOf(script));
      await place.run(fileOf(script, script.down));
      expect(await place.dump()).toBe(before);
      await expect(place.run(fileOf(script, script.down))).rejects.toThrow('not in the ledger as done');
      expect(await place.dump()).toBe(before);
      await store.close();
      await place.close();
      context.remap.close();
      process.stderr.write(`${product}: ${TABLES * MAPS} mappings rewritten ${what} by emitted SQL\n`);
    },
  );
});

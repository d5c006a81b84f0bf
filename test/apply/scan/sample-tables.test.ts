import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { DataStore } from '../../../src/apply/context.js';
import { openSqliteStore } from '../../../src/apply/dialects/sqlite-dialect.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { makeFolder } from '../support/folder.js';
import { MYSQL_PRODUCT, startMysql } from '../support/mysql.js';
import { openMysqlScene } from '../support/mysql-scene.js';
import { startPostgres } from '../support/postgres.js';
import { openPostgresScene } from '../support/postgres-scene.js';
import { createRemap, INVOICES, NEW, openContext, target } from '../support/remap.js';

const [cluster, server] = [await startPostgres(), await startMysql()];

/** What a scan sees of a database: each column with its values, and what it does not look at. */
async function sampled(store: DataStore): Promise<object> {
  const sample = await store.sample?.(null);
  return {
    columns: sample?.columns.map(({ table, column, path, isKey, values }) =>
      [`${table}.${column}`, path ?? '', isKey ? 'key' : '', [...values].sort().join(' ')]
        .filter((text) => text !== '')
        .join(': '),
    ),
    unseen: sample?.unseen.map(({ what, why }) => `${what}: ${why}`),
  };
}

const COLUMNS = ['t.k: key: 7 8 9', 't.id: 12345678901234567', `t.note: 5 {"a": [7]}`, 't.note: $.a[*]: 7'];

describe.skipIf(cluster === null)('a scan of PostgreSQL', () => {
  if (cluster === null) return;
  const scene = openPostgresScene(cluster, []);

  it('samples what can hold ids, also in tables that others hide on the search path', async () => {
    await scene.clear();
    await scene.sql(`
      CREATE TABLE t(k integer PRIMARY KEY, id bigint, note text, paid boolean, twice bigint GENERATED ALWAYS AS (id * 2) STORED);
      INSERT INTO t VALUES (7, 12345678901234567, '{"a": [7]}', true), (8, NULL, '', true), (9, NULL, '5', true);
      CREATE VIEW v AS SELECT * FROM t;
      CREATE SCHEMA app; CREATE TABLE app.t(other bigint); INSERT INTO app.t VALUES (3);
      CREATE SCHEMA svc_migrate; CREATE TABLE svc_migrate.x(i integer);
      DO 'BEGIN EXECUTE format(''ALTER DATABASE %I SET search_path = public, app'', current_database()); END'`);
    expect(await scene.open(sampled)).toEqual({
      columns: ['app.t.other: 3', ...COLUMNS],
      unseen: ['v: a view'],
    });
  });
});

describe.skipIf(server === null)(`a scan of ${MYSQL_PRODUCT}`, () => {
  if (server === null) return;
  const scene = openMysqlScene(server, []);

  it('samples what can hold ids', async () => {
    await scene.clear();
    await scene.sql(
      'CREATE TABLE t(k int PRIMARY KEY, id bigint, note text, paid double, twice bigint AS (id * 2) STORED)',
    );
    await scene.sql(
      `INSERT INTO t(k, id, note) VALUES (7, 12345678901234567, '{"a": [7]}'), (9, NULL, ''), (8, NULL, '5')`,
    );
    await scene.sql('CREATE VIEW v AS SELECT * FROM t');
    await scene.sql('CREATE TABLE svc_migrate_x(i int)');
    expect(await scene.open(sampled)).toEqual({
      columns: COLUMNS,
      unseen: ['v: a view'],
    });
  });
});

it('a scan of SQLite samples what can hold ids', async () => {
  const folder = makeFolder();
  const [remap, file] = [join(folder, 'remap.db'), join(folder, 'app.db')];
  createRemap(remap, []);
  const db = new Sqlite(file);
  db.exec(`
    CREATE TABLE t(k INTEGER PRIMARY KEY, id, note, twice AS (id * 2));
    INSERT INTO t VALUES (7, 12345678901234567, '{"a": [7]}'), (8, x'31', ''), (9, NULL, '5');
    CREATE VIEW v AS SELECT * FROM t;
    CREATE TABLE svc_migrate_x(i);
    CREATE TABLE strict_one(id TEXT, paid REAL) STRICT;`);
  db.close();
  const context = openContext(remap, NEW);
  const own = target({ kind: 'sqlite', file, table: '-', ids: [{ column: '-', model: INVOICES }] });
  if (own.kind !== 'sqlite') throw new Error('no table of SQLite');
  expect(await sampled(openSqliteStore(context, file, [own]))).toEqual({
    columns: ['strict_one.id', ...COLUMNS],
    unseen: ['v: a view'],
  });
  context.remap.close();
});

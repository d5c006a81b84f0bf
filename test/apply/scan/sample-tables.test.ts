import { describe, expect, it } from 'vitest';
import type { DataStore } from '../../../src/apply/context.js';
import { ENGINES, type Kind } from '../support/databases.js';
import { IN_PLACE } from '../support/remap.js';
import { openScene } from '../support/scene.js';

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

/** A table with a view on it, other tables, and the columns of these. */
const TABLES: Readonly<Record<Kind, readonly [sql: string, columns: readonly string[]]>> = {
  sqlite: [
    `CREATE TABLE t(k INTEGER PRIMARY KEY, id, note, twice AS (id * 2));
     INSERT INTO t VALUES (7, 12345678901234567, '{"a": [7]}'), (8, x'31', ''), (9, NULL, '5');
     CREATE TABLE svc_migrate_x(i);
     CREATE TABLE strict_one(id TEXT, paid REAL) STRICT;`,
    ['strict_one.id'],
  ],
  // Tables that others hide on the search path are sampled too.
  postgres: [
    `CREATE TABLE t(k integer PRIMARY KEY, id bigint, note text, paid boolean, twice bigint GENERATED ALWAYS AS (id * 2) STORED);
     INSERT INTO t VALUES (7, 12345678901234567, '{"a": [7]}', true), (8, NULL, '', true), (9, NULL, '5', true);
     CREATE SCHEMA app; CREATE TABLE app.t(other bigint); INSERT INTO app.t VALUES (3);
     CREATE SCHEMA svc_migrate; CREATE TABLE svc_migrate.x(i integer);
     DO 'BEGIN EXECUTE format(''ALTER DATABASE %I SET search_path = public, app'', current_database()); END'`,
    ['app.t.other: 3'],
  ],
  mysql: [
    `CREATE TABLE t(k int PRIMARY KEY, id bigint, note text, paid double, twice bigint AS (id * 2) STORED);
     INSERT INTO t(k, id, note) VALUES (7, 12345678901234567, '{"a": [7]}'), (9, NULL, ''), (8, NULL, '5');
     CREATE TABLE svc_migrate_x(i int)`,
    [],
  ],
};

describe.each(ENGINES)('a scan of $product', (engine) => {
  const { database, sql, withStore } = openScene(engine, []);

  it('samples what can hold ids', async () => {
    const [create, others] = TABLES[engine.kind];
    await database().run(create);
    await sql('CREATE VIEW v AS SELECT * FROM t');
    expect(await withStore(IN_PLACE, {}, sampled)).toEqual({
      columns: [
        ...others,
        't.k: key: 7 8 9',
        't.id: 12345678901234567',
        `t.note: 5 {"a": [7]}`,
        't.note: $.a[*]: 7',
      ],
      unseen: ['v: a view'],
    });
  });
});

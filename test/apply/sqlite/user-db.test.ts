import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openUserDb, SqliteSession } from '../../../src/apply/dialects/sqlite-session.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { makeFolder } from '../support/folder.js';
import { IN_PLACE, makeRemap, openContext } from '../support/remap.js';

const folder = makeFolder();

it('reads what was committed where a killed writer left a journal behind', () => {
  const file = join(folder, 'alive.db');
  const db = new Sqlite(file);
  db.exec('CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT)');
  // A cache this small writes to the file before the commit.
  db.pragma('cache_size = 1');
  db.exec('BEGIN');
  db.exec(
    'INSERT INTO t(v) WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT hex(randomblob(500)) FROM n',
  );
  const left = join(folder, 'left.db');
  for (const part of ['', '-journal']) copyFileSync(file + part, left + part);
  db.close();
  const reader = openUserDb(left, false);
  expect(reader.prepare('SELECT count(*) FROM t').pluck().get()).toBe(0);
  expect(reader.readonly).toBe(true);
  expect(existsSync(`${left}-journal`)).toBe(false);
  reader.close();
});

it('reads each row of a join once, batch by batch', async () => {
  const file = join(folder, 'join.db');
  const made = new Sqlite(file);
  const count = 'WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)';
  made.exec(`CREATE TABLE a AS ${count} SELECT i, 'row ' || i AS name FROM n;
    CREATE TABLE b AS SELECT i FROM a WHERE i % 2 = 0`);
  made.close();
  const context = openContext(makeRemap([]), IN_PLACE);
  const db = openUserDb(file, false);
  const batches = [];
  // The columns are all of the outer table, so SQLite could read them before it looks at the inner one.
  const sql = 'SELECT a.i, a.name FROM a CROSS JOIN b ON b.i = a.i WHERE b.i > 2';
  for await (const batch of new SqliteSession(context, db).read(sql)) batches.push(batch);
  expect(batches.map((batch) => batch.length)).toEqual([1000, 499]);
  expect(batches.flat()).toEqual(Array.from({ length: 1499 }, (_, at) => [2 * at + 4, `row ${2 * at + 4}`]));
  db.close();
  context.remap.close();
});

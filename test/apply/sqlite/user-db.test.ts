import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openUserDb } from '../../../src/apply/dialects/sqlite-session.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { makeFolder } from '../support/folder.js';

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

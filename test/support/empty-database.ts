import SCHEMA from '../../src/store/schema.sql';
import { type Db, Sqlite } from '../../src/store/sqlite.js';

export function openEmptyDatabase(): Db {
  const db = new Sqlite(':memory:');
  db.defaultSafeIntegers(true);
  return db.exec(SCHEMA);
}

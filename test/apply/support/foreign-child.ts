import type { Db } from '../../../src/store/open.js';
import { Sqlite } from '../../../src/store/sqlite.js';
import { ForeignApp, sqlOf } from './foreign-app.js';
import { seeded } from './remap.js';

/**
 * Another process that writes to a SQLite table until its input ends, one write after the other, each in a
 * transaction of its own. Prints what it wrote.
 *
 * Arguments: file, seed.
 */
const [file = '', seed = '1'] = process.argv.slice(2);
let db: Db | null = null;
const app = new ForeignApp(seeded(Number(seed)));
let isOver = false;

function write(): void {
  db ??= new Sqlite(file, { timeout: 10_000 });
  const next = app.next();
  const { sql, values } = sqlOf(next);
  db.prepare(sql).run(...values);
  app.commit(next);
  if (!isOver && app.log.length < 250) setImmediate(write);
  else {
    db.close();
    process.stdout.write(JSON.stringify(app.log));
    process.stdin.destroy();
  }
}

process.stdin.on('end', () => {
  isOver = true;
});
process.stdin.once('data', write);
process.stdout.write('ready\n');

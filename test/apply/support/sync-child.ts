import { setTimeout as sleep } from 'node:timers/promises';
import { Sqlite } from '../../../src/store/sqlite.js';
import { connectMysql } from './mysql.js';
import { connect } from './postgres.js';
import { seeded } from './remap.js';

/**
 * Old code that goes on writing V3 ids into table `t(k, i, note)` until it is killed. It fails if a statement does.
 *
 * Arguments: kind of database, its file or connection string, seed, first key of new rows.
 */
const [kind = '', url = '', seed = '1', first = '1000'] = process.argv.slice(2);
const random = seeded(Number(seed));
/** Rows of before, which every process changes. */
const ROWS = 200;
let next = Number(first);

async function open(): Promise<(sql: string) => Promise<unknown>> {
  if (kind === 'sqlite') {
    const db = new Sqlite(url, { timeout: 20_000 });
    return async (sql) => db.exec(sql);
  }
  if (kind === 'mysql') {
    const client = await connectMysql(url);
    return (sql) => client.query(sql);
  }
  const client = await connect(url);
  return (sql) => client.query(sql);
}

/** Ids that map, ids without a twin, numbers that are no ids, and nothing. */
const anId = () => (random(12) === 0 ? 'NULL' : String(1 + random(60)));
const aRow = () =>
  random(3) === 0 && next > Number(first) ? Number(first) + random(next - Number(first)) : 1 + random(ROWS);

function statement(): string {
  switch (random(8)) {
    case 0:
    case 1:
    case 2:
      next += 1;
      return `INSERT INTO t(k, i, note) VALUES (${next}, ${anId()}, 'new')`;
    case 3:
      next += 2;
      return `INSERT INTO t(k, i, note) VALUES (${next - 1}, ${anId()}, 'new'), (${next}, ${anId()}, 'new')`;
    case 4:
      return `UPDATE t SET note = 'changed' WHERE k = ${aRow()}`;
    case 5:
      return random(4) === 0
        ? `DELETE FROM t WHERE k = ${aRow()}`
        : `UPDATE t SET i = ${anId()} WHERE k % 50 = ${random(50)}`;
    default:
      return `UPDATE t SET i = ${anId()} WHERE k = ${aRow()}`;
  }
}

const run = await open();
process.stdout.write('ready\n');
for (let round = 0; ; round += 1) {
  const isLong = round % 7 === 0;
  if (isLong) await run('BEGIN');
  await run(statement());
  if (isLong) await run(statement());
  if (isLong) await run('COMMIT');
  if (round % 5 === 0) await sleep(1);
}

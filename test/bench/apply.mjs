/**
 * How long rewriting ids takes beside doing it by hand: `npm run bench:apply [-- rows] [places] [rounds]`, by default
 * 300,000 rows in all places (`sqlite,postgres,mysql,csv,unknown`), three times.
 *
 * Tables, whose ids are all different: whole commands against a script in one transaction that loads the crosswalk, keeps what each
 * row held, updates and counts, and a run on one row, in turns. CPU seconds include those of the server. Exits with 1 where a bar
 * is missed.
 */
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Sqlite } from '../../dist/store/sqlite.js';
import { makeDatabase } from './made-database.mjs';
import { startBenchMysql } from './mysql.mjs';
import { startBenchPostgres } from './postgres.mjs';
import { CLI, describeMachine, inFolder, measure, median, print, printBar, treeCpu } from './processes.mjs';

const MODEL = 'accounting/invoices';
const rows = Number(process.argv[2] ?? 300_000);
const BENCHES = {
  sqlite: benchSqlite,
  postgres: benchPostgres,
  mysql: benchMysql,
  csv: benchCsv,
  unknown: benchUnknown,
};
const rounds = Number(process.argv[4] ?? 3);
const places = process.argv[3]?.split(',') ?? Object.keys(BENCHES);

/** The number of a row's pair: in no order that helps anybody. */
const pairOf = (row, count) => (row * 48_271) % count;

/**
 * Compares with the script. `place`: `fresh` makes the tables anew, `run` runs statements, `load` adds rows to the crosswalk,
 * `update` writes an UPDATE by another table, `args` names the database to the program, `cpu` reads the CPU seconds of the server.
 */
async function compare(
  name,
  { config, pairs },
  { fresh, run, load, update = updateFrom, args, env = {}, cpu = () => 0 },
) {
  const times = {};
  const timed = async (which, work) => {
    const [server, own, started] = [cpu(), process.cpuUsage(), performance.now()];
    const measured = await work();
    const { user, system } = process.cpuUsage(own);
    const seconds = (performance.now() - started) / 1000;
    // what the server puts off
    await sleep(1000);
    const cpuSeconds = measured?.cpuSeconds ?? (user + system) / 1e6;
    times[which] ??= [];
    times[which].push({ cpu: cpuSeconds + cpu() - server, seconds });
  };
  const byHand = async (which, { create, fill = '', set, count }) => {
    await fresh();
    await timed(which, async () => {
      await run(`CREATE TABLE m(old integer PRIMARY KEY, new bigint); ${create}; BEGIN`);
      await load(pairs);
      await run(`${fill} ${update(...set)}; ${count}; COMMIT`);
    });
  };
  const json = join(config[1], '../written.json');
  const cli = (which, ...words) =>
    timed(which, () => measure([CLI, 'apply', ...words, ...config, '--quiet', ...args], { env }));
  const write = (which, table, ...how) =>
    cli(which, 'write', '--table', table, '--ids', `svc_id=${MODEL}`, ...how, '--yes', '--json', json);
  const undo = (which) => cli(which, 'undo', JSON.parse(readFileSync(json, 'utf8')).runs[0]);
  for (let round = 0; round < rounds; round++) {
    await byHand('by hand', IN_PLACE);
    await byHand('by hand, new column', NEW_COLUMN);
    await fresh();
    await write('one row', 'one', '--in-place');
    await write('in place', 't', '--in-place');
    await cli('verify', 'verify');
    await undo('undo');
    await write('new column', 't');
    await undo('undo, new column');
  }
  print(`\n${name}, ${rows} rows: CPU seconds (wall)`);
  const of = (which, unit = 'cpu') => median(times[which].map((one) => one[unit]));
  for (const which of Object.keys(times))
    print(`    ${which.padEnd(20)} ${of(which).toFixed(2)}  (${of(which, 'seconds').toFixed(2)})`);
  bar('in place, × by hand and one row', of('in place') / (of('by hand') + of('one row')), -2);
  bar('new column, × the same', of('new column') / (of('by hand, new column') + of('one row')), -2.5);
  bar('undo, × in place', of('undo') / of('in place'), -0.7);
  bar('undo, × new column', of('undo, new column') / of('new column'), -0.7);
}

const IN_PLACE = {
  create: 'CREATE TABLE w(k integer PRIMARY KEY, old bigint, new bigint)',
  fill: 'INSERT INTO w SELECT t.k, t.svc_id, m.new FROM t JOIN m ON t.svc_id = m.old;',
  set: ['svc_id', 'w', 't.k = w.k'],
  count: 'SELECT count(*) FROM w JOIN t ON t.k = w.k WHERE t.svc_id = w.new',
};
const NEW_COLUMN = {
  create: 'ALTER TABLE t ADD COLUMN svc_id_v4 bigint',
  fill: '',
  set: ['svc_id_v4', 'm', 't.svc_id = m.old'],
  count: 'SELECT count(*) FROM t WHERE svc_id_v4 IS NOT NULL',
};

const updateFrom = (column, from, on) => `UPDATE t SET ${column} = ${from}.new FROM ${from} WHERE ${on}`;

function bar(what, actual, limit, unit) {
  printBar(what, actual, limit, unit);
  if (limit > 0 ? actual < limit : actual > -limit) process.exitCode = 1;
}

async function benchSqlite(bench) {
  const [base, copy] = [join(bench.folder, 'base.db'), join(bench.folder, 'copy.db')];
  fillSqlite(base, bench.pairs);
  let db;
  await compare('SQLite', bench, {
    fresh: () => {
      db?.close();
      for (const part of ['', '-journal', '-wal', '-shm']) rmSync(copy + part, { force: true });
      copyFileSync(base, copy);
      db = new Sqlite(copy);
    },
    run: (sql) => db.exec(sql),
    load: (pairs) => {
      const insert = db.prepare('INSERT INTO m VALUES (?, ?)');
      for (const pair of pairs) insert.run(...pair);
    },
    args: [copy],
  });
  db.close();
}

const TABLES = `CREATE TABLE t(k integer PRIMARY KEY, svc_id bigint, note varchar(60), amount bigint);
  CREATE TABLE one(k integer PRIMARY KEY, svc_id bigint);`;

function fillSqlite(file, pairs, idOf = (row) => pairs[pairOf(row, pairs.length)][0]) {
  const db = new Sqlite(file);
  db.pragma('synchronous = OFF');
  db.exec(TABLES);
  const insert = db.prepare('INSERT INTO t VALUES (?, ?, ?, ?)');
  db.transaction(() => {
    for (let row = 1; row <= rows; row++)
      insert.run(row, idOf(row), `a note of the user, number ${row}`, row);
    db.exec('INSERT INTO one SELECT k, svc_id FROM t WHERE k = 1');
  })();
  db.close();
}

async function benchPostgres(bench) {
  const { url, pid, stop } = await startBenchPostgres();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const load = (pairs, table = 'm') =>
    client.query(
      `INSERT INTO ${table} SELECT * FROM unnest($1::bigint[], $2::bigint[])`,
      [0, 1].map((at) => pairs.map((pair) => pair[at])),
    );
  await client.query('CREATE TABLE ids(k bigint, svc_id bigint)');
  await load(idsOf(bench), 'ids');
  const fresh = async () => {
    await client.query(`DROP TABLE IF EXISTS t, one, m, w; DROP SCHEMA IF EXISTS svc_migrate CASCADE; ${TABLES}
      INSERT INTO t SELECT k, svc_id, 'a note of the user, number ' || k, k FROM ids;
      INSERT INTO one SELECT * FROM ids WHERE k = 1`);
    await client.query('VACUUM ANALYZE t');
    await client.query('CHECKPOINT');
  };
  await compare('PostgreSQL', bench, {
    fresh,
    run: (sql) => client.query(sql),
    load,
    args: ['BENCH_PG'],
    env: { BENCH_PG: url },
    cpu: () => treeCpu(pid),
  });
  await client.end();
  await stop();
}

async function benchMysql(bench) {
  const { url, pid, client, stop } = await startBenchMysql();
  const run = (sql) => client.query(sql);
  const load = async (pairs, table = 'm') => {
    for (let at = 0; at < pairs.length; at += 10_000)
      await client.query(`INSERT INTO ${table} VALUES ?`, [pairs.slice(at, at + 10_000)]);
  };
  await run('CREATE DATABASE source; CREATE TABLE source.ids(k integer PRIMARY KEY, svc_id bigint)');
  await load(idsOf(bench), 'source.ids');
  await compare('MariaDB', bench, {
    fresh: () =>
      run(`DROP DATABASE bench; CREATE DATABASE bench; USE bench; ${TABLES}
        INSERT INTO t SELECT k, svc_id, CONCAT('a note of the user, number ', k), k FROM source.ids;
        INSERT INTO one SELECT * FROM source.ids WHERE k = 1;
        ANALYZE TABLE t`),
    run,
    load,
    update: (column, from, on) => `UPDATE t JOIN ${from} ON ${on} SET t.${column} = ${from}.new`,
    args: ['BENCH_MYSQL'],
    env: { BENCH_MYSQL: url },
    cpu: () => treeCpu(pid),
  });
  await client.end();
  await stop();
}

/** The key and the id of each row. */
const idsOf = ({ pairs }) =>
  Array.from({ length: rows }, (_, at) => [at + 1, pairs[pairOf(at + 1, pairs.length)][0]]);

/** A new file of a CSV file with plain ids, and of one in which the ids stand in addresses. */
async function benchCsv(bench) {
  for (const [name, cellOf, ids] of [
    ['CSV', (id) => id, { column: 'svc_id', model: MODEL }],
    [
      'CSV of addresses',
      (id) => `https://books.example.com/invoices/${id}`,
      { column: 'svc_id', model: MODEL, pattern: '*/invoices/{id}' },
    ],
  ]) {
    const file = join(bench.folder, 'bench.csv');
    fillCsv(file, bench.pairs, cellOf);
    const megabytes = statSync(file).size / 1e6;
    const config = targetConfig(bench, {
      name: 'bench',
      kind: 'csv',
      file,
      output: `${file}.new`,
      ids: [ids],
    });
    const runs = [];
    for (let round = 0; round < rounds; round++) {
      runs.push(await measure([CLI, 'apply', 'write', '--yes', '--config', config, '--quiet']));
      rmSync(`${file}.new`);
      rmSync(`${file}.new.svc-migrate.json`);
    }
    const [seconds, cpu] = ['seconds', 'cpuSeconds'].map((unit) => median(runs.map((one) => one[unit])));
    print(`\n${name}, ${rows} rows, ${megabytes.toFixed(0)} MB: CPU seconds (wall)`);
    print(`    apply      ${cpu.toFixed(2)}  (${seconds.toFixed(2)})`);
    bar('MB per CPU second', megabytes / cpu, 50);
  }
}

function targetConfig({ config }, target) {
  const file = join(config[1], '../target.config.json');
  const settings = JSON.parse(readFileSync(config[1], 'utf8'));
  writeFileSync(file, JSON.stringify({ ...settings, apply: { targets: [target] } }));
  return file;
}

function fillCsv(file, pairs, cellOf) {
  const lines = ['k,svc_id,note,"amount, in cents"\r\n'];
  for (let row = 1; row <= rows; row++) {
    const id = pairs[pairOf(row, pairs.length)][0];
    lines.push(`${row},${cellOf(id)},"a note of the user, number ${row}, with ""quotes""",${row * 7}\r\n`);
  }
  writeFileSync(file, lines.join(''));
}

/** The plan for a table in which a fifth of the values are no ids of the model, all of them different. */
async function benchUnknown({ folder, config, pairs }) {
  const file = join(folder, 'unknown.db');
  const unknown = (row) => 9_000_000_000 + row;
  fillSqlite(file, pairs, (row) => (row % 5 === 0 ? unknown(row) : pairs[pairOf(row, pairs.length)][0]));
  const runs = [];
  for (let round = 0; round < rounds; round++)
    runs.push(
      await measure(
        [
          ...[CLI, 'apply', 'plan', '--in-place', ...config, '--quiet', file],
          ...['--table', 't', '--ids', `svc_id=${MODEL}`],
        ],
        { codes: [1, 6] },
      ),
    );
  const [seconds, cpu] = ['seconds', 'cpuSeconds'].map((unit) => median(runs.map((one) => one[unit])));
  print(
    `\nPlan with ${rows / 5} unknown values: CPU seconds (wall)\n    plan       ${cpu.toFixed(2)}  (${seconds.toFixed(2)})`,
  );
  bar('plan', cpu, (-5 * rows) / 1e6, ' s');
}

print(describeMachine());
await inFolder(async (folder) => {
  // two models, and not every record has a twin
  const config = makeDatabase(folder, Math.ceil(rows * 2.3));
  await measure([CLI, 'remap', ...config, '--quiet']);
  const remap = new Sqlite(join(folder, 'bench.db'), { readonly: true });
  const pairs = remap
    .prepare("SELECT v3_svc_id, v4_svc_id FROM remap WHERE model = ? AND path = '' AND status = 'matched'")
    .raw()
    .all(MODEL);
  remap.close();
  for (const place of places) await BENCHES[place]({ folder, config, pairs });
});

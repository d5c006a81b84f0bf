/**
 * How long rewriting ids takes beside doing it without care: `npm run bench:apply [-- rows] [places] [rounds]`, by default
 * 1,000,000 rows in all places (`sqlite,postgres,mysql,csv,unknown`), three times.
 *
 * Tables: whole commands (`apply write`, `apply verify`, `apply undo`) and one plain `UPDATE … FROM` join of the same rows, in
 * turns. CPU seconds include those of the server. Exits with 1 where a bar is missed.
 */
import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { Sqlite } from '../../dist/store/sqlite.js';
import { makeDatabase } from './made-database.mjs';
import { startBenchMysql } from './mysql.mjs';
import { startBenchPostgres } from './postgres.mjs';
import { CLI, describeMachine, inFolder, measure, median, print, printBar, treeCpu } from './processes.mjs';

const MODEL = 'accounting/invoices';
const rows = Number(process.argv[2] ?? 1_000_000);
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
 * Compares with plain statements. `place`: `fresh` makes the table anew, `run` runs a statement, `args` names the table to the
 * program, `cpu` reads the CPU seconds of the server.
 */
async function compare(name, { config }, { fresh, run, args, env = {}, cpu = () => 0 }, statements) {
  const timed = async (work) => {
    const [server, started] = [cpu(), performance.now()];
    const { cpuSeconds } = await work();
    return { cpu: cpuSeconds + cpu() - server, seconds: (performance.now() - started) / 1000 };
  };
  const cli = (...words) => timed(() => measure([CLI, ...words, ...config, '--quiet', ...args], { env }));
  const ids = ['--table', 't', '--ids', `svc_id=${MODEL}`];
  const plain = (sql) =>
    timed(async () => {
      const before = process.cpuUsage();
      await run(sql);
      const { user, system } = process.cpuUsage(before);
      return { cpuSeconds: (user + system) / 1e6 };
    });
  const times = { plain: [], apply: [], verify: [], undo: [], plainNew: [], applyNew: [] };
  for (let round = 0; round < rounds; round++) {
    await fresh();
    times.plain.push(await plain(statements.inPlace));
    await fresh();
    const json = join(config[1], '../written.json');
    times.apply.push(await cli('apply', 'write', ...ids, '--in-place', '--yes', '--json', json));
    times.verify.push(await cli('apply', 'verify'));
    times.undo.push(await cli('apply', 'undo', JSON.parse(readFileSync(json, 'utf8')).runs[0]));
    await fresh();
    times.plainNew.push(await plain(statements.newColumn));
    await fresh();
    times.applyNew.push(await cli('apply', 'write', ...ids, '--yes'));
  }
  print(`\n${name}, ${rows} rows: CPU seconds (wall)`);
  const of = (which, unit = 'cpu') => median(times[which].map((one) => one[unit]));
  for (const which of Object.keys(times))
    print(`    ${which.padEnd(10)} ${of(which).toFixed(2)}  (${of(which, 'seconds').toFixed(2)})`);
  bar('apply in place and verify, × plain', (of('apply') + of('verify')) / of('plain'), -3);
  bar('apply to a new column, × plain', of('applyNew') / of('plainNew'), -3);
  bar('undo, × apply', of('undo') / of('apply'), -1);
}

function bar(what, actual, limit, unit) {
  printBar(what, actual, limit, unit);
  if (limit > 0 ? actual < limit : actual > -limit) process.exitCode = 1;
}

const JOINED = {
  inPlace: 'UPDATE t SET svc_id = m.new FROM m WHERE t.svc_id = m.old',
  newColumn:
    'ALTER TABLE t ADD COLUMN svc_id_v4 bigint; UPDATE t SET svc_id_v4 = m.new FROM m WHERE t.svc_id = m.old',
};

async function benchSqlite(bench) {
  const [base, copy] = [join(bench.folder, 'base.db'), join(bench.folder, 'copy.db')];
  fillSqlite(base, bench.pairs);
  await compare(
    'SQLite',
    bench,
    {
      fresh: () => {
        for (const part of ['', '-journal', '-wal', '-shm']) rmSync(copy + part, { force: true });
        copyFileSync(base, copy);
      },
      run: (sql) => {
        const db = new Sqlite(copy);
        db.pragma('synchronous = FULL');
        db.exec(sql);
        db.close();
      },
      args: [copy],
    },
    JOINED,
  );
}

function fillSqlite(file, pairs, idOf = (row) => pairs[pairOf(row, pairs.length)][0]) {
  const db = new Sqlite(file);
  db.pragma('synchronous = OFF');
  db.exec(`CREATE TABLE t(k INTEGER PRIMARY KEY, svc_id INTEGER, note TEXT, amount INTEGER);
    CREATE TABLE m(old INTEGER PRIMARY KEY, new INTEGER)`);
  const insert = db.prepare('INSERT INTO t VALUES (?, ?, ?, ?)');
  const map = db.prepare('INSERT INTO m VALUES (?, ?)');
  db.transaction(() => {
    for (let row = 1; row <= rows; row++)
      insert.run(row, idOf(row), `a note of the user, number ${row}`, row);
    for (const pair of pairs) map.run(...pair);
  })();
  db.close();
}

async function benchPostgres(bench) {
  const { url, pid, stop } = await startBenchPostgres();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const run = (sql) => client.query(sql);
  await client.query(
    `CREATE TABLE m AS SELECT row_number() OVER () - 1 AS no, (e ->> 0)::bigint AS old, (e ->> 1)::bigint AS new
       FROM json_array_elements($1::json) AS e`,
    [JSON.stringify(bench.pairs)],
  );
  await run('ALTER TABLE m ADD PRIMARY KEY (old); ANALYZE m');
  const fresh = async () => {
    await run(`DROP TABLE IF EXISTS t; DROP SCHEMA IF EXISTS svc_migrate CASCADE;
      CREATE TABLE t AS SELECT k, m.old AS svc_id, 'a note of the user, number ' || k AS note, k AS amount
        FROM generate_series(1, ${rows}::bigint) AS k JOIN m ON m.no = ${pairOfSql('k', bench)} ORDER BY k`);
    await run('ALTER TABLE t ADD PRIMARY KEY (k)');
    await run('VACUUM ANALYZE t');
    await run('CHECKPOINT');
  };
  const place = {
    fresh,
    run,
    args: ['BENCH_PG'],
    env: { BENCH_PG: url },
    cpu: () => treeCpu(pid),
  };
  await compare('PostgreSQL', bench, place, JOINED);
  await client.end();
  await stop();
}

async function benchMysql(bench) {
  const { url, pid, client, stop } = await startBenchMysql();
  const run = (sql) => client.query(sql);
  await run('CREATE TABLE m(no INT NOT NULL UNIQUE, old BIGINT PRIMARY KEY, new BIGINT NOT NULL)');
  for (let at = 0; at < bench.pairs.length; at += 10_000)
    await client.query('INSERT INTO m VALUES ?', [
      bench.pairs.slice(at, at + 10_000).map(([old, fresh], i) => [at + i, old, fresh]),
    ]);
  const fresh = () =>
    run(`DROP VIEW IF EXISTS svc_migrate_ledger;
      DROP TABLE IF EXISTS t, svc_migrate_run;
      CREATE TABLE t(PRIMARY KEY (k)) AS SELECT seq AS k, m.old AS svc_id,
        CONCAT('a note of the user, number ', seq) AS note, seq AS amount
        FROM seq_1_to_${rows} STRAIGHT_JOIN m ON m.no = ${pairOfSql('seq', bench)};
      ANALYZE TABLE t`);
  const place = {
    fresh,
    run,
    args: ['BENCH_MYSQL'],
    env: { BENCH_MYSQL: url },
    cpu: () => treeCpu(pid),
  };
  await compare('MariaDB', bench, place, {
    inPlace: 'UPDATE t JOIN m ON t.svc_id = m.old SET t.svc_id = m.new',
    newColumn:
      'ALTER TABLE t ADD COLUMN svc_id_v4 bigint; UPDATE t JOIN m ON t.svc_id = m.old SET t.svc_id_v4 = m.new',
  });
  await client.end();
  await stop();
}

const pairOfSql = (row, { pairs }) => `((${row} * 48271) % ${pairs.length})`;

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
  const config = makeDatabase(folder, rows);
  await measure([CLI, 'remap', ...config, '--quiet']);
  const remap = new Sqlite(join(folder, 'bench.db'), { readonly: true });
  const pairs = remap
    .prepare("SELECT v3_svc_id, v4_svc_id FROM remap WHERE model = ? AND path = '' AND status = 'matched'")
    .raw()
    .all(MODEL);
  remap.close();
  for (const place of places) await BENCHES[place]({ folder, config, pairs });
});

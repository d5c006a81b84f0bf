/**
 * How long rewriting in place takes beside doing it without care: `npm run bench:apply [rows] [place]`.
 *
 * Tables (SQLite, PostgreSQL, MariaDB): one plain `UPDATE … FROM` join of the same rows, and an apply in place of the same
 * table, in turns. CSV: megabytes per second on one core, beside csv-parse reading the same file. Exits with 1 where
 * a bar is missed.
 */
import {
  closeSync,
  copyFileSync,
  createReadStream,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'csv-parse';
import pg from 'pg';
import { DEFAULT_TUNING } from '../../dist/apply/context.js';
import { openMysqlStore } from '../../dist/apply/dialects/mysql-dialect.js';
import { openPostgresStore } from '../../dist/apply/dialects/postgres-dialect.js';
import { openSqliteStore } from '../../dist/apply/dialects/sqlite-dialect.js';
import { openFileStore } from '../../dist/apply/files/file-store.js';
import { applyTargetSchema } from '../../dist/config/apply-targets.js';
import { openDatabase } from '../../dist/store/open.js';
import { Sqlite } from '../../dist/store/sqlite.js';
import { startBenchMysql } from './mysql.mjs';
import { startBenchPostgres } from './postgres.mjs';

const ROUNDS = 3;
const MOST_TIMES_PLAIN = 3;
const LEAST_MB_PER_SECOND = 50;
const MODEL = 'accounting/invoices';
const rows = Number(process.argv[2] ?? 1_000_000);
const ids = Math.ceil(rows / 2);
const places = process.argv[3] === undefined ? ['sqlite', 'postgres', 'mysql', 'csv'] : [process.argv[3]];

/** A permutation without fixed points of 1…ids, in no order that helps anybody. */
const twinOf = (id) => ((id * 7919) % ids) + 1;
const oldIdOf = (row) => ((row * 48_271) % ids) + 1;

const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
const remapFile = join(folder, 'remap.db');
createRemap();
try {
  for (const place of places)
    await { sqlite: benchSqlite, postgres: benchPostgres, mysql: benchMysql, csv: benchCsv }[place]();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function createRemap() {
  const db = openDatabase(remapFile, 'create');
  const insert = db.prepare(
    `INSERT INTO remap(model, path, region, v3_company_id, v3_svc_id, v4_svc_id, status, reason, evidence)
     VALUES ('${MODEL}', '', 'default', 1, ?, ?, 'matched', NULL, '{}')`,
  );
  db.transaction(() => {
    for (let id = 1; id <= ids; id += 1) insert.run(id, twinOf(id));
    db.prepare(
      "INSERT INTO remap_run(built_at, sha256, export_seq, counts) VALUES ('t', 'sha', 7, '{}')",
    ).run();
  })();
  db.close();
}

function openContext(mode) {
  return {
    remap: openDatabase(remapFile, 'read'),
    idMaps: new Map(),
    remapFile,
    facts: { sha256: 'sha', builtAt: 't' },
    policy: { mode, missing: 'fail', unknown: 'fail', others: 'fail', mapDeleted: false, again: false },
    tool: 'bench',
    now: Date.now,
    sleep,
    random: Math.random,
    env: process.env,
    signal: new AbortController().signal,
    onProgress: () => {},
    tuning: DEFAULT_TUNING,
  };
}

function target(where) {
  const column = { column: 'svc_id', model: MODEL };
  return applyTargetSchema.parse({ name: 'bench', ids: [column], ...where });
}

/** Plans and writes; seconds of each by the clock given. */
async function apply(store, clock = () => performance.now()) {
  const started = clock();
  const plans = await store.survey();
  const planned = clock();
  const [written] = await store.write(plans, { run: 'bench', planSha256: 'p', isExact: true });
  if (written.changed === 0 || written.skippedCount > 0) throw new Error('the apply did not do its work');
  return { plan: seconds(planned - started), write: seconds(clock() - planned) };
}

/** Milliseconds of computing: what one core alone would take, whatever else the machine does. */
function cpuClock() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function seconds(ms) {
  return ms / 1000;
}

/** Plain and careful in turns; the median ratio is what counts. */
async function compare(name, plain, careful) {
  const ratios = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const p = await plain();
    const c = await careful();
    ratios.push(c.write / p);
    process.stdout.write(
      `${name}, ${rows} rows: plain ${p.toFixed(2)} s, apply ${c.write.toFixed(2)} s (and ${c.plan.toFixed(2)} s to plan): ${(c.write / p).toFixed(2)} times\n`,
    );
  }
  const median = ratios.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)];
  report(
    `${name}: ${median.toFixed(2)} times a plain update (at most ${MOST_TIMES_PLAIN})`,
    median <= MOST_TIMES_PLAIN,
  );
}

function report(text, isMet) {
  process.stdout.write(`${isMet ? 'ok' : 'MISSED'}: ${text}\n`);
  if (!isMet) process.exitCode = 1;
}

async function benchSqlite() {
  const base = join(folder, 'base.db');
  fillSqlite(base);
  const copy = join(folder, 'copy.db');
  const fresh = () => {
    for (const part of ['', '-journal', '-wal', '-shm']) rmSync(copy + part, { force: true });
    copyFileSync(base, copy);
  };
  await compare(
    'SQLite',
    () => {
      fresh();
      const db = new Sqlite(copy);
      db.pragma('synchronous = FULL');
      const started = performance.now();
      db.exec('UPDATE t SET svc_id = m.new FROM m WHERE t.svc_id = m.old');
      const took = seconds(performance.now() - started);
      db.close();
      return took;
    },
    () => {
      fresh();
      return apply(
        openSqliteStore(openContext('in_place'), copy, [target({ kind: 'sqlite', file: copy, table: 't' })]),
      );
    },
  );
}

function fillSqlite(file) {
  const db = new Sqlite(file);
  db.pragma('synchronous = OFF');
  db.exec(`CREATE TABLE t(k INTEGER PRIMARY KEY, svc_id INTEGER, note TEXT, amount INTEGER);
    CREATE TABLE m(old INTEGER PRIMARY KEY, new INTEGER)`);
  const insert = db.prepare('INSERT INTO t VALUES (?, ?, ?, ?)');
  const map = db.prepare('INSERT INTO m VALUES (?, ?)');
  db.transaction(() => {
    for (let row = 1; row <= rows; row += 1)
      insert.run(row, oldIdOf(row), `a note of the user, number ${row}`, row);
    for (let id = 1; id <= ids; id += 1) map.run(id, twinOf(id));
  })();
  db.close();
}

async function benchPostgres() {
  const server = await startBenchPostgres(folder);
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  process.env.BENCH_PG = server.url;
  await client.query(
    `CREATE TABLE m AS SELECT id AS old, (id * 7919) % ${ids} + 1 AS new FROM generate_series(1, ${ids}::bigint) AS id`,
  );
  await client.query('ALTER TABLE m ADD PRIMARY KEY (old); ANALYZE m');
  const fresh = async () => {
    await client.query(`DROP TABLE IF EXISTS t; DROP SCHEMA IF EXISTS svc_migrate CASCADE;
      CREATE TABLE t AS SELECT k, (k * 48271) % ${ids} + 1 AS svc_id, 'a note of the user, number ' || k AS note, k AS amount
        FROM generate_series(1, ${rows}::bigint) AS k`);
    await client.query('ALTER TABLE t ADD PRIMARY KEY (k)');
    await client.query('VACUUM ANALYZE t');
    await client.query('CHECKPOINT');
  };
  await compare(
    'PostgreSQL',
    async () => {
      await fresh();
      const started = performance.now();
      await client.query('UPDATE t SET svc_id = m.new FROM m WHERE t.svc_id = m.old');
      return seconds(performance.now() - started);
    },
    async () => {
      await fresh();
      const store = openPostgresStore(openContext('in_place'), [
        target({ kind: 'postgres', urlEnv: 'BENCH_PG', table: 't' }),
      ]);
      const times = await apply(store);
      await store.close();
      return times;
    },
  );
  await client.end();
  await server.stop();
}

async function benchMysql() {
  const server = await startBenchMysql();
  const { client } = server;
  process.env.BENCH_MYSQL = server.url;
  await client.query(
    `CREATE TABLE m(PRIMARY KEY (old)) AS SELECT CAST(seq AS SIGNED) AS old, CAST((seq * 7919) % ${ids} + 1 AS SIGNED) AS new FROM seq_1_to_${ids}`,
  );
  const fresh = async () => {
    await client.query(`DROP VIEW IF EXISTS svc_migrate_ledger;
      DROP TABLE IF EXISTS t, svc_migrate_run, svc_migrate_entry, svc_migrate_skipped;
      CREATE TABLE t(PRIMARY KEY (k)) AS SELECT seq AS k, CAST((seq * 48271) % ${ids} + 1 AS SIGNED) AS svc_id,
        CONCAT('a note of the user, number ', seq) AS note, seq AS amount FROM seq_1_to_${rows};
      ANALYZE TABLE t`);
  };
  await compare(
    'MariaDB',
    async () => {
      await fresh();
      const started = performance.now();
      await client.query('UPDATE t JOIN m ON t.svc_id = m.old SET t.svc_id = m.new');
      return seconds(performance.now() - started);
    },
    async () => {
      await fresh();
      const store = openMysqlStore(openContext('in_place'), [
        target({ kind: 'mysql', urlEnv: 'BENCH_MYSQL', table: 't' }),
      ]);
      const times = await apply(store);
      await store.close();
      return times;
    },
  );
  await client.end();
  await server.stop();
}

async function benchCsv() {
  const file = join(folder, 'bench.csv');
  fillCsv(file);
  const megabytes = statSync(file).size / 1e6;
  const speeds = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    const output = join(folder, `out-${round}.csv`);
    const { plan, write } = await apply(
      openFileStore(openContext('new'), target({ kind: 'csv', file, output })),
      cpuClock,
    );
    rmSync(output);
    rmSync(`${output}.svc-migrate.json`);
    const parsing = await readWithCsvParse(file);
    speeds.push(megabytes / write);
    process.stdout.write(
      `CSV, ${megabytes.toFixed(0)} MB: apply ${(megabytes / write).toFixed(0)} MB/s (plan ${(megabytes / plan).toFixed(0)} MB/s), csv-parse alone ${(megabytes / parsing).toFixed(0)} MB/s: ${(parsing / write).toFixed(1)} times as fast\n`,
    );
  }
  const median = speeds.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)];
  report(`CSV: ${median.toFixed(0)} MB/s (at least ${LEAST_MB_PER_SECOND})`, median >= LEAST_MB_PER_SECOND);
}

function fillCsv(file) {
  const fd = openSync(file, 'w');
  const lines = ['k,svc_id,note,"amount, in cents"\r\n'];
  for (let row = 1; row <= rows * 3; row += 1) {
    lines.push(`${row},${oldIdOf(row)},"a note of the user, number ${row}, with ""quotes""",${row * 7}\r\n`);
    if (lines.length === 10_000 || row === rows * 3) writeSync(fd, lines.splice(0).join(''));
  }
  closeSync(fd);
}

async function readWithCsvParse(file) {
  const started = cpuClock();
  let count = 0;
  for await (const _ of createReadStream(file).pipe(parse({ columns: false }))) count += 1;
  if (count !== rows * 3 + 1) throw new Error('csv-parse read something else');
  return seconds(cpuClock() - started);
}

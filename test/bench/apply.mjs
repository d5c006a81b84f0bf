/**
 * `npm run bench:apply [-- --rounds N]`: write, check, switch and undo of 300,000 rows with distinct ids, in SQLite and
 * PostgreSQL, beside the statements that one writes by hand over a crosswalk that is there. CPU seconds include those of
 * the server. Prints ratios and which bars were reached; asserts nothing. The program is the one in `$SVC_DIST`.
 */
import { execFileSync, spawn } from 'node:child_process';
import {
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import {
  describeMachine,
  here,
  inFolder,
  measure,
  median,
  print,
  printBar,
  treeCpu,
  withService,
} from './processes.mjs';

const CLI = here(`../../${process.env.SVC_DIST ?? 'dist'}/cli.js`);
const ROOT = here(Number(process.versions.napi) < 10 ? '../../bin/sqlite-node20/' : '../../');
const Sqlite = createRequire(join(ROOT, 'index.js'))('better-sqlite3');
const KEYS = { SVC_MIGRATE_V3_API_KEY: 'bench', SVC_MIGRATE_V4_API_KEY: 'bench' };
/** Each has three line items, whose ids are stored. */
const RECORDS = 100_000;
const IDS = ['--table', 'orders', '--ids', 'item_id=accounting/notes#line_items'];

const configOf = (folder) => ['--config', join(folder, 'svc-migrate.config.json')];

const TABLES = ['orders', 'single'].map(
  (name) => `create table ${name}(id integer primary key, item_id bigint, note text)`,
);

/** As the statements of apply, but for what only a program needs: states, comparisons, names of rows. */
const BY_HAND = {
  crosswalk: ['create table crosswalk(old bigint primary key, new bigint)'],
  write: [
    'alter table orders add column item_id_v4 bigint',
    'update orders as t set item_id_v4 = m.new from crosswalk as m where m.old = t.item_id',
  ],
  switch: [
    'alter table orders add column item_id_v3 bigint',
    'update orders set item_id_v3 = item_id, item_id = item_id_v4',
  ],
  undo: [
    'update orders set item_id = item_id_v3, item_id_v3 = null where item_id = item_id_v4',
    'alter table orders drop column item_id_v4',
    'alter table orders drop column item_id_v3',
  ],
};
const BARS = { write: 2.5, switch: 1.5, undo: 1.5 };

/** Programs of a user: one process for each, which opens the database and runs statements in a transaction. */
const RUN_SQLITE = `
  const db = new (require('${ROOT}node_modules/better-sqlite3'))(process.argv[1]);
  db.pragma('synchronous = full');
  db.transaction(() => { for (const sql of process.argv.slice(2)) db.exec(sql); })();`;
const RUN_POSTGRES = `
  const db = new (require('${here('../../node_modules/pg')}').Client)(process.argv[1]);
  db.connect().then(() => db.query(['begin', ...process.argv.slice(2), 'commit'].join(';'))).then(() => db.end());`;

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' } } });
print(describeMachine());
await inFolder(async (folder) => {
  const pairs = await exportPairs(folder);
  await compare(`SQLite, ${pairs.length} rows`, folder, sqliteIn(folder, pairs));
  const postgres = await startPostgres(pairs);
  if (postgres === null) return print('\nPostgreSQL is not installed.');
  try {
    await compare(`PostgreSQL, ${pairs.length} rows`, folder, postgres);
  } finally {
    postgres.stop();
  }
});

/** A remap as the program builds it. Returns V3 ids with V4 ids, in no order. */
async function exportPairs(folder) {
  await withService({ companies: 8, pageSize: 1000, records: RECORDS }, async (port) => {
    const limits = { pageSize: 1000, concurrency: 8, requestsPerSecond: 10_000 };
    const models = [
      { v3: 'accounting/notes', v4: 'notes', expand: ['line_items'], children: ['line_items'] },
    ];
    const v4 = { baseUrl: `http://127.0.0.1:${port}`, ...limits };
    const v3 = { regions: { bench: { baseUrl: `${v4.baseUrl}/v3` } }, ...limits };
    const config = { database: 'bench.db', payload: 'ids', v3, v4, models };
    writeFileSync(join(folder, 'svc-migrate.config.json'), JSON.stringify(config));
    await measure([CLI, 'run', '--quiet', '--db', join(folder, 'bench.db'), ...configOf(folder)], {
      env: KEYS,
    });
  });
  const db = new Sqlite(join(folder, 'bench.db'), { readonly: true });
  const sql = `select v3_svc_id, v4_svc_id from remap where path = 'line_items' order by v3_svc_id * 7919 % 1000003`;
  const pairs = db.prepare(sql).raw().all();
  db.close();
  return pairs;
}

/** Runs both in turn; the CPU seconds of each step are medians. */
async function compare(title, folder, { env = {}, target, byHand, serverCpu, prepare }) {
  const seconds = { apply: {}, hand: {} };
  const time = async (who, step, run) => {
    const before = serverCpu();
    const { cpuSeconds } = await run();
    seconds[who][step] = [...(seconds[who][step] ?? []), cpuSeconds + serverCpu() - before];
  };
  const cli = (step, more = []) =>
    measure([CLI, 'apply', step, target, '--quiet', ...more, ...configOf(folder)], { env, codes: [0, 1] });
  for (let round = 0; round < Number(values.rounds); round++) {
    await prepare();
    await time('apply', 'plan', () => cli('plan', IDS));
    await time('apply', 'write', () => cli('write', [...IDS, '--yes']));
    await time('apply', 'check', () => cli('check'));
    await time('apply', 'switch', () => cli('switch', ['--yes']));
    await time('apply', 'undo', () => cli('undo', ['--yes']));
    await time('apply', 'one row', () => cli('plan', ['--table', 'single', ...IDS.slice(2)]));
    for (const [step, statements] of Object.entries(BY_HAND))
      await time('hand', step, () => byHand(step, statements));
  }
  print(`\n${title}: CPU s          apply  by hand`);
  const of = (who, step) => median(seconds[who][step] ?? [Number.NaN]);
  for (const step of ['crosswalk', 'plan', 'write', 'check', 'switch', 'undo', 'one row']) {
    const cells = ['apply', 'hand']
      .map((who) => of(who, step))
      .map((cell) => (cell > 0 ? cell.toFixed(2) : ''));
    print(`    ${step.padEnd(30)} ${cells.map((cell) => cell.padStart(8)).join('')}`);
  }
  for (const [step, bar] of Object.entries(BARS))
    printBar(`${step}, as a multiple of the statements`, of('apply', step) / of('hand', step), -bar);
  const both = of('hand', 'crosswalk') + of('hand', 'write');
  print(
    `            write, as a multiple of loading a crosswalk, too: ${(of('apply', 'write') / both).toFixed(2)}`,
  );
  printBar('a command on one row', of('apply', 'one row'), -0.6, ' CPU s');
}

function sqliteIn(folder, pairs) {
  const [target, template] = [join(folder, 'shop.db'), join(folder, 'template.db')];
  const remap = `attach '${join(folder, 'bench.db')}' as r`;
  const fill = `insert into crosswalk select v3_svc_id, v4_svc_id from r.remap where path = 'line_items'`;
  const db = new Sqlite(template);
  for (const sql of TABLES) db.exec(sql);
  const insert = db.prepare('insert into orders(item_id, note) values (cast(? as integer), ?)');
  db.transaction(() => {
    for (const [old] of pairs) insert.run(old, `the order of item ${old}`);
  })();
  db.prepare('insert into single(item_id) values (cast(? as integer))').run(pairs[0][0]);
  db.close();
  return {
    target,
    serverCpu: () => 0,
    prepare: () => copyFileSync(template, target),
    byHand: (step, statements) =>
      step === 'crosswalk'
        ? measure([
            '-e',
            RUN_SQLITE.replace('db.tr', `db.exec(\`${remap}\`);db.tr`),
            target,
            ...statements,
            fill,
          ])
        : measure(['-e', RUN_SQLITE, target, ...statements]),
  };
}

/** A server of its own; null if PostgreSQL is not installed. */
async function startPostgres(pairs) {
  const root = '/usr/lib/postgresql';
  const [programs] = existsSync(root) ? readdirSync(root).map((version) => join(root, version, 'bin')) : [];
  if (programs === undefined) return null;
  const folder = mkdtempSync(join(tmpdir(), 'svc-migrate-bench-'));
  const user = {};
  if (process.getuid() === 0) {
    // PostgreSQL refuses to run as root.
    for (const [key, flag] of [
      ['uid', '-u'],
      ['gid', '-g'],
    ])
      user[key] = Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
    chownSync(folder, user.uid, user.gid);
  }
  const data = join(folder, 'data');
  const init = ['-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-locale'];
  execFileSync(join(programs, 'initdb'), init, { ...user, cwd: folder, stdio: 'ignore' });
  const port = await freePort();
  const settings = ['-D', data, '-p', `${port}`, '-k', folder, '-h', '127.0.0.1', '-c', 'autovacuum=off'];
  const server = spawn(join(programs, 'postgres'), settings, { ...user, cwd: folder, stdio: 'ignore' });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const crosswalk = `insert into crosswalk values ${pairs.map(([old, fresh]) => `(${old},${fresh})`).join()}`;
  await query(url, 'select 1');
  return {
    env: { BENCH_URL: url },
    target: 'BENCH_URL',
    serverCpu: () => treeCpu(server.pid),
    prepare: async () => {
      await query(url, 'drop schema public cascade; create schema public');
      await query(url, TABLES.map((sql) => sql.replace('integer', 'serial')).join(';'));
      const rows = pairs.map(([old]) => `(${old}, 'the order of item ${old}')`);
      await query(url, `insert into orders(item_id, note) values ${rows.join()}`);
      await query(url, `insert into single(item_id) values (${pairs[0][0]}); analyze`);
    },
    byHand: async (step, statements) => {
      const measured = await measure(['-e', RUN_POSTGRES, url, ...statements]);
      if (step === 'crosswalk') await query(url, `${crosswalk}; analyze crosswalk`);
      return measured;
    },
    stop: () => {
      server.kill('SIGQUIT');
      rmSync(folder, { recursive: true, force: true, maxRetries: 9, retryDelay: 50 });
    },
  };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address();
  await new Promise((done) => server.close(done));
  return port;
}

/** Waits for the server to start. */
async function query(url, sql, attempts = 200) {
  const client = new pg.Client(url);
  try {
    await client.connect();
  } catch (error) {
    if (attempts === 0) throw error;
    await setTimeout(50);
    return query(url, sql, attempts - 1);
  }
  await client.query(sql);
  await client.end();
}

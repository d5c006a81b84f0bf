import { join } from 'node:path';
import { Sqlite } from '../../dist/store/sqlite.js';
import { makeDatabase } from './made-database.mjs';
import { CLI, inFolder, interleave, measure, median, medianOf, print, printBar } from './processes.mjs';

/** Remap, reports, dump, lookup: what follows an export. */
export async function benchMatch({ records, rounds }) {
  await inFolder(async (folder) => {
    const config = makeDatabase(folder, records);
    const run = (...args) => measure([CLI, ...args, ...config, '--quiet'], { codes: [0, 1] });
    print(`\nRemap of ${records} × ${records} records with a child each, seconds (CPU in brackets), peak`);
    const remaps = [];
    const joins = [];
    for (let round = 0; round < rounds; round++) {
      remaps.push(await run('remap'));
      joins.push(await outerJoin(join(folder, 'bench.db')));
    }
    const remap = typical(remaps);
    print(`    remap                ${describe(remap)}`);
    const joined = median(joins.map(({ seconds }) => seconds));
    print(`    ${joins[0].who.padEnd(20)} ${joined.toFixed(2)}   ${joins[0].counts}`);
    printBar(`× ${joins[0].who}`, remap.seconds / joined, -3);
    printBar('peak', remap.peakMiB, -200, ' MiB');
    await benchOutputs({ folder, run, records, remap, config });
  });
}

/**
 * Remap of records with payloads and line items: against SQLite's copy of the finished table and its indexes, and where V4
 * writes every record in another way.
 */
export async function benchNotes({ records, rounds }) {
  await inFolder((folder) =>
    inFolder(async (other) => {
      const config = makeDatabase(folder, records, 'notes');
      const rewritten = makeDatabase(other, records, 'notes', { rewritten: true });
      print(`\nRemap of ${records} × ${records} bill credit notes with payloads and three line items each`);
      const results = await interleave(rounds, [
        ['remap', () => measure([CLI, 'remap', ...config, '--quiet'])],
        ['every record differs', () => measure([CLI, 'remap', ...rewritten, '--quiet'])],
        ['copy', () => copyRemap(join(folder, 'bench.db'))],
      ]);
      const [remaps, others, copies] = [...results.values()];
      print(`    remap                ${describe(typical(remaps))}`);
      print(`    every record differs ${describe(typical(others))}`);
      print(
        `    copy of the table    ${medianOf(copies, 'seconds').toFixed(2)}  (${medianOf(copies, 'cpuSeconds').toFixed(2)})`,
      );
      const ratio = (runs, against, name) => median(runs.map((one, at) => one[name] / against[at][name]));
      printBar('× the copy', ratio(remaps, copies, 'seconds'), -2.5);
      printBar('× the CPU time of the copy', ratio(remaps, copies, 'cpuSeconds'), -2.5);
      printBar('× the CPU time where none differs', ratio(others, remaps, 'cpuSeconds'), -2);
      printBar('peak', typical(remaps).peakMiB, -256, ' MiB');
    }),
  );
}

/** Seconds that SQLite takes to copy the remap with its indexes, as the remap writes it. */
function copyRemap(file) {
  const db = new Sqlite(file);
  for (const pragma of [
    'locking_mode = EXCLUSIVE',
    'journal_mode = TRUNCATE',
    'synchronous = FULL',
    'cache_size = -2048',
    'threads = 1',
  ]) {
    db.pragma(pragma);
  }
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  db.exec(
    `BEGIN;
     CREATE TABLE copy(
       model TEXT NOT NULL, path TEXT NOT NULL, region TEXT, v3_company_id INTEGER, v4_company_id INTEGER,
       platform_id TEXT, parent_platform_id TEXT, v3_svc_id INTEGER, v4_svc_id INTEGER, status TEXT NOT NULL, reason TEXT,
       matched_by TEXT, evidence TEXT NOT NULL) STRICT;
     INSERT INTO copy SELECT * FROM remap;
     CREATE INDEX copy_v3 ON copy(model, v3_svc_id);
     CREATE INDEX copy_v4 ON copy(model, v4_svc_id);
     CREATE INDEX copy_key ON copy(model, platform_id, v3_company_id);
     COMMIT`,
  );
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - started) / 1000;
  db.exec('DROP TABLE copy');
  db.close();
  return { seconds, cpuSeconds: (user + system) / 1e6 };
}

async function benchOutputs({ folder, run, records, remap, config }) {
  const file = (name) => join(folder, name);
  print('  Outputs');
  const report = await run(
    'report',
    '--json',
    file('r.json'),
    '--ndjson',
    file('r.ndjson'),
    '--html',
    file('r.html'),
  );
  print(`    report, three formats ${describe(report)}`);
  printBar('of the time of the remap', report.seconds / remap.seconds, -1, ' ×');
  printBar('peak', report.peakMiB, -200, ' MiB');
  const dump = await run('dump', '--output', file('dump.csv'));
  print(`    dump                 ${describe(dump)}`);
  printBar('peak', dump.peakMiB, -200, ' MiB');
  const ids = Array.from({ length: records }, (_, at) => `${((at * 7919) % records) * 3}\n`).join('');
  const lookup = await measure([CLI, 'lookup', 'accounting/invoices', '--stdin', ...config], { input: ids });
  print(`    lookup               ${describe(lookup)}`);
  printBar('ids/s from stdin', records / lookup.seconds, 200_000);
}

const typical = (runs) => ({
  seconds: median(runs.map(({ seconds }) => seconds)),
  cpuSeconds: median(runs.map(({ cpuSeconds }) => cpuSeconds)),
  peakMiB: Math.max(...runs.map(({ peakMiB }) => peakMiB)),
});

const describe = ({ seconds, cpuSeconds, peakMiB }) =>
  `${seconds.toFixed(2)}  (${cpuSeconds.toFixed(2)})  ${peakMiB.toFixed(0)} MiB`;

/** The plain full outer join of the same keys: DuckDB's with two threads where it is installed, else an ordered walk. */
async function outerJoin(file) {
  const duckdb = await import('@duckdb/node-api').catch(() => null);
  return duckdb === null ? walkInOrder(file) : await joinInDuckDb(duckdb, file);
}

const KEYS = `
  SELECT s.model, r.platform_id AS key, CASE s.generation WHEN 'v3' THEN r.company_id + 100 ELSE r.company_id END AS company, r.svc_id
  FROM record r JOIN stream s ON s.id = r.stream_id WHERE s.generation = `;

async function joinInDuckDb({ DuckDBInstance }, file) {
  const instance = await DuckDBInstance.create(':memory:', { threads: '2' });
  const connection = await instance.connect();
  const source = new Sqlite(file, { readonly: true });
  for (const generation of ['v3', 'v4']) {
    await connection.run(
      `CREATE TABLE ${generation}(model VARCHAR, key VARCHAR, company BIGINT, svc_id BIGINT)`,
    );
    const appender = await connection.createAppender(generation);
    for (const [model, key, company, id] of source.prepare(`${KEYS} '${generation}'`).raw().iterate()) {
      appender.appendVarchar(model);
      appender.appendVarchar(key);
      appender.appendBigInt(BigInt(company));
      appender.appendBigInt(BigInt(id));
      appender.endRow();
    }
    appender.closeSync();
  }
  source.close();
  const started = performance.now();
  const result = await connection.runAndReadAll(`
    SELECT count(*) FILTER (a.svc_id IS NOT NULL AND b.svc_id IS NOT NULL), count(*) FILTER (b.svc_id IS NULL), count(*) FILTER (a.svc_id IS NULL)
    FROM v3 a FULL OUTER JOIN v4 b ON a.model = b.model AND a.company = b.company AND a.key = b.key`);
  const seconds = (performance.now() - started) / 1000;
  connection.closeSync();
  return {
    who: 'DuckDB, two threads',
    seconds,
    counts: `${result.getRows()[0].join(' / ')} pairs / only V3 / only V4`,
  };
}

function walkInOrder(file) {
  const db = new Sqlite(':memory:');
  db.prepare('ATTACH ? AS source').run(file);
  db.exec(
    'CREATE TABLE k(model, company, key, gen, id, PRIMARY KEY (model, company, key, gen, id)) WITHOUT ROWID',
  );
  for (const [gen, name] of [
    [3, 'v3'],
    [4, 'v4'],
  ]) {
    db.exec(
      `INSERT INTO k SELECT model, company, key, ${gen}, svc_id FROM (${KEYS.replace('record', 'source.record').replace('stream s', 'source.stream s')} '${name}')`,
    );
  }
  const started = performance.now();
  const [row] = db
    .prepare(`
      SELECT sum(a > 0 AND b > 0) AS pairs, sum(b = 0) AS v3, sum(a = 0) AS v4
      FROM (SELECT sum(gen = 3) AS a, sum(gen = 4) AS b FROM k GROUP BY model, company, key)`)
    .all();
  const seconds = (performance.now() - started) / 1000;
  db.close();
  return {
    who: 'an ordered walk',
    seconds,
    counts: `${Object.values(row).join(' / ')} pairs / only V3 / only V4 (no @duckdb/node-api: npm install --no-save @duckdb/node-api)`,
  };
}

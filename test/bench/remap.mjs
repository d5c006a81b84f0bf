import { join } from 'node:path';
import { Sqlite } from '../../dist/store/sqlite.js';
import { makeDatabase } from './made-database.mjs';
import { CLI, inFolder, interleave, measure, median, medianOf, print, printBar } from './processes.mjs';

/**
 * Remap of records with payloads and line items, and the report: against SQLite's copy of the finished table and its indexes,
 * and where V4 writes every record in another way.
 */
export async function benchRemap({ records, rounds }) {
  await inFolder((folder) =>
    inFolder(async (other) => {
      const config = makeDatabase(folder, records, 'notes');
      const rewritten = makeDatabase(other, records, 'notes', { rewritten: true });
      print(`\nRemap of ${records} × ${records} bill credit notes with payloads and three line items each`);
      const results = await interleave(rounds, [
        ['remap', () => measure([CLI, 'remap', ...config, '--quiet'])],
        ['every record differs', () => measure([CLI, 'remap', ...rewritten, '--quiet'])],
        ['report', () => measure([CLI, 'report', ...config, '--quiet', '--json', join(folder, 'r.json')])],
        ['copy of the table', () => copyRemap(join(folder, 'bench.db'))],
      ]);
      for (const [name, runs] of results) print(`    ${name.padEnd(20)} ${describe(runs)}`);
      const [remaps, others, , copies] = [...results.values()];
      const ratio = (runs, against, name) => median(runs.map((one, at) => one[name] / against[at][name]));
      printBar('× the copy', ratio(remaps, copies, 'seconds'), -2.5);
      printBar('× the CPU time of the copy', ratio(remaps, copies, 'cpuSeconds'), -2.5);
      printBar('× the CPU time where none differs', ratio(others, remaps, 'cpuSeconds'), -2);
      printBar('peak', Math.max(...remaps.map(({ peakMiB }) => peakMiB)), -256, ' MiB');
    }),
  );
}

const describe = (runs) => {
  const [seconds, cpu, peak] = ['seconds', 'cpuSeconds', 'peakMiB'].map((name) => medianOf(runs, name));
  return `${seconds.toFixed(2)}  (${cpu.toFixed(2)})${peak > 0 ? `  ${peak.toFixed(0)} MiB` : ''}`;
};

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
  return { seconds, cpuSeconds: (user + system) / 1e6, peakMiB: 0 };
}

import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CLI,
  here,
  inFolder,
  interleave,
  measure,
  median,
  medianOf,
  print,
  printBar,
  withService,
} from './processes.mjs';

const [LISTS, PAGE_SIZE] = [4, 1000];
const KEYS = { SVC_MIGRATE_V3_API_KEY: 'bench', SVC_MIGRATE_V4_API_KEY: 'bench' };
/** The engines that tests compare with lie beside the repository. */
const DUCKDB = here('../../../.engines/node_modules/@duckdb/node-api');

/** From nothing to the report: `run`, against two scripts that join the same records and report nothing. */
export async function benchWhole({ records, rounds }) {
  print(`\nThe whole job for ${records} × ${records} bill credit notes with three line items, payload full`);
  await withService({ lists: LISTS, pageSize: PAGE_SIZE, records }, async (port) => {
    const v4 = `http://127.0.0.1:${port}`;
    const script = (name, file) => [
      name,
      (folder) => [[here(file), folder, String(LISTS), String(PAGE_SIZE), `${v4}/v3`, v4], {}],
    ];
    const ways = [
      [
        'svc-migrate',
        (folder) => {
          const config = writeConfig(folder, v4);
          const report = join(folder, 'report.json');
          return [
            [CLI, 'run', '--json', report, '--config', config, '--quiet'],
            { env: KEYS, codes: [0, 1] },
          ];
        },
      ],
      script('plain script', 'plain-script.mjs'),
      ...(existsSync(DUCKDB) ? [script('DuckDB script', 'duckdb-script.mjs')] : []),
    ];
    const results = await interleave(
      rounds,
      ways.map(([name, commandIn]) => [name, () => inFolder((folder) => measureIn(folder, commandIn))]),
    );
    print('                           wall s   CPU s  peak MiB  file MB');
    for (const [name, runs] of results) {
      const cells = ['seconds', 'cpuSeconds', 'peakMiB', 'megabytes'].map((of) => medianOf(runs, of));
      const [wall, cpu, peak, file] = cells.map((cell, at) => cell.toFixed(at < 2 ? 2 : 0));
      print(
        `    ${name.padEnd(20)} ${wall.padStart(8)}${cpu.padStart(8)}${peak.padStart(10)}${file.padStart(9)}`,
      );
    }
    const own = results.get('svc-migrate');
    const ratio = (to, of) => median(own.map((one, at) => one[of] / results.get(to)[at][of]));
    const isLarge = records >= 1_000_000;
    printBar('× the script', ratio('plain script', 'seconds'), isLarge ? -0.5 : -0.6);
    printBar('× the CPU time of the script', ratio('plain script', 'cpuSeconds'), -0.7);
    printBar("× the script's database", ratio('plain script', 'megabytes'), -0.45);
    if (results.has('DuckDB script'))
      printBar('× the DuckDB script', ratio('DuckDB script', 'seconds'), isLarge ? -0.9 : -1.2);
    printBar('peak', Math.max(...own.map(({ peakMiB }) => peakMiB)), -256, ' MiB');
  });
}

async function measureIn(folder, commandIn) {
  const measured = await measure(...commandIn(folder));
  const database = ['bench.db', 'plain.db', 'remap.duckdb']
    .map((name) => join(folder, name))
    .find(existsSync);
  return { ...measured, megabytes: statSync(database).size / 1e6 };
}

/** Writes a configuration for `service.mjs`; returns its name. */
function writeConfig(folder, v4) {
  const config = join(folder, 'bench.config.json');
  const limits = { pageSize: PAGE_SIZE, concurrency: 8, requestsPerSecond: 10_000 };
  const models = Array.from({ length: LISTS }, (_, list) => ({
    v3: `accounting/m${list}`,
    v4: `m${list}`,
    children: ['line_items'],
  }));
  const v3 = { regions: { bench: { baseUrl: `${v4}/v3` } }, ...limits };
  writeFileSync(config, JSON.stringify({ database: 'bench.db', v3, v4: { baseUrl: v4, ...limits }, models }));
  return config;
}

/**
 * `npm run bench [-- --records N] [--rounds N] [--beside duckdb,pandas]`: the whole job from nothing to the report, against
 * the built program in `$SVC_DIST` (default: dist), beside scripts that join the same records and report nothing. Prints
 * times, ratios of interleaved runs, and which bars were reached; asserts nothing. DuckDB comes from `$SVC_ENGINES`, pandas
 * from the Python of `$SVC_PYTHON` (default: python3).
 */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  describeMachine,
  here,
  inFolder,
  interleave,
  measure,
  measureProgram,
  median,
  medianOf,
  print,
  printBar,
  withService,
} from './processes.mjs';

const CLI = here(`../../${process.env.SVC_DIST ?? 'dist'}/cli.js`);
const [COMPANIES, PAGE_SIZE] = [8, 1000];
const KEYS = { SVC_MIGRATE_V3_API_KEY: 'bench', SVC_MIGRATE_V4_API_KEY: 'bench' };

/** Least upper bounds by size: wall time, CPU time and database as shares of the script's; MiB. */
const BARS = [
  { upTo: 100_000, seconds: 0.95, cpuSeconds: 1.05, megabytes: 0.32 },
  { upTo: 300_000, seconds: 0.85, cpuSeconds: 0.9, megabytes: 0.32 },
  { upTo: Number.POSITIVE_INFINITY, seconds: 0.55, cpuSeconds: 0.8, megabytes: 0.32 },
];
const PEAK_MIB = 256;

const PYTHON = process.env.SVC_PYTHON ?? 'python3';

/** The other scripts, what they need, and how they are run. */
const OTHERS = {
  duckdb: {
    isPresent: () => {
      try {
        createRequire(resolve(process.env.SVC_ENGINES ?? '../.engines', 'package.json')).resolve(
          '@duckdb/node-api',
        );
        return true;
      } catch {
        return false;
      }
    },
    run: (args) => measure([here('duckdb-script.mjs'), ...args]),
  },
  pandas: {
    isPresent: () => spawnSync(PYTHON, ['-c', 'import pandas']).status === 0,
    run: (args) => measureProgram(PYTHON, [here('pandas-script.py'), ...args]),
  },
};

const { values } = parseArgs({
  options: {
    records: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    beside: { type: 'string', default: '' },
  },
});
const [records, rounds] = [Number(values.records), Number(values.rounds)];
print(describeMachine());
print(`\nThe whole job for ${records} × ${records} bill credit notes with three line items, payload full`);
await withService({ companies: COMPANIES, pageSize: PAGE_SIZE, records }, compareWith);

function otherContestants(argsOf) {
  return values.beside
    .split(',')
    .filter((name) => name !== '')
    .flatMap((name) => {
      const other = OTHERS[name];
      if (other === undefined) throw new Error(`--beside takes ${Object.keys(OTHERS).join(' and ')}`);
      if (other.isPresent())
        return [[name, () => inFolder((folder) => measureIn(folder, other.run(argsOf(folder))))]];
      print(`${name} is not installed here`);
      return [];
    });
}

async function compareWith(port) {
  const v4 = `http://127.0.0.1:${port}`;
  const argsOf = (folder) => [folder, `${COMPANIES}`, `${PAGE_SIZE}`, `${v4}/v3`, v4];
  const runJob = (folder) => {
    return measureIn(folder, runCommand(writeConfig(folder, v4), 'run', '--json', join(folder, 'r.json')));
  };
  const runScript = (folder) => measureIn(folder, measure([here('plain-script.mjs'), ...argsOf(folder)]));
  const results = await interleave(rounds, [
    ['svc-migrate', () => inFolder(runJob)],
    ['plain script', () => inFolder(runScript)],
    ...otherContestants(argsOf),
  ]);
  const stages = await inFolder((folder) => runStages(writeConfig(folder, v4)));
  print('                           wall s   CPU s  peak MiB  file MB');
  for (const [name, runs] of [...results, ...stages]) {
    const cells = ['seconds', 'cpuSeconds', 'peakMiB', 'megabytes'].map((of) => medianOf(runs, of));
    const [wall, cpu, peak, file] = cells.map((cell, at) => cell.toFixed(at < 2 ? 2 : 0));
    print(
      `    ${name.padEnd(20)} ${wall.padStart(8)}${cpu.padStart(8)}${peak.padStart(10)}${file.padStart(9)}`,
    );
  }
  const own = results.get('svc-migrate');
  const script = results.get('plain script');
  const bars = BARS.find(({ upTo }) => records <= upTo);
  for (const of of ['seconds', 'cpuSeconds', 'megabytes']) {
    const ratio = median(own.map((run, at) => run[of] / script[at][of]));
    printBar(`${of}, as a share of the script's`, ratio, -bars[of]);
  }
  printBar('peak', Math.max(...own.map(({ peakMiB }) => peakMiB)), -PEAK_MIB, ' MiB');
}

function runCommand(config, ...command) {
  return measure([CLI, ...command, '--config', config, '--quiet'], { env: KEYS, codes: [0, 1] });
}

/** The stages of the job as commands of their own, once, one after the other. */
async function runStages(config) {
  const stages = [];
  for (const stage of ['export', 'remap', 'report'])
    stages.push([`  ${stage}`, [await measureIn(dirname(config), runCommand(config, stage))]]);
  return stages;
}

async function measureIn(folder, running) {
  const measured = await running;
  const names = ['bench.db', 'plain.db', 'duckdb.db', 'pandas.db'];
  const database = names.map((name) => join(folder, name)).find(existsSync);
  return { ...measured, megabytes: statSync(database).size / 1e6 };
}

function writeConfig(folder, v4) {
  const config = join(folder, 'bench.config.json');
  const limits = { pageSize: PAGE_SIZE, concurrency: 8, requestsPerSecond: 10_000 };
  const models = [{ v3: 'accounting/notes', v4: 'notes', expand: ['line_items'], children: ['line_items'] }];
  const v3 = { regions: { bench: { baseUrl: `${v4}/v3` } }, ...limits };
  writeFileSync(config, JSON.stringify({ database: 'bench.db', v3, v4: { baseUrl: v4, ...limits }, models }));
  return config;
}

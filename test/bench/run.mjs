/**
 * `npm run bench [-- --records N] [--rounds N]`: the whole job from nothing to the report, against the built program in
 * `$SVC_DIST` (default: dist), beside a script that joins the same records and reports nothing. Prints times, ratios of
 * interleaved runs, and which bars were reached; asserts nothing.
 */
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  describeMachine,
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

const { values } = parseArgs({
  options: { records: { type: 'string', default: '100000' }, rounds: { type: 'string', default: '3' } },
});
const [records, rounds] = [Number(values.records), Number(values.rounds)];
print(describeMachine());
print(`\nThe whole job for ${records} × ${records} bill credit notes with three line items, payload full`);
await withService({ companies: COMPANIES, pageSize: PAGE_SIZE, records }, compareWith);

async function compareWith(port) {
  const v4 = `http://127.0.0.1:${port}`;
  const results = await interleave(rounds, [
    [
      'svc-migrate',
      () =>
        inFolder((folder) => {
          const args = [
            CLI,
            'run',
            '--json',
            join(folder, 'r.json'),
            '--config',
            writeConfig(folder, v4),
            '--quiet',
          ];
          return measureIn(folder, [args, { env: KEYS, codes: [0, 1] }]);
        }),
    ],
    [
      'plain script',
      () =>
        inFolder((folder) =>
          measureIn(folder, [
            [here('plain-script.mjs'), folder, `${COMPANIES}`, `${PAGE_SIZE}`, `${v4}/v3`, v4],
            {},
          ]),
        ),
    ],
  ]);
  print('                           wall s   CPU s  peak MiB  file MB');
  for (const [name, runs] of results) {
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

async function measureIn(folder, command) {
  const measured = await measure(...command);
  const database = ['bench.db', 'plain.db'].map((name) => join(folder, name)).find(existsSync);
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

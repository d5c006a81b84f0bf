import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CLI,
  here,
  inFolder,
  interleave,
  measure,
  medianOf,
  print,
  printBar,
  withService,
} from './processes.mjs';

/** Lists read side by side, as an export of several models has them. */
const LISTS = 4;

const CASES = [
  { name: '1.2 KB, pages of 1,000', pageSize: 1000, lineItems: 3, floorBar: 1.4, scriptBar: 4 },
  { name: '1.2 KB, pages of 100', pageSize: 100, lineItems: 3, floorBar: 1.0, scriptBar: 4 },
  { name: '400 B, pages of 1,000', pageSize: 1000, lineItems: 0, floorBar: 0.55, scriptBar: 2.3 },
  { name: '1.2 KB, payload: ids', pageSize: 1000, lineItems: 3, payload: 'ids', floorBar: 2 },
];

/** Export against the parse floor and the plain script, interleaved. */
export async function benchExport({ records, rounds }) {
  print(`\nExport of ${records} records, thousand records/s (wall; CPU in brackets), medians of ${rounds}`);
  for (const one of CASES)
    await withService({ lists: LISTS, records, latencyMs: 0, ...one }, (service) =>
      runCase(one, service, { records, rounds }),
    );
}

async function runCase(
  { name, pageSize, payload = 'full', floorBar, scriptBar },
  { port },
  { records, rounds },
) {
  const base = `http://127.0.0.1:${port}/v3`;
  const args = [base, String(LISTS), String(pageSize)];
  const contestants = [
    ['svc-migrate', () => measureExport({ base, lists: LISTS, pageSize, payload })],
    ['undici + JSON.parse', () => measure([here('parse-floor.mjs'), ...args])],
  ];
  if (scriptBar !== undefined) {
    contestants.push([
      'plain script',
      () =>
        inFolder((folder) =>
          measure([here('plain-script.mjs'), folder, String(LISTS), String(pageSize), base]),
        ),
    ]);
  }
  const results = await interleave(rounds, contestants);
  print(`  ${name}`);
  for (const [who, runs] of results) {
    const rate = (of) => (records / 1000 / medianOf(runs, of)).toFixed(0).padStart(5);
    print(
      `    ${who.padEnd(20)} ${rate('seconds')}  (${rate('cpuSeconds')})  peak ${medianOf(runs, 'peakMiB').toFixed(0)} MiB`,
    );
  }
  const own = medianOf(results.get('svc-migrate'), 'seconds');
  printBar('× undici + JSON.parse', medianOf(results.get('undici + JSON.parse'), 'seconds') / own, floorBar);
  if (scriptBar !== undefined)
    printBar('× plain script', medianOf(results.get('plain script'), 'seconds') / own, scriptBar);
}

/** A whole `export v3` by the CLI, from nothing to its summary. */
export function measureExport({ base, lists, pageSize, payload = 'full', concurrency, requestsPerSecond }) {
  return inFolder(async (folder) => {
    const config = writeConfig(folder, { base, lists, pageSize, payload, concurrency, requestsPerSecond });
    return await measure([CLI, 'export', 'v3', '--config', config, '--quiet'], { env: KEYS });
  });
}

export const KEYS = { SVC_MIGRATE_V3_API_KEY: 'bench', SVC_MIGRATE_V4_API_KEY: 'bench' };

/** Writes a configuration for `service.mjs`; returns its name. */
export function writeConfig(
  folder,
  { base, lists, pageSize, payload = 'full', concurrency = 8, requestsPerSecond = 10_000 },
) {
  const config = join(folder, 'bench.config.json');
  const limits = { pageSize, concurrency, requestsPerSecond };
  const models = Array.from({ length: lists }, (_, list) => ({
    v3: `accounting/m${list}`,
    v4: `m${list}`,
    children: ['line_items'],
  }));
  const v3 = { regions: { bench: { baseUrl: base } }, ...limits };
  const v4 = { baseUrl: base.replace('/v3', ''), ...limits };
  writeFileSync(config, JSON.stringify({ database: 'bench.db', v3, v4, models, payload }));
  return config;
}

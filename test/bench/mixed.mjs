import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLI, inFolder, measure, median, print, withService } from './processes.mjs';

const [RECORDS, COMPANIES] = [50_000, 8];
const LATENCIES_MS = [100, 300];

/**
 * `run` where V3 lists the records of eight companies mixed by time, with the default configuration but for addresses and
 * models. `old` is the `bin/svc-migrate.js` of another version to compare with, if any.
 */
export async function benchMixed({ rounds, old }) {
  const byHand = Array.from({ length: COMPANIES }, (_, at) => at + 1);
  const ways = {
    ...(old === undefined ? {} : { old: { cli: old } }),
    'as one list': { cli: CLI, companies: [] },
    'divided by itself': { cli: CLI },
    'divided by hand': { cli: CLI, companies: byHand },
  };
  for (const latencyMs of LATENCIES_MS) {
    const settings = { records: RECORDS, companies: COMPANIES, latencyMs };
    const runAll = async (port) => {
      const base = `http://127.0.0.1:${port}`;
      const seconds = Object.fromEntries(Object.keys(ways).map((name) => [name, []]));
      for (let round = 0; round < rounds; round += 1) {
        for (const [name, way] of Object.entries(ways)) seconds[name].push(await runOnce(base, way));
      }
      return seconds;
    };
    const found = await withService(settings, runAll, 'mixed-service.mjs');
    print(`\n${latencyMs} ms a response, ${RECORDS} records of ${COMPANIES} companies, run: seconds`);
    for (const [name, own] of Object.entries(found)) {
      print(`${name.padEnd(20)} ${median(own).toFixed(1)} (${own.map((one) => one.toFixed(1)).join(', ')})`);
    }
  }
}

async function runOnce(base, { cli, companies }) {
  return await inFolder(async (folder) => {
    const config = {
      database: 'bench.db',
      v3: { regions: { default: { baseUrl: `${base}/v3` } }, ...(companies && { companies }) },
      // Another name, because requests are limited by host.
      v4: { baseUrl: base.replace('127.0.0.1', 'localhost') },
      models: [{ v3: 'accounting/bill_credit_notes', v4: 'bill_credit_notes' }],
    };
    const file = join(folder, 'c.json');
    writeFileSync(file, JSON.stringify(config));
    const env = { SVC_MIGRATE_V3_API_KEY: 'k', SVC_MIGRATE_V4_API_KEY: 'k' };
    const { seconds } = await measure([cli, 'run', '--quiet', '--config', file], { env });
    return seconds;
  });
}

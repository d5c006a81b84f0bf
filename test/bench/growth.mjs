import { join } from 'node:path';
import { measureExport } from './export.mjs';
import { makeDatabase } from './made-database.mjs';
import { CLI, inFolder, measure, print, printBar, withService } from './processes.mjs';

const LISTS = 4;
const SIZES = [10_000, 100_000, 1_000_000, 5_000_000];
const OF_SMALL = 100_000;
const COMPANIES = [100, 1000, 10_000, 100_000];
const CHILDREN = [1, 10, 100, 1000, 10_000, 50_000];

/** CPU time and memory of every phase by the number of records up to `records`, and by the shape of the data. */
export async function benchGrowth({ records }) {
  const sizes = SIZES.filter((one) => one <= Math.max(records, OF_SMALL));
  await growExport(sizes);
  const most = Math.min(records, OF_SMALL);
  await growPhases(
    'records',
    sizes.map((size) => [size, size, {}]),
  );
  await growPhases(
    `companies, ${most} records`,
    COMPANIES.filter((count) => count <= most).map((count) => [count, most, { companies: count }]),
  );
  await growPhases(
    `children of a record, ${most} children`,
    CHILDREN.map((count) => [count, 2 * Math.ceil(most / count / 2), { lineItems: count }]),
  );
}

/** The peak may hardly grow. */
async function growExport(sizes) {
  print('\nExport of 1.2 KB records in pages of 1,000: seconds (CPU in brackets), thousand records/s, peak');
  const peaks = new Map();
  for (const size of sizes) {
    const settings = { lists: LISTS, records: size, pageSize: 1000, lineItems: 3, latencyMs: 0 };
    const one = await withService(settings, ({ port }) =>
      measureExport({ base: `http://127.0.0.1:${port}/v3`, lists: LISTS, pageSize: 1000 }),
    );
    peaks.set(size, one.peakMiB);
    const rate = (size / 1000 / one.seconds).toFixed(0);
    print(
      `    ${String(size).padStart(9)}  ${one.seconds.toFixed(1)} (${one.cpuSeconds.toFixed(1)})  ${rate}  ${one.peakMiB.toFixed(0)} MiB`,
    );
  }
  const largest = [...peaks.keys()].at(-1);
  printBar(`peak at ${largest}`, peaks.get(largest), -256, ' MiB');
  printBar(`× the peak at ${OF_SMALL}`, peaks.get(largest) / peaks.get(OF_SMALL), -1.15);
}

/** The phases after the export. `cases`: what is varied, the number of records, and their shape. */
async function growPhases(varied, cases) {
  const phases = ['remap', 'report', 'dump', 'lookup'];
  print(`\nBy ${varied}: CPU seconds and peak (MiB) of ${phases.join(', ')}`);
  for (const [name, records, shape] of cases) {
    await inFolder(async (folder) => {
      const config = makeDatabase(folder, records, 'plain', shape);
      const run = (args, input) => measure([CLI, ...args, ...config], { codes: [0, 1], input });
      const ids = Array.from({ length: records }, (_, at) => `${((at * 7919) % records) * 3}\n`).join('');
      const results = [
        await run(['remap', '--quiet']),
        await run(['report', '--quiet', '--json', join(folder, 'report.json')]),
        await run(['dump', '--quiet', '--output', join(folder, 'dump.csv')]),
        await run(['lookup', 'accounting/invoices', '--stdin'], ids),
      ];
      const cells = results.map(
        ({ cpuSeconds, peakMiB }) => `${cpuSeconds.toFixed(1)} ${peakMiB.toFixed(0)}`,
      );
      print(`    ${String(name).padStart(9)}  ${cells.map((cell) => cell.padStart(10)).join('')}`);
    });
  }
}

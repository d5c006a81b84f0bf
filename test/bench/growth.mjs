import { join } from 'node:path';
import { makeDatabase } from './made-database.mjs';
import { CLI, inFolder, measure, print, printBar } from './processes.mjs';

const SIZES = [10_000, 100_000, 1_000_000, 5_000_000];
/** Companies of the largest shapes, and children of one record. */
const COMPANIES = [1, 1000, 100_000];
const CHILDREN = [10, 1000, 50_000];
const OF_SHAPES = 100_000;

/** CPU time and memory of remap and report by the number of records up to `records`, and by the shape of the data. */
export async function benchGrowth({ records }) {
  print('\nGrowth: CPU seconds and peak (MiB) of remap and report');
  const peaks = new Map();
  const sizes = SIZES.filter((size) => size <= Math.max(records, OF_SHAPES));
  for (const size of sizes) peaks.set(size, await measurePhases(`${size} records`, size, { companies: 8 }));
  for (const companies of COMPANIES)
    await measurePhases(`${OF_SHAPES} records, ${companies} companies`, OF_SHAPES, { companies });
  for (const lineItems of CHILDREN)
    await measurePhases(`${lineItems} children of a record`, Math.ceil((2 * OF_SHAPES) / lineItems), {
      lineItems,
    });
  if (peaks.has(1_000_000)) {
    printBar('peak at 1,000,000', peaks.get(1_000_000), -256, ' MiB');
    const peak = await measurePhases('1000000 records, 1 company', 1_000_000, { companies: 1 });
    printBar('peak at 1,000,000 in one company', peak, -400, ' MiB');
  }
  if (peaks.has(5_000_000)) printBar('peak at 5,000,000', peaks.get(5_000_000), -600, ' MiB');
}

/** Returns the peak of the remap in MiB. */
async function measurePhases(name, records, shape) {
  return await inFolder(async (folder) => {
    const config = makeDatabase(folder, records, 'plain', shape);
    const run = (...args) => measure([CLI, ...args, ...config, '--quiet'], { codes: [0, 1] });
    const remap = await run('remap');
    const report = await run('report', '--json', join(folder, 'report.json'));
    const cells = [remap, report].map((one) => `${one.cpuSeconds.toFixed(1)} ${one.peakMiB.toFixed(0)}`);
    print(`    ${name.padEnd(36)} ${cells.map((cell) => cell.padStart(10)).join('')}`);
    return remap.peakMiB;
  });
}

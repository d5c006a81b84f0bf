import { measureExport } from './export.mjs';
import { print, printBar, withService } from './processes.mjs';

const LISTS = 4;
const SIZES = [10_000, 100_000, 1_000_000, 5_000_000];
const OF_SMALL = 100_000;

/** Time and memory of an export by its size, up to `records`; the peak may hardly grow. */
export async function benchGrowth({ records }) {
  print('\nExport of 1.2 KB records in pages of 1,000: seconds (CPU in brackets), thousand records/s, peak');
  const peaks = new Map();
  for (const size of SIZES.filter((one) => one <= Math.max(records, OF_SMALL))) {
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

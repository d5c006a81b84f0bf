import { measureExport } from './export.mjs';
import { print, printBar, withService } from './processes.mjs';

const LATENCY_MS = 100;
/** Of each list: the first half second, in which nothing is compiled yet, is a twentieth of it. */
const PAGES = 100;

/** Exports from a service that takes its time, and one that counts requests per second. */
export async function benchLatency() {
  print(`\n${LATENCY_MS} ms for each page, N lists side by side: share of N × page / latency`);
  for (const [pageSize, bar] of [
    [100, 0.92],
    [1000, 0.85],
  ]) {
    for (const lists of [1, 8, 32]) {
      const share = await shareOf({ lists, pageSize, pages: PAGES });
      printBar(`pages of ${pageSize}, ${lists} lists`, share, bar);
    }
  }
  await benchRate(50);
}

/** Of the time between the first and the last request of the walk: start-up and sweeps have no part in it. */
async function shareOf({ lists, pageSize, pages }) {
  const records = lists * pageSize * pages;
  return await withService(
    { lists, records, pageSize, lineItems: 3, latencyMs: LATENCY_MS },
    async ({ port, readArrivals }) => {
      await measureExport({ base: `http://127.0.0.1:${port}/v3`, lists, pageSize, concurrency: lists });
      const arrivals = await readArrivals();
      const walk = arrivals.slice(0, lists * pages);
      return ((pages - 1) * LATENCY_MS) / (walk.at(-1) - walk[0]);
    },
  );
}

async function benchRate(requestsPerSecond) {
  print(`\nAt most ${requestsPerSecond} requests per second`);
  await withService(
    { lists: 8, records: 8 * 10 * 50, pageSize: 10, lineItems: 0, latencyMs: 0 },
    async ({ port, readArrivals }) => {
      await measureExport({ base: `http://127.0.0.1:${port}/v3`, lists: 8, pageSize: 10, requestsPerSecond });
      const arrivals = await readArrivals();
      let most = 0;
      for (let from = 0, to = 0; to < arrivals.length; to++) {
        while (arrivals[to] - arrivals[from] >= 1000) from++;
        most = Math.max(most, to - from + 1);
      }
      printBar('most requests in any second', most, -requestsPerSecond);
      const rate = ((arrivals.length - 1) / (arrivals.at(-1) - arrivals[0])) * 1000;
      printBar('requests per second', rate, requestsPerSecond * 0.97);
    },
  );
}

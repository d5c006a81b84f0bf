import { writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Preloaded by `processes.mjs`: leaves word of what the process cost. */
if (isMainThread) {
  process.on('exit', () => {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    const usage = { cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakMiB: maxRSS / 1024 };
    writeFileSync(process.env.BENCH_USAGE, JSON.stringify(usage));
  });
}

import { readFileSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Preloaded by `processes.mjs`: leaves word of what the process cost. */
if (isMainThread) {
  process.on('exit', () => {
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    // not maxRSS, which begins with that of the parent
    const peak = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    const usage = { cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakMiB: Number(peak ?? 0) / 1024 };
    writeFileSync(process.env.BENCH_USAGE, JSON.stringify(usage));
  });
}

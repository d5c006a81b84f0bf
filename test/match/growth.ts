/** So often a measurement is repeated before it counts: whatever else the machine does only ever adds to it. */
const TRIES = 5;

/** CPU time that this process takes for the work, ms. */
export function cpuMsOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/**
 * By how much the CPU time grows from the small work to the large one. Each returns its CPU time; the least of each
 * counts, and once the growth is below the bound nothing is measured again.
 */
export function growthOf(small: () => number, large: () => number, bound: number): number {
  let smallMs = small();
  let largeMs = Number.POSITIVE_INFINITY;
  for (let turn = 0; turn < TRIES && !(largeMs / smallMs < bound); turn += 1) {
    smallMs = Math.min(smallMs, small());
    largeMs = Math.min(largeMs, large());
  }
  return largeMs / smallMs;
}

/** What a sample is drawn from: strata in a fixed order, their members numbered through from 0. */
export interface SamplePlan {
  /** Numbers of the members drawn, each with the same probability; ascending. */
  readonly drawn: readonly number[];
  /** One more of each stratum that the draw left out; they say nothing about the rate. */
  readonly extra: readonly number[];
}

/**
 * Draws `wanted` of all members, spread over the strata in proportion to their sizes: a systematic draw
 * decides how many each stratum gives, a random one which. All of them where `wanted` is enough.
 *
 * @param sizes of the strata
 * @param random from 0 up to but not 1
 */
export function planSample(sizes: readonly number[], wanted: number, random: () => number): SamplePlan {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (wanted >= total) return { drawn: Array.from({ length: total }, (_, at) => at), extra: [] };
  const step = total / wanted;
  const start = random() * step;
  const drawn: number[] = [];
  const extra: number[] = [];
  let first = 0;
  for (const size of sizes) {
    const quota = hitsBefore(first + size, start, step, wanted) - hitsBefore(first, start, step, wanted);
    const chosen = chooseSome(size, Math.max(quota, Math.min(1, size)), random);
    (quota === 0 ? extra : drawn).push(...chosen.map((at) => first + at));
    first += size;
  }
  return { drawn, extra };
}

/** How many of the points start, start + step, … lie before `end`. */
function hitsBefore(end: number, start: number, step: number, points: number): number {
  return Math.min(points, Math.max(0, Math.ceil((end - start) / step)));
}

/** `count` different numbers below `size`, ascending (Floyd's algorithm). */
function chooseSome(size: number, count: number, random: () => number): number[] {
  const chosen = new Set<number>();
  for (let top = size - count; top < size; top++) {
    const at = Math.floor(random() * (top + 1));
    chosen.add(chosen.has(at) ? top : at);
  }
  return [...chosen].sort((a, b) => a - b);
}

/** A sample of strata in a fixed order, whose members are numbered consecutively from 0. */
export interface SamplePlan {
  /** Numbers of the members drawn, each with the same probability; ascending. */
  readonly drawn: readonly number[];
  /** One more of each stratum without a drawn member; not used for the rate. */
  readonly extra: readonly number[];
}

/**
 * Draws `wanted` of all members, in proportion to the sizes of the strata: systematic sampling decides the number per
 * stratum, random sampling the members. Draws all of them if `wanted` is enough.
 *
 * @param sizes of the strata
 * @param random a number in [0, 1)
 */
export function planSample(sizes: readonly number[], wanted: number, random: () => number): SamplePlan {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (wanted >= total) return { drawn: Array.from({ length: total }, (_, at) => at), extra: [] };
  const step = total / wanted;
  const start = random() * step;
  /** How many of the points start, start + step, … are less than `end`. */
  const pointsBefore = (end: number): number =>
    Math.min(wanted, Math.max(0, Math.ceil((end - start) / step)));
  const drawn: number[] = [];
  const extra: number[] = [];
  let first = 0;
  for (const size of sizes) {
    const quota = pointsBefore(first + size) - pointsBefore(first);
    const chosen = chooseSome(size, Math.max(quota, Math.min(1, size)), random);
    (quota === 0 ? extra : drawn).push(...chosen.map((at) => first + at));
    first += size;
  }
  return { drawn, extra };
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

/** Random numbers in [0, 1), the same for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Probability that a statement about all pairs is true. */
export const CONFIDENCE = 0.95;

/**
 * An upper bound on the share of wrong pairs, given `wrong` of `read` sampled ones: the exact one-sided bound of Clopper
 * and Pearson. For none wrong it is 1 − (1 − confidence)^(1/read), the exact form of the rule of three (3/read).
 * Stratified sampling only makes it more conservative.
 */
export function upperBound(wrong: number, read: number): number {
  if (read === 0 || wrong >= read) return 1;
  const doubt = 1 - CONFIDENCE;
  if (wrong === 0) return 1 - doubt ** (1 / read);
  let low = wrong / read;
  let high = 1;
  while (high - low > 1e-12) {
    const middle = (low + high) / 2;
    if (chanceOfAtMost(wrong, read, middle) > doubt) low = middle;
    else high = middle;
  }
  return high;
}

/** Chance of at most `wrong` hits in `read` draws that each hit with `share`. */
function chanceOfAtMost(wrong: number, read: number, share: number): number {
  if (share >= 1) return 0;
  let logTerm = read * Math.log1p(-share);
  let sum = Math.exp(logTerm);
  for (let hits = 1; hits <= wrong; hits++) {
    logTerm += Math.log((read - hits + 1) / hits) + Math.log(share) - Math.log1p(-share);
    sum += Math.exp(logTerm);
  }
  return sum;
}

/** How sure the statements are. */
export const CONFIDENCE = 0.95;

/**
 * The largest share of wrong pairs that is compatible with `wrong` of `read` sampled ones: the one-sided exact
 * upper bound of Clopper and Pearson. For none wrong it is 1 − (1 − confidence)^(1/read), the exact form of
 * the rule of three (3/read). Drawing in proportion to strata only makes it more cautious.
 */
export function upperBound(wrong: number, read: number, confidence = CONFIDENCE): number {
  if (read === 0 || wrong >= read) return 1;
  const doubt = 1 - confidence;
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

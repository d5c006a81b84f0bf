import { hexOf, mix, mixText } from './random.js';

const COUNTERS = 1 << 16;

/**
 * Makes the id of each request from its address and how often that was asked for, so that the order in which
 * different requests arrive does not matter. Memory is bounded: addresses share counters.
 */
export function createRequestIds(seed: number): (address: string) => string {
  const counters = new Uint32Array(COUNTERS);
  return (address) => {
    const hash = mixText(mix(0x1d, seed), address);
    const count = counters[hash % COUNTERS] ?? 0;
    counters[hash % COUNTERS] = count + 1;
    return `req_${hexOf(mix(hash, count))}`;
  };
}

import { createRequestCounter, happens, hashOf, mix, mixText } from './seeded-random.js';

/**
 * Faults to inject. `429` (with Retry-After), `500`, `reset`, `truncate` and `hang` affect one attempt; `cursor-expiry`
 * refuses a cursor once; `cursor-loop` returns the cursor of the same page again; `duplicate-pages` sends a page twice;
 * `mutate` changes V3 while it is being read.
 */
export const FAULTS = [
  '429',
  '500',
  'reset',
  'truncate',
  'hang',
  'cursor-expiry',
  'cursor-loop',
  'duplicate-pages',
  'mutate',
] as const;
type FaultName = (typeof FAULTS)[number];

export interface FaultSetting {
  readonly name: FaultName;
  /** Share of the possible requests that it affects. */
  readonly rate: number;
}

/**
 * Reads `NAME` or `NAME:RATE`.
 *
 * @throws TypeError for an unknown name or a rate outside 0 to 1
 */
export function parseFault(text: string): FaultSetting {
  const [word, rateText] = text.split(':', 2);
  const name = FAULTS.find((known) => known === word);
  if (name === undefined) throw new TypeError(`${word} is not a fault.`);
  const rate = rateText === undefined ? 0.05 : Number(rateText);
  if (!(rate >= 0 && rate <= 1) || rateText === '') {
    throw new TypeError(`The rate of ${name} is not a number from 0 to 1: ${rateText}`);
  }
  return { name, rate };
}

/** Decides which faults affect one attempt of one request. */
export interface AttemptFaults {
  strikes(name: FaultName): boolean;
}

/**
 * Decides at random from the seed, the address and the number of earlier requests to it, so that a retry may have
 * another result and the order of different requests does not matter.
 */
export function createFaults(
  seed: number,
  settings: readonly FaultSetting[],
): (address: string) => AttemptFaults {
  const rates = new Map(settings.map(({ name, rate }) => [name, rate]));
  const countRequests = createRequestCounter();
  return (address) => {
    const hash = mixText(hashOf(seed, 'fault'), address);
    const attemptHash = mix(hash, countRequests(hash));
    return { strikes: (name) => happens(mixText(attemptHash, name), rates.get(name) ?? 0) };
  };
}

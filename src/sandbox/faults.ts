import { happens, hashOf, mix, mixText } from './random.js';

/**
 * What can go wrong on purpose. `429` (with Retry-After), `500`, `reset`, `truncate` and `hang` strike one
 * attempt; `cursor-expiry` refuses a cursor once; `cursor-loop` hands out the cursor of the same page for ever;
 * `duplicate-pages` sends a page twice; `mutate` changes V3 while it is being read.
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
  /** Share of the requests it could strike that it strikes. */
  readonly rate: number;
}

const DEFAULT_RATE = 0.05;

/**
 * Reads `NAME` or `NAME:RATE`.
 *
 * @throws TypeError for an unknown name or a rate outside 0 to 1
 */
export function parseFault(text: string): FaultSetting {
  const [word, rateText] = text.split(':', 2);
  const name = FAULTS.find((known) => known === word);
  if (name === undefined) throw new TypeError(`${word} is no fault; there are ${FAULTS.join(', ')}.`);
  const rate = rateText === undefined ? DEFAULT_RATE : Number(rateText);
  if (!(rate >= 0 && rate <= 1) || rateText === '') {
    throw new TypeError(`The rate of ${name} is no number from 0 to 1: ${rateText}`);
  }
  return { name, rate };
}

/** Decides which faults strike one attempt of one request. */
export interface AttemptFaults {
  strikes(name: FaultName): boolean;
}

const COUNTERS = 1 << 16;

/**
 * Throws dice that depend on the seed, the address and how often it was asked for, so that a retry is a new
 * throw and the order of different requests does not matter.
 */
export function createFaults(
  seed: number,
  settings: readonly FaultSetting[],
): (address: string) => AttemptFaults {
  const rates = new Map(settings.map(({ name, rate }) => [name, rate]));
  const counters = new Uint32Array(COUNTERS);
  return (address) => {
    const hash = mixText(hashOf(seed, 'fault'), address);
    const attempt = counters[hash % COUNTERS] ?? 0;
    counters[hash % COUNTERS] = attempt + 1;
    const attemptHash = mix(hash, attempt);
    return { strikes: (name) => happens(mixText(attemptHash, name), rates.get(name) ?? 0) };
  };
}

import type { RemapRow } from './remap.js';

const MAX = 2n ** 63n - 1n;

/** Sets of V3 ids whose V4 ids are the same numbers in another order: swaps and cycles. */
export const LARGE_IDS: Readonly<Record<string, readonly bigint[]>> = {
  'around 2^53': [2n ** 53n - 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 53n + 2n],
  'from 10^15': [10n ** 15n, 10n ** 15n + 1n, 10n ** 15n + 2n],
  'that swap at 10^18': [10n ** 18n, 10n ** 18n + 1n],
  'up to 2^63 - 1': [MAX - 2n, MAX - 1n, MAX],
  small: [5n, 6n],
  'small and large': [1n, MAX - 7n, 10n ** 17n],
};

/** The next of its set, the first after the last. */
export function nextOf(id: bigint): bigint {
  const own = Object.values(LARGE_IDS).find((ids) => ids.includes(id)) ?? [];
  return own[(own.indexOf(id) + 1) % own.length] ?? id;
}

export const LARGE_REMAP: readonly RemapRow[] = Object.values(LARGE_IDS)
  .flat()
  .map((id) => ({ v3: id, v4: nextOf(id) }));

/** Values beside the ids that are none of them: the column is theirs too. */
export const BESIDE: Readonly<Record<string, readonly bigint[]>> = {
  'nothing else': [],
  'negative numbers': [-1n, -(10n ** 15n), -(2n ** 53n) - 1n],
  'the smallest number': [-(2n ** 63n)],
};

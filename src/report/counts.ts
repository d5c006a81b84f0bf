import { bareReason, REASONS, STATUSES, type Status } from '../reasons.js';
import type { Counts } from './report-schema.js';

type Plain = 'v3Records' | 'v3Children' | 'v4Records' | 'v4Children' | 'rejected' | 'uniqueIdConflicts';

/** One number of `Counts`; the last form is one of `byReason`, with its `status/reason`. */
export type CountName = Plain | `byStatus ${Status}` | `v3ByStatus ${Status}` | `byReason ${string}`;

export type CountOf = (name: CountName) => number;

/** Builds counts from single numbers. `reasons`: all that may have occurred, in order. */
export function countsFrom(countOf: CountOf, reasons: readonly string[]): Counts {
  const found = reasons.map((key) => [key, countOf(`byReason ${key}`)] as const).filter(([, n]) => n > 0);
  return {
    v3Records: countOf('v3Records'),
    v3Children: countOf('v3Children'),
    v4Records: countOf('v4Records'),
    v4Children: countOf('v4Children'),
    rejected: countOf('rejected'),
    uniqueIdConflicts: countOf('uniqueIdConflicts'),
    byStatus: {
      matched: countOf('byStatus matched'),
      unmatched: countOf('byStatus unmatched'),
      deleted: countOf('byStatus deleted'),
      ambiguous: countOf('byStatus ambiguous'),
      v4_only: countOf('byStatus v4_only'),
    },
    v3ByStatus: {
      matched: countOf('v3ByStatus matched'),
      unmatched: countOf('v3ByStatus unmatched'),
      deleted: countOf('v3ByStatus deleted'),
      ambiguous: countOf('v3ByStatus ambiguous'),
    },
    byReason: Object.fromEntries(found),
  };
}

const STATUS_ORDER: readonly string[] = STATUSES;
const REASON_ORDER: readonly string[] = REASONS;

/** Orders keys `status/reason` as in `REASONS`, each before its `parent_` form. */
export function sortReasons(keys: Iterable<string>): string[] {
  const ranked = Array.from(keys, (key) => {
    const [status = '', reason = ''] = key.split('/');
    const bare = bareReason(reason);
    const ranks = [STATUS_ORDER.indexOf(status), REASON_ORDER.indexOf(bare), bare === reason ? 0 : 1];
    return { key, rank: ranks.map((rank) => String(rank).padStart(3, '0')).join(' ') };
  });
  ranked.sort((a, b) => compare(a.rank, b.rank) || compare(a.key, b.key));
  return ranked.map(({ key }) => key);
}

/** Compares for sorting, strings by their UTF-16 units. */
export function compare<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

import { z } from 'zod';
import { REASONS, STATUSES } from '../reasons.js';

/** Limits on what no status or reason names. */
const COUNTERS = ['rejected', 'short', 'unique_id_conflict', 'drift', 'decision_stale'] as const;

/** Everything that can be limited. `matched` is what one wants, so it has no limit. */
export const LIMIT_NAMES: readonly string[] = [
  ...STATUSES.filter((status) => status !== 'matched'),
  ...REASONS,
  ...COUNTERS,
];

/** A limit: a count of rows, or a share of the rows with a V3 id in the same scope. */
export type LimitValue =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'percent'; readonly percent: number; readonly text: string };

const A_LIMIT = { error: 'must be a whole number from 0 up, or a share such as "2%" or "0.5%"' };

export const limitValue = z
  .union([z.int(A_LIMIT).min(0, A_LIMIT), z.string().regex(/^\d{1,3}(\.\d{1,9})?%$/, A_LIMIT)], A_LIMIT)
  .transform((value, context): LimitValue => {
    if (typeof value === 'number') return { kind: 'count', count: value };
    const percent = Number(value.slice(0, -1));
    if (percent > 100) context.addIssue('must not be above 100%');
    return { kind: 'percent', percent, text: value };
  });

import { REASONS, STATUSES } from '../reasons.js';
import * as z from '../zod.js';

/** Names of limits besides statuses and reasons. */
const COUNTERS = ['rejected', 'short', 'unique_id_conflict', 'drift', 'decision_stale'] as const;

/** Everything that can be limited: all but `matched`, which is the goal. */
const LIMIT_NAMES: readonly string[] = [
  ...STATUSES.filter((status) => status !== 'matched'),
  ...REASONS,
  ...COUNTERS,
];

/** A limit: a count of rows, or a share of the rows with a V3 id in the same scope. */
export type LimitValue =
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'percent'; readonly percent: number; readonly text: string };

const A_LIMIT = { error: 'must be a whole number from 0 up, or a share such as "2%" or "0.5%"' };

const A_COUNT = { error: 'must be a whole number from 0 up' };

const limitValue = z
  .union([z.int(A_LIMIT).min(0, A_LIMIT), z.string().regex(/^\d{1,3}(\.\d{1,9})?%$/, A_LIMIT)], A_LIMIT)
  .transform((value, context): LimitValue => {
    if (typeof value === 'number') return { kind: 'count', count: value };
    const percent = Number(value.slice(0, -1));
    if (percent > 100) context.addIssue('must not be above 100%');
    return { kind: 'percent', percent, text: value };
  });

export const limitsByName = Object.fromEntries(LIMIT_NAMES.map((name) => [name, limitValue.exactOptional()]));

/** A limit that can only be a count. */
export const countLimit = z
  .int(A_COUNT)
  .min(0, A_COUNT)
  .transform((count): LimitValue => ({ kind: 'count', count }));

import { z } from 'zod';
import { REASONS, STATUSES } from '../reasons.js';
import type { LimitValue } from './config.js';

/** Limits on what no status or reason names. */
const COUNTERS = ['rejected', 'short', 'unique_id_conflict', 'drift', 'decision_stale'] as const;

/** Everything a limit can cap. `matched` is what one wants, so no limit caps it. */
export const LIMIT_NAMES: readonly string[] = [
  ...STATUSES.filter((status) => status !== 'matched'),
  ...REASONS,
  ...COUNTERS,
];

const A_LIMIT = { error: 'must be a whole number from 0 up, or a share such as "2%" or "0.5%"' };

/** A limit as the file has it: a count of rows, or a share of the rows with a V3 id. */
export const limitValueSchema = z
  .union([z.int(A_LIMIT).min(0, A_LIMIT), z.string().regex(/^\d{1,3}(\.\d{1,9})?%$/, A_LIMIT)], A_LIMIT)
  .refine((value) => typeof value === 'number' || !(percentOf(value) > 100), 'must not be above 100%');

/** A limit from a checked file. */
export function parseLimitValue(value: number | string): LimitValue {
  if (typeof value === 'number') return { kind: 'count', count: value };
  return { kind: 'percent', percent: percentOf(value), text: value };
}

function percentOf(text: string): number {
  return Number(text.slice(0, -1));
}

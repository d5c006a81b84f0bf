import { z } from 'zod';
import { REASONS, STATUSES } from '../domain.js';
import type { LimitValue } from './config.js';

/** Limits on what no status or reason names. */
const COUNTERS = ['rejected', 'short', 'unique_id_conflict', 'drift'] as const;

/** Everything a limit can cap. `matched` is what one wants, so no limit caps it. */
export const LIMIT_NAMES: readonly string[] = [
  ...STATUSES.filter((status) => status !== 'matched'),
  ...REASONS,
  ...COUNTERS,
];

const EXPECTED = 'must be a whole number from 0 up, or a share such as "2%" or "0.5%"';

/** A limit as the file has it: a count of rows, or a share of the rows with a V3 id. */
export const limitValueSchema = z.union([z.int().min(0), z.string().regex(/^\d{1,3}(\.\d{1,9})?%$/)], {
  error: EXPECTED,
});

/** A checked limit; null where a share is above 100 %. */
export function parseLimitValue(value: number | string): LimitValue | null {
  if (typeof value === 'number') return { kind: 'count', count: value };
  const percent = Number(value.slice(0, -1));
  return percent <= 100 ? { kind: 'percent', percent, text: value } : null;
}

import { z } from 'zod';
import { STATUSES } from '../reasons.js';
import type { RemapRun } from '../store/evidence.js';
import type { Report } from './schema.js';

const countsSchema = z.record(z.string(), z.int().nonnegative());

/** The builds of the remap with their counts, oldest first. */
export function buildTrend(runs: readonly RemapRun[]): Report['trend'] {
  return runs.map((run) => ({
    run: String(run.id),
    builtAt: run.built_at,
    sha256: run.sha256,
    byStatus: sumByStatus(parseCounts(run)),
  }));
}

/** Rows of one build by `matched` or `status/reason`. */
export function parseCounts(run: RemapRun): Readonly<Record<string, number>> {
  return countsSchema.parse(JSON.parse(run.counts));
}

function sumByStatus(counts: Readonly<Record<string, number>>): Report['trend'][number]['byStatus'] {
  const sums = { matched: 0, unmatched: 0, deleted: 0, ambiguous: 0, v4_only: 0 };
  for (const [key, count] of Object.entries(counts)) {
    const status = STATUSES.find((name) => name === key.split('/')[0]);
    if (status !== undefined) sums[status] += count;
  }
  return sums;
}

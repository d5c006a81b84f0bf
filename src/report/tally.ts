import { bareReason, REASONS, STATUSES } from '../reasons.js';
import type { ExportedCount } from '../store/exported.js';
import type { RemapGroup } from '../store/remap.js';
import type { Counts } from './schema.js';

const STATUS_ORDER: readonly string[] = STATUSES;
const REASON_ORDER: readonly string[] = REASONS;

/** The same counts for everything, one model or one company, while they are added up. */
export type Tally = { -readonly [K in keyof Counts]: Counts[K] };

export function newTally(): Tally {
  return {
    v3Records: 0,
    v3Children: 0,
    v4Records: 0,
    v4Children: 0,
    rejected: 0,
    uniqueIdConflicts: 0,
    byStatus: { matched: 0, unmatched: 0, deleted: 0, ambiguous: 0, v4_only: 0 },
    byReason: {},
  };
}

/** Adds rows of the remap. */
export function addGroup(tally: Tally, group: RemapGroup): void {
  const n = Number(group.n);
  tally.byStatus[group.status] += n;
  tally.uniqueIdConflicts += Number(group.conflicts);
  if (group.reason === null) return;
  const key = `${group.status}/${group.reason}`;
  tally.byReason[key] = (tally.byReason[key] ?? 0) + n;
}

/** Adds what was exported. */
export function addExported(tally: Tally, exported: ExportedCount): void {
  if (exported.generation === 'v3') {
    tally.v3Records += Number(exported.records);
    tally.v3Children += Number(exported.children);
  } else {
    tally.v4Records += Number(exported.records);
    tally.v4Children += Number(exported.children);
  }
}

/** The finished counts, reasons in the order of the product's vocabulary. */
export function finishTally(tally: Tally): Counts {
  const byReason = Object.entries(tally.byReason).sort(([a], [b]) => compareKeys(a, b));
  return { ...tally, byReason: Object.fromEntries(byReason) };
}

function compareKeys(a: string, b: string): number {
  const [left, right] = [rankOf(a), rankOf(b)];
  for (const [at, rank] of left.entries()) {
    const difference = rank - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a < b ? -1 : 1;
}

function rankOf(key: string): readonly number[] {
  const [status = '', reason = ''] = key.split('/');
  const bare = bareReason(reason);
  return [STATUS_ORDER.indexOf(status), REASON_ORDER.indexOf(bare), bare === reason ? 0 : 1];
}

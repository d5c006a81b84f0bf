import { DEFAULT_MAX_AGE_MS, type ReportLimit, type RowUnit } from '../domain.js';
import {
  COUNTERS,
  type Counter,
  isWithin,
  type Limit,
  type Limits,
  limitOf,
  limitOfCounter,
  listConfigured,
} from '../limits.js';
import type { Status } from '../reasons.js';

/** Rows of the remap that share model, status, reason and unit. */
export interface RowCount {
  readonly model: string;
  readonly status: Status;
  readonly reason: string | null;
  readonly unit: RowUnit;
  readonly count: number;
}

export type CountByModel = ReadonlyMap<string, number>;

/** Everything that the gate judges, within one scope. */
export interface GateCounts {
  readonly rows: readonly RowCount[];
  /** Rows with a V3 id: the base of percentages. */
  readonly v3Rows: CountByModel;
  readonly counters: Readonly<Record<Counter, CountByModel>>;
  /** Age of the oldest list, ms; null if there is none or its time is unreadable. */
  readonly ageMs: number | null;
}

/** Evidence dated further in the future than this fails the gate, ms; less may be a difference between clocks. */
const CLOCK_TOLERANCE_MS = 300_000;
const HOUR_MS = 3_600_000;

const COUNTER_UNITS = {
  rejected: 'objects',
  short: 'streams',
  unique_id_conflict: 'pairs',
  merged: 'v3_ids',
  decision_stale: 'decisions',
} as const satisfies Record<Counter, ReportLimit['unit']>;

interface Slot {
  readonly limit: Limit;
  actual: number;
  readonly contributors: ReportLimit['contributors'][number][];
}

/**
 * Judges every row by exactly one limit, then the counters and the age of the evidence. Lists the configured limits, and
 * the defaults that judged anything.
 */
export function judge(
  counts: GateCounts,
  limits: Limits,
  maxAgeMs: number,
): { pass: boolean; limits: ReportLimit[] } {
  const slots = new Map<string, Slot>();
  for (const limit of listConfigured(limits)) slotFor(slots, limit);
  for (const row of counts.rows) {
    const key = row.reason === null ? row.status : `${row.status}/${row.reason}`;
    addTo(slotFor(slots, limitOf(limits, row)), { model: row.model, key, unit: row.unit, count: row.count });
  }
  for (const counter of COUNTERS) {
    for (const [model, count] of counts.counters[counter]) {
      if (count === 0) continue;
      const slot = slotFor(slots, limitOfCounter(limits, model, counter));
      addTo(slot, { model, key: counter, unit: null, count });
    }
  }
  const sorted = [...slots.values()].sort((a, b) => rankOf(a.limit) - rankOf(b.limit));
  const judged = sorted.map((slot) => conclude(slot, counts.v3Rows));
  judged.push(judgeAge(counts.ageMs, maxAgeMs));
  return { pass: judged.every(({ pass }) => pass), limits: judged };
}

const DEFAULTS: readonly string[] = [
  'unmatched',
  'ambiguous',
  'v4_only/unexplained',
  ...COUNTERS,
  'unmatched/decided_none',
  'v4_only/decided_none',
  'v4_only',
  'deleted',
  'matched',
];

function rankOf({ name, configured }: Limit): number {
  return configured ? -1 : DEFAULTS.indexOf(name);
}

function slotFor(slots: Map<string, Slot>, limit: Limit): Slot {
  const key = JSON.stringify([limit.name, limit.model]);
  const slot = slots.get(key) ?? { limit, actual: 0, contributors: [] };
  slots.set(key, slot);
  return slot;
}

function addTo(slot: Slot, contributor: ReportLimit['contributors'][number]): void {
  slot.actual += contributor.count;
  slot.contributors.push(contributor);
}

function conclude({ limit, actual, contributors }: Slot, v3Rows: CountByModel): ReportLimit {
  const { name, model, value, configured } = limit;
  const base =
    model === null ? [...v3Rows.values()].reduce((sum, count) => sum + count, 0) : (v3Rows.get(model) ?? 0);
  const pass = isWithin(value, actual, base);
  const counter = COUNTERS.find((candidate) => candidate === name);
  return {
    name,
    model,
    allowed: value === null ? null : value.kind === 'percent' ? value.text : value.count,
    actual,
    base,
    unit: counter === undefined ? unitOfRows(contributors) : COUNTER_UNITS[counter],
    configured,
    pass,
    detail: null,
    contributors: pass ? [] : contributors,
  };
}

/** The ids that all of the rows have; `ids` if some have a V3 id and others do not. */
function unitOfRows(rows: ReportLimit['contributors']): ReportLimit['unit'] {
  const isV3 = ({ unit }: (typeof rows)[number]) => unit === 'v3_record' || unit === 'v3_line_item';
  if (rows.length === 0) return 'ids';
  if (rows.every(isV3)) return 'v3_ids';
  return rows.some(isV3) ? 'ids' : 'v4_ids';
}

/** Judges the age of the evidence. Hours are rounded so that `actual` and `allowed` never contradict the verdict. */
function judgeAge(ageMs: number | null, maxAgeMs: number): ReportLimit {
  const isFromFuture = ageMs !== null && ageMs < -CLOCK_TOLERANCE_MS;
  const pass = ageMs !== null && !isFromFuture && ageMs <= maxAgeMs;
  const hours = ageMs === null ? null : Math.max(0, ageMs / HOUR_MS);
  const detail =
    ageMs === null
      ? 'No list says when it was read.'
      : isFromFuture
        ? 'The evidence is dated in the future: check the clock.'
        : null;
  return {
    name: 'maxAge',
    model: null,
    allowed: maxAgeMs / HOUR_MS,
    actual: hours === null ? null : pass ? Math.floor(hours) : Math.ceil(hours),
    base: null,
    unit: 'hours',
    configured: maxAgeMs !== DEFAULT_MAX_AGE_MS,
    pass,
    detail,
    contributors: [],
  };
}

import type { Config } from '../config/config.js';
import type { LimitValue } from '../config/settings.js';
import { DEFAULT_MAX_AGE_MS, type Outcome, type ReportLimit, type RowUnit } from '../domain.js';
import { bareReason, type Status } from '../reasons.js';
import type { StreamGroup } from '../store/scoped-streams.js';
import type { Report } from './report-schema.js';

/** Rows of the remap that share model, status, reason and unit. */
export interface RowCount {
  readonly model: string;
  readonly status: Status;
  readonly reason: string | null;
  readonly unit: RowUnit;
  readonly count: number;
}

/** A text for the model, status and reason of rows, to group them by. */
export function kindOf({ model, status, reason }: Pick<RowCount, 'model' | 'status' | 'reason'>): string {
  return JSON.stringify([model, status, reason]);
}

export type CountByModel = ReadonlyMap<string, number>;

/** Everything that the gate judges, within one scope. */
export interface GateCounts {
  readonly rows: readonly RowCount[];
  /** Rows with a V3 id: the base of percentages. */
  readonly v3Rows: CountByModel;
  readonly rejected: CountByModel;
  readonly shortStreams: CountByModel;
  readonly uniqueIdConflicts: CountByModel;
  /** Null: not measured, so no limit on it can pass. */
  readonly drift: CountByModel | null;
  /** Decisions that the data do not support. */
  readonly staleDecisions: CountByModel;
  /** Age of the oldest stream, ms; null if there is none or its time is unreadable. */
  readonly ageMs: number | null;
}

/** Evidence dated further in the future than this fails the gate, ms; less may be a difference between clocks. */
const CLOCK_TOLERANCE_MS = 300_000;
const HOUR_MS = 3_600_000;

/** One limit, and what it has judged so far. */
interface Slot extends Pick<ReportLimit, 'name' | 'model' | 'unit' | 'configured' | 'contributors'> {
  readonly value: LimitValue | null;
  actual: number;
  measured: boolean;
}

type Slots = Map<string, Slot>;

const ZERO: LimitValue = { kind: 'count', count: 0 };

const DEFAULTS: readonly (readonly [string, LimitValue | null])[] = [
  ['unmatched', ZERO],
  ['ambiguous', ZERO],
  ['v4_only/unexplained', ZERO],
  ['rejected', ZERO],
  ['short', ZERO],
  ['decision_stale', ZERO],
  ['unmatched/decided_none', null],
  ['v4_only', null],
  ['deleted', null],
  ['matched', null],
];

const UNITS: Readonly<Record<string, ReportLimit['unit']>> = {
  unique_id_conflict: 'pairs',
  drift: 'pairs',
  rejected: 'objects',
  short: 'streams',
  decision_stale: 'decisions',
};

/**
 * Judges every row by exactly one limit: the most specific configured one (model and reason, model and status, reason,
 * status), otherwise the default. `parent_` reasons count under the reason itself.
 */
export function judge(counts: GateCounts, limits: Config['limits'], maxAgeMs: number): Report['gate'] {
  const slots = newSlots(limits);
  for (const row of counts.rows) judgeRow(slots, row);
  judgeCounter(slots, 'rejected', counts.rejected);
  judgeCounter(slots, 'short', counts.shortStreams);
  judgeCounter(slots, 'unique_id_conflict', counts.uniqueIdConflicts);
  judgeCounter(slots, 'drift', counts.drift);
  judgeCounter(slots, 'decision_stale', counts.staleDecisions);
  const listed = [...slots.values()].filter((slot) => slot.configured || slot.actual > 0);
  const judged = listed.map((slot) => conclude(slot, counts.v3Rows));
  judged.push(judgeAge(counts.ageMs, maxAgeMs));
  return { pass: judged.every((limit) => limit.pass), limits: judged };
}

/** `incomplete` outranks `not_ready`, which outranks the gate. */
export function decideOutcome(
  blockers: readonly { readonly outcome: 'incomplete' | 'not_ready' }[],
  pass: boolean,
): Outcome {
  if (blockers.some((blocker) => blocker.outcome === 'incomplete')) return 'incomplete';
  if (blockers.length > 0) return 'not_ready';
  return pass ? 'pass' : 'fail';
}

export const EXIT_BY_OUTCOME = { pass: 0, fail: 1, incomplete: 4, not_ready: 5 } as const satisfies Record<
  Outcome,
  number
>;

/** The configured limits, then the defaults for what they do not cover. */
function newSlots(limits: Config['limits']): Slots {
  const slots: Slots = new Map();
  const add = (name: string, model: string | null, value: LimitValue | null, configured: boolean): void => {
    const unit = UNITS[name] ?? 'ids';
    const found = { actual: 0, measured: true, contributors: [] };
    slots.set(slotKey(name, model), { name, model, value, configured, unit, ...found });
  };
  for (const [name, value] of Object.entries(limits.global)) add(name, null, value, true);
  for (const [model, own] of Object.entries(limits.models)) {
    for (const [name, value] of Object.entries(own)) add(name, model, value, true);
  }
  for (const [name, value] of DEFAULTS) {
    if (!slots.has(slotKey(name, null))) add(name, null, value, false);
  }
  return slots;
}

function slotKey(name: string, model: string | null): string {
  return JSON.stringify([name, model]);
}

function judgeRow(slots: Slots, row: RowCount): void {
  const slot = slotOfRow(slots, row);
  if (slot === undefined) return;
  slot.actual += row.count;
  const key = row.reason === null ? row.status : `${row.status}/${row.reason}`;
  slot.contributors.push({ model: row.model, key, unit: row.unit, count: row.count });
}

function slotOfRow(slots: Slots, row: RowCount): Slot | undefined {
  const reason = row.reason === null ? null : bareReason(row.reason);
  for (const model of [row.model, null]) {
    for (const name of [reason, row.status]) {
      const slot = name === null ? undefined : slots.get(slotKey(name, model));
      if (slot?.configured) return slot;
    }
  }
  return slots.get(slotKey(`${row.status}/${reason}`, null)) ?? slots.get(slotKey(row.status, null));
}

function judgeCounter(slots: Slots, name: string, counts: CountByModel | null): void {
  if (counts === null) {
    for (const slot of slots.values()) if (slot.name === name) slot.measured = false;
    return;
  }
  for (const [model, count] of counts) {
    const slot = slots.get(slotKey(name, model)) ?? slots.get(slotKey(name, null));
    if (slot === undefined || count === 0) continue;
    slot.actual += count;
    slot.contributors.push({ model, key: name, unit: null, count });
  }
}

function conclude(slot: Slot, v3Rows: CountByModel): ReportLimit {
  const all = () => [...v3Rows.values()].reduce((sum, count) => sum + count, 0);
  const base = slot.model === null ? all() : (v3Rows.get(slot.model) ?? 0);
  const pass = slot.measured && isWithin(slot.value, slot.actual, base);
  return {
    name: slot.name,
    model: slot.model,
    allowed: slot.value?.kind === 'percent' ? slot.value.text : (slot.value?.count ?? null),
    actual: slot.measured ? slot.actual : null,
    base,
    unit: slot.unit === 'ids' ? unitOfRows(slot.contributors) : slot.unit,
    configured: slot.configured,
    pass,
    detail: slot.measured ? null : 'it was not measured',
    contributors: pass ? [] : slot.contributors,
  };
}

/** The ids that all of the rows have; `ids` if some have a V3 id and others do not. */
function unitOfRows(rows: Slot['contributors']): ReportLimit['unit'] {
  const isV3 = ({ unit }: (typeof rows)[number]) => unit === 'v3_record' || unit === 'v3_line_item';
  if (rows.length === 0) return 'ids';
  if (rows.every(isV3)) return 'v3_ids';
  return rows.some(isV3) ? 'ids' : 'v4_ids';
}

function isWithin(value: LimitValue | null, actual: number, base: number): boolean {
  if (value === null) return true;
  if (value.kind === 'count') return actual <= value.count;
  const { digits, scale } = decimalOf(value.percent);
  return BigInt(actual) * 100n * scale <= digits * BigInt(base);
}

/** A percentage as an exact decimal, so that 0.29 % of 10,000 is 29 and not 28.999…. */
function decimalOf(percent: number): { digits: bigint; scale: bigint } {
  const plain = String(percent).includes('e') ? percent.toFixed(20) : String(percent);
  const [whole = '0', fraction = ''] = plain.split('.');
  return { digits: BigInt(whole + fraction), scale: 10n ** BigInt(fraction.length) };
}

/** Judges the age of the evidence. Hours are rounded so that `actual` and `allowed` never contradict the verdict. */
export function judgeAge(ageMs: number | null, maxAgeMs: number): ReportLimit {
  const fromFuture = ageMs !== null && ageMs < -CLOCK_TOLERANCE_MS;
  const pass = ageMs !== null && !fromFuture && ageMs <= maxAgeMs;
  const hours = ageMs === null ? null : Math.max(0, ageMs / HOUR_MS);
  return {
    name: 'maxAge',
    model: null,
    allowed: maxAgeMs / HOUR_MS,
    actual: hours === null ? null : pass ? Math.floor(hours) : Math.ceil(hours),
    base: null,
    unit: 'hours',
    configured: maxAgeMs !== DEFAULT_MAX_AGE_MS,
    pass,
    detail:
      ageMs === null
        ? 'no stream says when it was read'
        : fromFuture
          ? 'the evidence is dated in the future; check the clock'
          : null,
    contributors: [],
  };
}

/** When lists were read: the start of the last complete reading of each. */
export interface EvidenceAge {
  readonly oldest: string | null;
  readonly newest: string | null;
  /** Age of the oldest, ms; null if there is none. */
  readonly ms: number | null;
}

/** The age of the evidence at `nowMs`, ms since 1970. */
export function readAge(groups: readonly StreamGroup[], nowMs: number): EvidenceAge {
  const sorted = (name: 'oldestReadAt' | 'newestReadAt') =>
    groups.map((group) => group[name]).sort((a, b) => Date.parse(a) - Date.parse(b));
  const oldest = sorted('oldestReadAt')[0] ?? null;
  const ms = oldest === null ? null : nowMs - Date.parse(oldest);
  return { oldest, newest: sorted('newestReadAt').at(-1) ?? null, ms };
}

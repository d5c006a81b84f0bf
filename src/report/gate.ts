import * as z from 'zod';
import type { Config } from '../config/config.js';
import { DEFAULT_MAX_AGE_MS } from '../domain.js';
import {
  COUNTERS,
  type Counter,
  decideOutcome,
  isWithin,
  type Limit,
  type Limits,
  limitOf,
  limitOfCounter,
  listConfigured,
  type Outcome,
} from '../limits.js';
import { outcomeKey, rankOfKey } from '../reasons.js';
import { type Blocker, findIncomplete, findNotReady } from '../store/readiness.js';
import type { Scope } from '../store/remap.js';
import {
  count,
  countDecisions,
  type DecisionCount,
  type ExportedCount,
  type ListGroup,
  type ReadingTimes,
  type RowTally,
  readExported,
  readListGroups,
  readOutcomes,
  readReadingTimes,
} from '../store/report-rows.js';
import type { Db } from '../store/sqlite.js';
import { compare, groupBy, sumBy, sumOf } from '../text/rows.js';

/** `ids`: of V3 and V4, or of neither. */
const UNITS = ['ids', 'v3_ids', 'v4_ids', 'pairs', 'objects', 'streams', 'decisions', 'hours'] as const;

const ofKind = z.strictObject({ records: count, lineItems: count });
export const idCounts = {
  v3: ofKind.describe('Rows with a V3 id.'),
  v4: ofKind.describe('Rows without one.'),
};

export interface IdCounts {
  readonly v3: z.infer<typeof ofKind>;
  readonly v4: z.infer<typeof ofKind>;
}

const refusal = z.strictObject({
  key: z.string().describe('`status/reason`, or the name of the limit.'),
  count,
  models: z.array(z.string()).describe('Most first.'),
  ...idCounts,
});
type Refusal = z.infer<typeof refusal>;

/** A limit of the report. */
export const judgedLimit = z.strictObject({
  name: z.string().describe('As configured; defaults are named `status` or `status/reason`.'),
  model: z.string().nullable().describe('null: all models.'),
  allowed: z
    .union([z.number().nonnegative(), z.string().regex(/%$/), z.null()])
    .describe('A number, a percentage such as "2%" of base, or null for unlimited.'),
  actual: z.number().nullable().describe('What this limit judged; null where it was not measured.'),
  base: count.nullable().describe('Rows with a V3 id in the same scope.'),
  unit: z.enum(UNITS),
  configured: z.boolean().describe('false: a default.'),
  pass: z.boolean(),
  detail: z.string().nullable(),
  refused: z
    .array(refusal)
    .describe('Where the limit fails: what it judged. Line items count under the reason of their record.'),
});
export type JudgedLimit = z.infer<typeof judgedLimit>;

export interface Gate {
  pass: boolean;
  limits: JudgedLimit[];
}

/** The verdict, and the counts that it was made from. */
export interface JudgedRemap {
  readonly outcome: Outcome;
  readonly blockers: Blocker[];
  readonly gate: Gate;
  readonly outcomes: readonly RowTally[];
  readonly exported: readonly ExportedCount[];
  readonly lists: readonly ListGroup[];
  readonly decisions: readonly DecisionCount[];
  readonly times: ReadingTimes;
  /** Age of the oldest list, ms; null if a list that was read to its end does not say when. */
  readonly ageMs: number | null;
}

/** Judges the remap by the limits of the models in the scope. Call it inside a transaction. */
export function judgeDatabase(db: Db, config: Config, given: Scope, nowMs: number): JudgedRemap {
  const scope = allModels(config, given);
  const read = {
    outcomes: readOutcomes(db, scope),
    exported: readExported(db, scope),
    lists: readListGroups(db, scope),
    decisions: countDecisions(db, scope),
    times: readReadingTimes(db, scope),
  };
  const ageMs = ageOf(read.times, nowMs);
  const gate = judge(countForGate(read, ageMs), limitsInScope(config, scope), config.maxAgeMs);
  const incomplete = findIncomplete(db, config);
  const blockers = incomplete.length > 0 ? incomplete : findNotReady(db, config, scope);
  return { ...read, ageMs, gate, blockers, outcome: decideOutcome(blockers, gate.pass) };
}

/** All configured models, unless models were named. */
export function allModels(config: Config, { models = [], companies = [] }: Scope): Required<Scope> {
  return { models: models.length > 0 ? models : config.models.map(({ v3 }) => v3), companies };
}

function limitsInScope({ limits }: Config, { models }: Required<Scope>): Limits {
  const inScope = Object.entries(limits.models).filter(([model]) => models.includes(model));
  return { global: limits.global, models: Object.fromEntries(inScope) };
}

/** Rows with a V3 id, and rows without one. */
export function countIds(outcomes: readonly CountedRow[]): IdCounts {
  const sum = (isChild: 0 | 1, numberOf: (row: CountedRow) => number) =>
    sumOf(outcomes, (row) => (row.isChild === isChild ? numberOf(row) : 0));
  const ofV3 = ({ v3Rows }: CountedRow) => v3Rows;
  const ofV4 = ({ rows, v3Rows }: CountedRow) => rows - v3Rows;
  return {
    v3: { records: sum(0, ofV3), lineItems: sum(1, ofV3) },
    v4: { records: sum(0, ofV4), lineItems: sum(1, ofV4) },
  };
}

function ageOf({ oldest, undated }: ReadingTimes, nowMs: number): number | null {
  const ms = oldest === null || undated > 0 ? Number.NaN : nowMs - Date.parse(oldest);
  return Number.isNaN(ms) ? null : ms;
}

/** Rows of the remap that share model, status and reason. */
export type CountedRow = Omit<RowTally, 'conflicts' | 'merged'>;

type CountByModel = ReadonlyMap<string, number>;

/** Everything that the gate judges, within one scope. */
export interface GateCounts {
  readonly rows: readonly CountedRow[];
  /** Rows with a V3 id: the base of percentages. */
  readonly v3Rows: CountByModel;
  readonly counters: Readonly<Record<Counter, CountByModel>>;
  readonly ageMs: number | null;
}

type Counted = Pick<JudgedRemap, 'outcomes' | 'exported' | 'lists' | 'decisions'>;

function countForGate({ outcomes, exported, lists, decisions }: Counted, ageMs: number | null): GateCounts {
  const short = lists.filter(({ state }) => state === 'short');
  const stale = decisions.filter(({ outcome }) => outcome === 'stale');
  const counters = {
    rejected: sumBy(exported, modelOf, (row) => row.rejected),
    short: sumBy(short, modelOf, (row) => row.lists),
    unique_id_conflict: sumBy(outcomes, modelOf, (row) => row.conflicts),
    merged: sumBy(outcomes, modelOf, (row) => row.merged),
    decision_stale: sumBy(stale, modelOf, (row) => row.decisions),
  };
  return { rows: outcomes, counters, ageMs, v3Rows: sumBy(outcomes, modelOf, (row) => row.v3Rows) };
}

const modelOf = ({ model }: { readonly model: string }) => model;

/** Evidence dated further in the future than this fails the gate, ms; less may be a difference between clocks. */
const CLOCK_TOLERANCE_MS = 300_000;
const HOUR_MS = 3_600_000;

const COUNTER_UNITS = {
  rejected: 'objects',
  short: 'streams',
  unique_id_conflict: 'pairs',
  merged: 'v3_ids',
  decision_stale: 'decisions',
} as const satisfies Record<Counter, JudgedLimit['unit']>;

interface Slot {
  readonly limit: Limit;
  readonly rows: LimitedRow[];
}

/** What a limit judges: rows of the remap, or a count. */
interface LimitedRow extends IdCounts {
  readonly model: string;
  readonly key: string;
  readonly count: number;
}

/**
 * Judges every row by exactly one limit, then the counters and the age of the evidence. Lists the configured limits, and
 * the defaults that judged anything.
 */
export function judge(counts: GateCounts, limits: Limits, maxAgeMs: number): Gate {
  const slots = new Map<string, Slot>();
  const slotOf = (limit: Limit): Slot => {
    const key = JSON.stringify([limit.name, limit.model]);
    const slot = slots.get(key) ?? { limit, rows: [] };
    slots.set(key, slot);
    return slot;
  };
  for (const limit of listConfigured(limits)) slotOf(limit);
  for (const row of counts.rows) {
    const key = outcomeKey(row.status, row.reason);
    slotOf(limitOf(limits, row)).rows.push({ model: row.model, key, count: row.rows, ...countIds([row]) });
  }
  for (const key of COUNTERS) {
    for (const [model, number] of counts.counters[key]) {
      const counted = { model, key, count: number, ...countIds([]) };
      if (number > 0) slotOf(limitOfCounter(limits, model, key)).rows.push(counted);
    }
  }
  const sorted = [...slots.values()].sort((a, b) => rankOf(a.limit) - rankOf(b.limit));
  const judged = [...sorted.map((slot) => conclude(slot, counts.v3Rows)), judgeAge(counts.ageMs, maxAgeMs)];
  return { pass: judged.every(({ pass }) => pass), limits: judged };
}

/** Configured limits first, then by status and reason, then counters. */
function rankOf({ name, configured }: Limit): number {
  if (configured) return -1;
  return COUNTERS.some((counter) => counter === name) ? Number.MAX_SAFE_INTEGER : rankOfKey(name);
}

function conclude({ limit, rows }: Slot, v3Rows: CountByModel): JudgedLimit {
  const { name, model, value, configured } = limit;
  const actual = sumOf(rows, (row) => row.count);
  const base = model === null ? sumOf(v3Rows.values(), (rows) => rows) : (v3Rows.get(model) ?? 0);
  const pass = isWithin(value, actual, base);
  const counter = COUNTERS.find((candidate) => candidate === name);
  return {
    name,
    model,
    allowed: value,
    actual,
    base,
    unit: counter === undefined ? unitOfRows(rows) : COUNTER_UNITS[counter],
    configured,
    pass,
    detail: null,
    refused: pass ? [] : [...groupBy(rows, ({ key }) => key)].map(([key, ofKey]) => refusalOf(key, ofKey)),
  };
}

function refusalOf(key: string, rows: readonly LimitedRow[]): Refusal {
  const counts = sumBy(rows, modelOf, ({ count: number }) => number);
  const models = [...counts].sort(([a, ofA], [b, ofB]) => ofB - ofA || compare(a, b));
  return {
    key,
    count: sumOf(counts.values(), (number) => number),
    models: models.map(([model]) => model),
    ...addIds(rows),
  };
}

export function addIds(rows: readonly IdCounts[]): IdCounts {
  const sum = (side: keyof IdCounts) => ({
    records: sumOf(rows, (row) => row[side].records),
    lineItems: sumOf(rows, (row) => row[side].lineItems),
  });
  return { v3: sum('v3'), v4: sum('v4') };
}

/** The ids that all of the rows have; `ids` if some have a V3 id and others do not. */
function unitOfRows(rows: readonly IdCounts[]): JudgedLimit['unit'] {
  const hasV3 = rows.some(({ v3 }) => v3.records + v3.lineItems > 0);
  const hasV4 = rows.some(({ v4 }) => v4.records + v4.lineItems > 0);
  return hasV3 === hasV4 ? 'ids' : hasV3 ? 'v3_ids' : 'v4_ids';
}

/** Judges the age of the evidence. Hours are rounded so that `actual` and `allowed` never contradict the verdict. */
function judgeAge(ageMs: number | null, maxAgeMs: number): JudgedLimit {
  const isFromFuture = ageMs !== null && ageMs < -CLOCK_TOLERANCE_MS;
  const pass = ageMs !== null && !isFromFuture && ageMs <= maxAgeMs;
  const hours = ageMs === null ? null : Math.max(0, ageMs / HOUR_MS);
  const undated = ageMs === null ? 'No list says when it was read.' : null;
  return {
    name: 'maxAge',
    model: null,
    allowed: maxAgeMs / HOUR_MS,
    actual: hours === null ? null : pass ? Math.floor(hours) : Math.ceil(hours),
    base: null,
    unit: 'hours',
    configured: maxAgeMs !== DEFAULT_MAX_AGE_MS,
    pass,
    detail: isFromFuture ? 'The evidence is dated in the future: check the clock.' : undated,
    refused: pass ? [] : [refusalOf('maxAge', [])],
  };
}

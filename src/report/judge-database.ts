import type { Config } from '../config/config.js';
import type { Blocker, Outcome, ReportLimit } from '../domain.js';
import { decideOutcome } from '../limits.js';
import { findIncomplete, findNotReady } from '../store/readiness.js';
import type { Scope } from '../store/remap.js';
import {
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
import { sumBy } from '../text/rows.js';
import { type GateCounts, judge, type RowCount } from './gate.js';

/** The verdict, and the counts that it was made from. */
export interface JudgedRemap {
  readonly outcome: Outcome;
  readonly blockers: Blocker[];
  readonly gate: { pass: boolean; limits: ReportLimit[] };
  readonly outcomes: readonly RowTally[];
  readonly rows: readonly RowCount[];
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
  const outcomes = readOutcomes(db, scope);
  const read = {
    outcomes,
    rows: outcomes.flatMap(splitByGeneration),
    exported: readExported(db, scope),
    lists: readListGroups(db, scope),
    decisions: countDecisions(db, scope),
    times: readReadingTimes(db, scope),
  };
  const ageMs = ageOf(read.times, nowMs);
  const gate = judge(countForGate(read, ageMs), limitsInScope(config, given), config.maxAgeMs);
  const incomplete = findIncomplete(db, config, scope);
  const blockers = incomplete.length > 0 ? incomplete : findNotReady(db, config, scope);
  return { ...read, ageMs, gate, blockers, outcome: decideOutcome(blockers, gate.pass) };
}

/** All configured models, unless models were named. */
export function allModels(config: Config, scope: Scope): Scope {
  return { ...scope, models: scope.models ?? config.models.map(({ v3 }) => v3) };
}

function limitsInScope({ limits }: Config, { models }: Scope): Config['limits'] {
  const inScope = Object.entries(limits.models).filter(([model]) => models?.includes(model) ?? true);
  return { global: limits.global, models: Object.fromEntries(inScope) };
}

function splitByGeneration({ model, status, reason, isChild, rows, v3Rows }: RowTally): RowCount[] {
  const [ofV3, ofV4] =
    isChild === 0 ? (['v3_record', 'v4_record'] as const) : (['v3_line_item', 'v4_line_item'] as const);
  return [
    { model, status, reason, unit: ofV3, count: v3Rows },
    { model, status, reason, unit: ofV4, count: rows - v3Rows },
  ].filter(({ count }) => count > 0);
}

type Counted = Pick<JudgedRemap, 'outcomes' | 'rows' | 'exported' | 'lists' | 'decisions'>;

function countForGate(
  { outcomes, rows, exported, lists, decisions }: Counted,
  ageMs: number | null,
): GateCounts {
  const short = lists.filter(({ state }) => state === 'short');
  const stale = decisions.filter(({ outcome }) => outcome === 'stale');
  const counters = {
    rejected: sumBy(exported, modelOf, (row) => row.rejected),
    short: sumBy(short, modelOf, (row) => row.lists),
    unique_id_conflict: sumBy(outcomes, modelOf, (row) => row.conflicts),
    merged: sumBy(outcomes, modelOf, (row) => row.merged),
    decision_stale: sumBy(stale, modelOf, (row) => row.decisions),
  };
  return { rows, counters, ageMs, v3Rows: sumBy(outcomes, modelOf, (row) => row.v3Rows) };
}

const modelOf = ({ model }: { readonly model: string }) => model;

function ageOf({ oldest, undated }: ReadingTimes, nowMs: number): number | null {
  const ms = oldest === null || undated > 0 ? Number.NaN : nowMs - Date.parse(oldest);
  return Number.isNaN(ms) ? null : ms;
}

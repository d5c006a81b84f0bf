import type { ReportLimit } from '../domain.js';
import { outcomeKey, rankOfKey, type Status } from '../reasons.js';
import type { ExportedCount, RowTally } from '../store/report-rows.js';
import { compare, groupBy, sumBy, sumOf } from '../text/rows.js';
import type { RowCount } from './gate.js';
import { titleOfKey } from './next-steps.js';
import type { Counts, ReasonCounts } from './report-schema.js';

/** Adds up the rows of the remap and the exported objects of a scope. */
export function addUp(outcomes: readonly RowTally[], exported: readonly ExportedCount[]): Counts {
  const records = outcomes.filter(({ isChild }) => isChild === 0);
  const children = outcomes.filter(({ isChild }) => isChild === 1);
  const v3 = exported.filter(({ generation }) => generation === 'v3');
  const v4 = exported.filter(({ generation }) => generation === 'v4');
  return {
    v3Records: sumOf(v3, (row) => row.records),
    v3Children: sumOf(v3, (row) => row.children),
    v4Records: sumOf(v4, (row) => row.records),
    v4Children: sumOf(v4, (row) => row.children),
    rejected: sumOf(exported, (row) => row.rejected),
    uniqueIdConflicts: sumOf(outcomes, (row) => row.conflicts),
    merged: sumOf(outcomes, (row) => row.merged),
    byStatus: {
      ...countStatuses(outcomes, (row) => row.rows),
      v4_only: countStatus(outcomes, 'v4_only', (row) => row.rows),
    },
    v3ByStatus: countStatuses(outcomes, (row) => row.v3Rows),
    v3RecordsByStatus: countStatuses(records, (row) => row.v3Rows),
    v3ChildrenByStatus: countStatuses(children, (row) => row.v3Rows),
    byReason: countByReason(outcomes),
    recordsByReason: countByReason(records),
    childrenByReason: countByReason(children),
  };
}

type NumberOf = (row: RowTally) => number;

function countStatus(outcomes: readonly RowTally[], status: Status, numberOf: NumberOf): number {
  return sumOf(
    outcomes.filter((row) => row.status === status),
    numberOf,
  );
}

function countStatuses(outcomes: readonly RowTally[], numberOf: NumberOf): Counts['v3ByStatus'] {
  return {
    matched: countStatus(outcomes, 'matched', numberOf),
    unmatched: countStatus(outcomes, 'unmatched', numberOf),
    deleted: countStatus(outcomes, 'deleted', numberOf),
    ambiguous: countStatus(outcomes, 'ambiguous', numberOf),
  };
}

function countByReason(outcomes: readonly RowTally[]): Record<string, number> {
  const findings = outcomes.filter(({ reason }) => reason !== null);
  const sums = sumBy(
    findings,
    ({ status, reason }) => `${status}/${reason}`,
    ({ rows }) => rows,
  );
  return Object.fromEntries([...sums].sort(([a], [b]) => compareKeys(a, b)));
}

/** In the order of statuses and reasons, each reason before its `parent_` form. */
function compareKeys(a: string, b: string): number {
  return rankOfKey(a) - rankOfKey(b) || a.length - b.length;
}

/** The findings among rows by the reasons of their records. */
export function countReasons(rows: readonly RowCount[]): ReasonCounts[] {
  const findings = rows.filter(({ reason }) => reason !== null);
  const groups = groupBy(findings, ({ status, reason }) => outcomeKey(status, reason));
  return [...groups]
    .sort(([a], [b]) => compareKeys(a, b))
    .map(([key, ofKey]) => ({ key, title: titleOfKey(key), ...countSides(ofKey) }));
}

/** Rows with a V3 id, and rows without one. */
function countSides(
  rows: readonly { readonly unit: RowCount['unit'] | null; readonly count: number }[],
): Pick<ReasonCounts, 'v3' | 'v4'> {
  const countOf = (unit: RowCount['unit']) =>
    sumOf(
      rows.filter((row) => row.unit === unit),
      ({ count }) => count,
    );
  return {
    v3: { records: countOf('v3_record'), lineItems: countOf('v3_line_item') },
    v4: { records: countOf('v4_record'), lineItems: countOf('v4_line_item') },
  };
}

export function sumStatuses(counts: Readonly<Partial<Record<Status, number>>>): number {
  return sumOf(Object.values(counts), (count) => count);
}

/** What one failed limit refuses: findings of one reason, or a counter. */
export interface RefusedFindings extends Pick<ReasonCounts, 'v3' | 'v4'> {
  /** `status/reason`, or the name of a counter. */
  readonly key: string;
  readonly limit: ReportLimit;
  /** Everything of this key that the limit judged. */
  readonly count: number;
  /** By model, highest count first. */
  readonly models: readonly { readonly model: string; readonly count: number }[];
}

/** What the failed limits refuse, largest first. Line items of a record without a twin count under its reason. */
export function listObstacles(limits: readonly ReportLimit[]): RefusedFindings[] {
  return limits
    .filter(({ pass }) => !pass)
    .flatMap((limit) => {
      const byKey = groupBy(limit.contributors, ({ key }) => bareKey(key));
      if (byKey.size === 0) byKey.set(limit.name, []);
      return [...byKey].map(([key, rows]) => refusedBy(limit, key, rows));
    })
    .sort((a, b) => b.count - a.count || compare(a.key, b.key));
}

function bareKey(key: string): string {
  const [status = '', reason = null] = key.split('/');
  return outcomeKey(status, reason);
}

function refusedBy(limit: ReportLimit, key: string, rows: ReportLimit['contributors']): RefusedFindings {
  const byModel = sumBy(
    rows,
    ({ model }) => model,
    ({ count }) => count,
  );
  const models = [...byModel].map(([model, count]) => ({ model, count }));
  models.sort((a, b) => b.count - a.count || compare(a.model, b.model));
  return { key, limit, ...countSides(rows), count: sumOf(models, ({ count }) => count), models };
}

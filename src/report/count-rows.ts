import type { CompanyMatch } from '../domain.js';
import { bareReason, outcomeKey, rankOfKey, type Status } from '../reasons.js';
import type { CompanyRow, ExportedCount, GroupCount } from '../store/report-rows.js';
import { groupBy } from '../text/rows.js';
import type { RowCount } from './gate.js';
import { titleOfKey } from './next-steps.js';
import type { Counts, ReasonCounts } from './report-schema.js';

interface CountedCompany {
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly matchedBy: CompanyMatch | null;
  readonly counts: Counts;
}

export interface CountedRows {
  readonly totals: Counts;
  readonly models: ReadonlyMap<string, Counts>;
  /** V3 companies in the order of the remap's companies, then those that are only in V4. */
  readonly companies: readonly CountedCompany[];
  readonly rows: readonly RowCount[];
  readonly v3Rows: ReadonlyMap<string, number>;
  /** Deleted records in the lists. */
  readonly deleted: { readonly v3: number; readonly v4: number };
}

interface Counted {
  readonly models: readonly string[];
  readonly companies: readonly CompanyRow[];
  readonly exported: readonly ExportedCount[];
  readonly groups: Iterable<GroupCount>;
}

/** Adds up the remap, the export and the rejected objects, by model and by company. */
export function countRows({ models, companies, exported, groups }: Counted): CountedRows {
  const totals = newCounts();
  const byModel = new Map(models.map((model) => [model, newCounts()]));
  const byCompany = indexCompanies(companies);
  const deleted = { v3: 0, v4: 0 };
  const rows = new Map<string, RowCount & { count: number }>();
  const v3Rows = new Map<string, number>();
  const countsOf = (model: string, region: string | null, v3: bigint | null, v4: bigint | null): Counts[] => {
    const ofModel = byModel.get(model) ?? newCounts();
    byModel.set(model, ofModel);
    const company = v3 === null && v4 === null ? [] : [companyOf(byCompany, region, v3, v4).counts];
    return [totals, ofModel, ...company];
  };
  for (const row of exported) {
    const { generation, model, region, companyId } = row;
    const isV3 = generation === 'v3';
    deleted[generation] += Number(row.deleted);
    const all = isV3 ? countsOf(model, region, companyId, null) : countsOf(model, null, null, companyId);
    for (const counts of all) addExported(counts, row);
  }
  for (const group of groups) {
    for (const counts of countsOf(group.model, group.region, group.v3CompanyId, group.v4CompanyId)) {
      addGroup(counts, group);
    }
    addRows(rows, group);
    v3Rows.set(group.model, (v3Rows.get(group.model) ?? 0) + Number(group.v3Rows));
  }
  const listed = [...new Set(byCompany.values())];
  for (const counts of [totals, ...byModel.values(), ...listed.map((company) => company.counts)]) {
    sortReasons(counts);
  }
  return { totals, models: byModel, companies: listed, rows: [...rows.values()], v3Rows, deleted };
}

function newCounts(): Counts {
  return {
    v3Records: 0,
    v3Children: 0,
    v4Records: 0,
    v4Children: 0,
    rejected: 0,
    uniqueIdConflicts: 0,
    merged: 0,
    byStatus: { matched: 0, unmatched: 0, deleted: 0, ambiguous: 0, v4_only: 0 },
    v3ByStatus: { matched: 0, unmatched: 0, deleted: 0, ambiguous: 0 },
    v3RecordsByStatus: { matched: 0, unmatched: 0, deleted: 0, ambiguous: 0 },
    v3ChildrenByStatus: { matched: 0, unmatched: 0, deleted: 0, ambiguous: 0 },
    byReason: {},
    recordsByReason: {},
    childrenByReason: {},
  };
}

/** By region and V3 id, and by V4 id; a pair by both. */
function indexCompanies(rows: readonly CompanyRow[]): Map<string, CountedCompany> {
  const companies = new Map<string, CountedCompany>();
  for (const { region, v3CompanyId, v4CompanyId, matchedBy } of rows) {
    const company = { region, v3CompanyId, v4CompanyId, matchedBy, counts: newCounts() };
    if (v3CompanyId !== null) companies.set(v3Key(region, v3CompanyId), company);
    if (v4CompanyId !== null) companies.set(v4Key(v4CompanyId), company);
  }
  return companies;
}

function v3Key(region: string | null, id: bigint): string {
  return `v3 ${id} ${region}`;
}

function v4Key(id: bigint): string {
  return `v4 ${id}`;
}

function companyOf(
  companies: Map<string, CountedCompany>,
  region: string | null,
  v3CompanyId: bigint | null,
  v4CompanyId: bigint | null,
): CountedCompany {
  const key = v3CompanyId === null ? `v4 ${v4CompanyId}` : v3Key(region, v3CompanyId);
  const company = companies.get(key) ?? {
    region,
    v3CompanyId,
    v4CompanyId,
    matchedBy: null,
    counts: newCounts(),
  };
  companies.set(key, company);
  return company;
}

function addExported(counts: Counts, { generation, records, children, rejected }: ExportedCount): void {
  counts[`${generation}Records`] += Number(records);
  counts[`${generation}Children`] += Number(children);
  counts.rejected += Number(rejected);
}

function addGroup(counts: Counts, group: GroupCount): void {
  const { status, reason, isChild } = group;
  const rows = Number(group.rows);
  const v3 = Number(group.v3Rows);
  counts.byStatus[status] += rows;
  if (status !== 'v4_only') {
    counts.v3ByStatus[status] += v3;
    counts[isChild === 0n ? 'v3RecordsByStatus' : 'v3ChildrenByStatus'][status] += v3;
  }
  counts.uniqueIdConflicts += Number(group.conflicts);
  counts.merged += Number(group.merged);
  if (reason === null) return;
  const key = `${status}/${reason}`;
  for (const byReason of [
    counts.byReason,
    isChild === 0n ? counts.recordsByReason : counts.childrenByReason,
  ]) {
    const { [key]: before = 0 } = byReason;
    byReason[key] = before + rows;
  }
}

function addRows(rows: Map<string, RowCount & { count: number }>, group: GroupCount): void {
  const { model, status, reason, isChild } = group;
  const v3 = Number(group.v3Rows);
  const [ofV3, ofV4] =
    isChild === 0n ? (['v3_record', 'v4_record'] as const) : (['v3_line_item', 'v4_line_item'] as const);
  for (const { unit, count } of [
    { unit: ofV3, count: v3 },
    { unit: ofV4, count: Number(group.rows) - v3 },
  ]) {
    if (count === 0) continue;
    const key = JSON.stringify([model, status, reason, unit]);
    const row = rows.get(key) ?? { model, status, reason, unit, count: 0 };
    row.count += count;
    rows.set(key, row);
  }
}

function sortReasons(counts: Counts): void {
  const sorted = (reasons: Record<string, number>) =>
    Object.fromEntries(Object.entries(reasons).sort(([a], [b]) => compareKeys(a, b)));
  counts.byReason = sorted(counts.byReason);
  counts.recordsByReason = sorted(counts.recordsByReason);
  counts.childrenByReason = sorted(counts.childrenByReason);
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
    .map(([key, own]) => ({
      key,
      title: titleOfKey(key),
      v3: countIds(own, 'v3_record', 'v3_line_item'),
      v4: countIds(own, 'v4_record', 'v4_line_item'),
    }));
}

function countIds(
  rows: readonly RowCount[],
  record: RowCount['unit'],
  lineItem: RowCount['unit'],
): ReasonCounts['v3'] {
  const sum = (isCounted: (row: RowCount) => boolean) =>
    rows.filter(isCounted).reduce((all, { count }) => all + count, 0);
  const isTheirs = ({ reason }: RowCount) => reason !== null && reason !== bareReason(reason);
  return {
    records: sum(({ unit }) => unit === record),
    theirLineItems: sum((row) => row.unit === lineItem && isTheirs(row)),
    otherLineItems: sum((row) => row.unit === lineItem && !isTheirs(row)),
  };
}

export function sumStatuses(counts: Readonly<Partial<Record<Status, number>>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

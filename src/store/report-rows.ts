import type { CompanyMatch, Decision, Generation, StaleReason, StreamState } from '../domain.js';
import type { Status } from '../reasons.js';
import { type Scope, type ScopeParams, scopeParams } from './remap.js';
import type { Db } from './sqlite.js';

/** Rows of `remap_group g` in the scope. V4-only rows belong to the V3 company that theirs is paired with. */
export const GROUP_SCOPE = `(@models is null or g.model in (select value from json_each(@models)))
  and (@companies is null or g.v3_company_id in (select value from json_each(@companies))
    or (g.v3_company_id is null and g.v4_company_id in (
      select v4_company_id from company where v3_company_id in (select value from json_each(@companies)))))`;

/** Remap rows of a model, company and outcome; records and children are counted apart. */
export interface GroupCount {
  readonly model: string;
  readonly isChild: bigint;
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly status: Status;
  readonly reason: string | null;
  readonly rows: bigint;
  readonly v3Rows: bigint;
  /** Without what a person decided. */
  readonly conflicts: bigint;
  readonly merged: bigint;
}

export function iterateGroupCounts(db: Db, scope: Scope): IterableIterator<GroupCount> {
  return db
    .prepare<[ScopeParams], GroupCount>(
      `select model, path <> '' as isChild, region, v3_company_id as v3CompanyId, v4_company_id as v4CompanyId, status, reason,
         sum(count) as rows, sum(v3_count) as v3Rows,
         sum(iif(unique_id_conflict and matched_by is not 'decision', count, 0)) as conflicts,
         sum(iif(merged and matched_by is not 'decision', v3_count, 0)) as merged
       from remap_group as g
       where ${GROUP_SCOPE}
       group by 1, 2, 3, 4, 5, 6, 7
       order by 1, 2, 3, 4, 5, 6, 7`,
    )
    .iterate(scopeParams(scope));
}

export interface ExportedCount {
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  /** Null: unknown, for rejected objects. */
  readonly companyId: bigint | null;
  readonly records: bigint;
  readonly children: bigint;
  readonly deleted: bigint;
  readonly rejected: bigint;
}

/** Rejected objects of an unknown company belong to every scope. */
export function readExportedCounts(db: Db, scope: Scope): ExportedCount[] {
  return db
    .prepare<[ScopeParams], ExportedCount>(
      `select generation, region, model, company_id as companyId, records, children, deleted, rejected
       from exported_count
       where (@models is null or model in (select value from json_each(@models)))
         and (@companies is null or company_id is null
           or (generation = 'v3' and company_id in (select value from json_each(@companies)))
           or (generation = 'v4' and company_id in (
             select v4_company_id from company where v3_company_id in (select value from json_each(@companies)))))
       order by generation, region, model, company_id`,
    )
    .all(scopeParams(scope));
}

export interface CompanyRow {
  readonly region: string | null;
  readonly v3CompanyId: bigint | null;
  readonly v4CompanyId: bigint | null;
  readonly matchedBy: CompanyMatch;
  readonly v3Keys: bigint;
  readonly v4Keys: bigint;
  /** JSON: the candidates with their counts. */
  readonly note: string;
}

export function readCompanies(db: Db, scope: Scope): CompanyRow[] {
  return db
    .prepare<[ScopeParams], CompanyRow>(
      `select region, v3_company_id as v3CompanyId, v4_company_id as v4CompanyId, matched_by as matchedBy, v3_keys as v3Keys,
         v4_keys as v4Keys, note
       from company
       where @companies is null or v3_company_id in (select value from json_each(@companies))
       order by v3_company_id is null, region, v3_company_id, v4_company_id`,
    )
    .all(scopeParams(scope));
}

/** V3 records of one day and outcome, by their latest date; `day` counts from 1970, null if no date is readable. */
export interface DayCount {
  readonly day: bigint | null;
  readonly status: Status;
  readonly records: bigint;
}

export function readDays(db: Db, scope: Scope): DayCount[] {
  return db
    .prepare<[ScopeParams], DayCount>(
      `select d.day, g.status, sum(d.count) as records
       from remap_day as d join remap_group as g on g.id = d.group_id
       where ${GROUP_SCOPE}
       group by d.day, g.status
       order by d.day, g.status`,
    )
    .all(scopeParams(scope));
}

/** Records of one model and company that are older than V4's history, with their children. */
export interface OutsideCount {
  readonly region: string;
  readonly v3CompanyId: bigint;
  readonly v4CompanyId: bigint | null;
  readonly model: string;
  readonly records: bigint;
  readonly children: bigint;
  readonly earliestMs: bigint | null;
  readonly latestMs: bigint | null;
}

export function readOutside(db: Db, scope: Scope): OutsideCount[] {
  return db
    .prepare<[ScopeParams], OutsideCount>(
      `select g.region, g.v3_company_id as v3CompanyId, g.v4_company_id as v4CompanyId, g.model,
         sum(iif(g.path = '', g.count, 0)) as records, sum(iif(g.path = '', 0, g.count)) as children,
         min(d.earliest) as earliestMs, max(d.latest) as latestMs
       from remap_group as g
         left join (select group_id, min(earliest_ms) as earliest, max(latest_ms) as latest from remap_day group by group_id) as d
         on d.group_id = g.id
       where g.reason in ('outside_backfill_window', 'parent_outside_backfill_window') and g.v3_company_id is not null
         and ${GROUP_SCOPE}
       group by 1, 2, 3, 4
       order by 1, 2, 3, 4`,
    )
    .all(scopeParams(scope));
}

export interface WindowRow {
  readonly model: string;
  readonly v4CompanyId: bigint;
  readonly source: 'configured' | 'inferred' | 'unknown';
  readonly sinceMs: bigint | null;
  readonly records: bigint;
  /** The record that it was inferred from. */
  readonly v4SvcId: bigint | null;
  readonly platformId: string | null;
  readonly nineTenthsMs: bigint | null;
}

export function readWindows(db: Db, scope: Scope): WindowRow[] {
  return db
    .prepare<[ScopeParams], WindowRow>(
      `select model, v4_company_id as v4CompanyId, source, since_ms as sinceMs, records, v4_svc_id as v4SvcId,
         platform_id as platformId, nine_tenths_ms as nineTenthsMs
       from backfill_window
       where (@models is null or model in (select value from json_each(@models)))
         and (@companies is null or v4_company_id in (
           select v4_company_id from company where v3_company_id in (select value from json_each(@companies))))
       order by model, v4_company_id`,
    )
    .all(scopeParams(scope));
}

/** A line of the decisions file and what the last remap made of it. */
export interface DecisionRow extends Decision {
  readonly outcome: 'taken' | 'not_needed' | 'stale';
  readonly why: StaleReason | null;
}

interface DecisionColumns extends Omit<DecisionRow, 'line'> {
  readonly line: bigint;
}

/** Stale decisions first. */
export function readDecisionRows(db: Db, scope: Scope): DecisionRow[] {
  return db
    .prepare<[ScopeParams], DecisionColumns>(
      `select line, model, path, region, v3_company_id as v3CompanyId, v3_svc_id as v3SvcId, v4_svc_id as v4SvcId, note, until,
         outcome, why
       from decision
       where (@models is null or model in (select value from json_each(@models)))
         and (@companies is null or v3_company_id in (select value from json_each(@companies)))
       order by outcome <> 'stale', line`,
    )
    .all(scopeParams(scope))
    .map((row) => ({ ...row, line: Number(row.line) }));
}

export interface ListRow {
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  readonly companyId: bigint | null;
  readonly state: StreamState;
  readonly endReason: string | null;
  readonly pages: bigint;
  readonly records: bigint;
  readonly uniqueRecords: bigint;
  readonly duplicates: bigint;
  readonly rejected: bigint;
  readonly totalCountFirst: bigint | null;
  readonly totalCountLast: bigint | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** Start of the last walk or sweep that reached its end. */
  readonly readAt: string | null;
  readonly phase: 'walk' | 'sweep';
  readonly rounds: bigint;
}

/** V4's list of companies is in every scope. */
export function readLists(db: Db, scope: Scope): ListRow[] {
  return db
    .prepare<[ScopeParams], ListRow>(
      `select generation, region, model, company_id as companyId, state, end_reason as endReason, pages, records,
         unique_records as uniqueRecords, duplicates, rejected, total_count_first as totalCountFirst,
         total_count_last as totalCountLast, started_at as startedAt, finished_at as finishedAt, read_at as readAt, phase, rounds
       from stream
       where (@models is null or model = 'core/companies' or model in (select value from json_each(@models)))
         and (@companies is null or company_id is null
           or (generation = 'v3' and company_id in (select value from json_each(@companies)))
           or (generation = 'v4' and company_id in (
             select v4_company_id from company where v3_company_id in (select value from json_each(@companies)))))
       order by generation, region, model, company_id`,
    )
    .all(scopeParams(scope));
}

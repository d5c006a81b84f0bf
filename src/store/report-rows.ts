import type { CompanyMatch, Decision, Generation, StaleReason, StreamState } from '../domain.js';
import type { Status } from '../reasons.js';
import { must } from '../text/at.js';
import { groupBy } from '../text/rows.js';
import { type Scope, type ScopeParams, scopeParams } from './remap.js';
import type { Db } from './sqlite.js';

/** Rows of `remap_group g` in the scope. V4-only rows belong to the V3 company that theirs is paired with. */
export const GROUP_SCOPE = `(@models is null or g.model in (select value from json_each(@models)))
  and (@companies is null or g.v3_company_id in (select value from json_each(@companies))
    or (g.v3_company_id is null and g.v4_company_id in (
      select v4_company_id from company where v3_company_id in (select value from json_each(@companies)))))`;

const MODEL_SCOPE = '(@models is null or model in (select value from json_each(@models)))';
/** Rows of a generation and company. Rows of no company are in every scope. */
const COMPANY_SCOPE = `(@companies is null or company_id is null or iif(generation = 'v3',
  company_id in (select value from json_each(@companies)),
  company_id in (select v4_company_id from company where v3_company_id in (select value from json_each(@companies)))))`;
const LIST_SCOPE = `(model = 'core/companies' or ${MODEL_SCOPE}) and ${COMPANY_SCOPE}`;

/** Reads counts and times as numbers; ids must be cast to text. */
function readAll<Row>(db: Db, sql: string, params: ScopeParams): Row[] {
  return db.prepare<[ScopeParams], Row>(sql).safeIntegers(false).all(params);
}

/** Rows of the remap with the same outcome; records and children are counted apart. */
export interface RowTally {
  readonly model: string;
  readonly isChild: 0 | 1;
  readonly status: Status;
  readonly reason: string | null;
  readonly rows: number;
  /** With a V3 id. */
  readonly v3Rows: number;
  /** Without what a person decided. */
  readonly conflicts: number;
  readonly merged: number;
}

const OUTCOME_SUMS = `g.path <> '' as isChild, g.status, g.reason, sum(g.count) as rows, sum(g.v3_count) as v3Rows,
  sum(iif(g.unique_id_conflict and g.matched_by is not 'decision', g.count, 0)) as conflicts,
  sum(iif(g.merged and g.matched_by is not 'decision', g.v3_count, 0)) as merged`;

export function readOutcomes(db: Db, scope: Scope): RowTally[] {
  const sql = `
    select g.model, ${OUTCOME_SUMS}
    from remap_group as g
    where ${GROUP_SCOPE}
    group by g.model, isChild, g.status, g.reason
    order by 1, 2, 3, 4`;
  return readAll(db, sql, scopeParams(scope));
}

/** Exported objects of a generation and model. */
export interface ExportedCount {
  readonly generation: Generation;
  readonly model: string;
  readonly records: number;
  readonly children: number;
  readonly deleted: number;
  readonly rejected: number;
}

export function readExported(db: Db, scope: Scope): ExportedCount[] {
  const sql = `
    select generation, model, sum(records) as records, sum(children) as children, sum(deleted) as deleted,
      sum(rejected) as rejected
    from exported_count
    where ${MODEL_SCOPE} and ${COMPANY_SCOPE}
    group by generation, model
    order by 1, 2`;
  return readAll(db, sql, scopeParams(scope));
}

/** The first rows of a long table, and the number of all of them. */
export interface Listing<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/** Rows of a long table that the report holds; the database has all of them. */
const MAX_ROWS = 10_000;

/** @param sql ends with `limit @limit`; its column `all_rows` is the number of rows without the limit */
function readFirst<Row extends object>(db: Db, sql: string, scope: Scope, limit = MAX_ROWS): Listing<Row> {
  const params = { ...scopeParams(scope), limit };
  const counted = readAll<{ all_rows?: number } & Row>(db, sql, params);
  const total = counted[0]?.all_rows ?? 0;
  for (const row of counted) delete row.all_rows;
  return { rows: counted, total };
}

/** A pair of companies, or a company without a pair. */
export interface CompanyRow {
  readonly region: string | null;
  readonly v3CompanyId: string | null;
  readonly v4CompanyId: string | null;
  readonly matchedBy: CompanyMatch;
}

interface RankedCompany extends CompanyRow {
  readonly row: number;
}

export interface CompanyTally extends CompanyRow {
  readonly outcomes: readonly RowTally[];
  readonly exported: readonly ExportedCount[];
}

/** The companies with the most findings first. */
export function readWorstCompanies(db: Db, scope: Scope): Listing<CompanyTally> {
  const { rows, total } = readFirst<RankedCompany>(db, WORST_COMPANIES, scope);
  const params = { ...scopeParams(scope), rows: JSON.stringify(rows.map(({ row }) => row)) };
  const outcomes = groupBy(readAll<RowTally & { row: number }>(db, COMPANY_OUTCOMES, params), rowOf);
  const exported = groupBy(readAll<ExportedCount & { row: number }>(db, COMPANY_EXPORTS, params), rowOf);
  const counted = rows.map(({ row, ...company }) => ({
    ...company,
    outcomes: outcomes.get(row) ?? [],
    exported: exported.get(row) ?? [],
  }));
  return { rows: counted, total };
}

const rowOf = ({ row }: { readonly row: number }) => row;

const WORST_COMPANIES = `
  with finding as (
    select g.region, g.v3_company_id, g.v4_company_id, g.count
    from remap_group as g
    where g.status <> 'matched' and ${GROUP_SCOPE}),
  of_v3 as (
    select region, v3_company_id, sum(count) as findings
    from finding where v3_company_id is not null group by 1, 2),
  of_v4 as (select v4_company_id, sum(count) as findings from finding where v3_company_id is null group by 1)
  select c.rowid as row, c.region, cast(c.v3_company_id as text) as v3CompanyId,
    cast(c.v4_company_id as text) as v4CompanyId, c.matched_by as matchedBy, count(*) over () as all_rows
  from company as c left join of_v3 on of_v3.region = c.region and of_v3.v3_company_id = c.v3_company_id
    left join of_v4 on of_v4.v4_company_id = c.v4_company_id
  where @companies is null or c.v3_company_id in (select value from json_each(@companies))
  order by ifnull(of_v3.findings, 0) + ifnull(of_v4.findings, 0) desc, c.v3_company_id is null, c.region, c.v3_company_id,
    c.v4_company_id
  limit @limit`;

const COMPANY_OUTCOMES = `
  with wanted as materialized (select rowid as row, * from company where rowid in (select value from json_each(@rows)))
  select c.row, g.model, ${OUTCOME_SUMS}
  from remap_group as g cross join wanted as c on c.region = g.region and c.v3_company_id = g.v3_company_id
  where ${GROUP_SCOPE}
  group by c.row, g.model, isChild, g.status, g.reason
  union all
  select c.row, g.model, ${OUTCOME_SUMS}
  from remap_group as g cross join wanted as c on c.v4_company_id = g.v4_company_id
  where g.v3_company_id is null and ${GROUP_SCOPE}
  group by c.row, g.model, isChild, g.status, g.reason`;

const COMPANY_EXPORTS = `
  with wanted as materialized (select rowid as row, * from company where rowid in (select value from json_each(@rows)))
  select c.row, e.generation, e.model, e.records, e.children, e.deleted, e.rejected
  from exported_count as e cross join wanted as c on c.region = e.region and c.v3_company_id = e.company_id
  where e.generation = 'v3' and ${MODEL_SCOPE}
  union all
  select c.row, e.generation, e.model, e.records, e.children, e.deleted, e.rejected
  from exported_count as e cross join wanted as c on c.v4_company_id = e.company_id
  where e.generation = 'v4' and ${MODEL_SCOPE}`;

/** A V3 company that could not be paired beyond doubt. */
export interface AmbiguousCompany {
  readonly region: string;
  readonly v3CompanyId: string;
  readonly v3Keys: number;
  /** JSON: the candidates with their counts. */
  readonly note: string;
}

export function readAmbiguousCompanies(db: Db, scope: Scope, limit = MAX_ROWS): Listing<AmbiguousCompany> {
  const sql = `
    select region, cast(v3_company_id as text) as v3CompanyId, v3_keys as v3Keys, note, count(*) over () as all_rows
    from company
    where matched_by = 'ambiguous' and v3_company_id is not null
      and (@companies is null or v3_company_id in (select value from json_each(@companies)))
    order by v3_keys desc, region, company.v3_company_id
    limit @limit`;
  return readFirst(db, sql, scope, limit);
}

/** V3 records of one month by outcome, by their latest date; `month` is null if no date is readable. */
export interface MonthCount {
  readonly month: string | null;
  readonly matched: number;
  readonly unmatched: number;
  readonly other: number;
}

export function readMonths(db: Db, scope: Scope): MonthCount[] {
  const sql = `
    select strftime('%Y-%m', d.day * 86400, 'unixepoch') as month, sum(iif(g.status = 'matched', d.count, 0)) as matched,
      sum(iif(g.status = 'unmatched', d.count, 0)) as unmatched,
      sum(iif(g.status in ('matched', 'unmatched'), 0, d.count)) as other
    from remap_day as d join remap_group as g on g.id = d.group_id
    where ${GROUP_SCOPE}
    group by month
    order by month`;
  return readAll(db, sql, scopeParams(scope));
}

function isoTime(ms: string): string {
  return `strftime('%Y-%m-%dT%H:%M:%fZ', ${ms} / 1000.0, 'unixepoch')`;
}

/** Records of one model and company that are older than V4's history, with their children. */
export interface OutsideCount {
  readonly region: string;
  readonly v3CompanyId: string;
  readonly v4CompanyId: string | null;
  readonly model: string;
  readonly records: number;
  readonly children: number;
  readonly earliest: string | null;
  readonly latest: string | null;
}

export function readOutside(db: Db, scope: Scope): Listing<OutsideCount> {
  const sql = `
    select g.region, cast(g.v3_company_id as text) as v3CompanyId, cast(g.v4_company_id as text) as v4CompanyId, g.model,
      sum(iif(g.path = '', g.count, 0)) as records, sum(iif(g.path = '', 0, g.count)) as children,
      ${isoTime('min(d.earliest)')} as earliest, ${isoTime('max(d.latest)')} as latest, count(*) over () as all_rows
    from remap_group as g
      left join (select group_id, min(earliest_ms) as earliest, max(latest_ms) as latest from remap_day group by group_id) as d
      on d.group_id = g.id
    where g.reason in ('outside_backfill_window', 'parent_outside_backfill_window') and g.v3_company_id is not null
      and ${GROUP_SCOPE}
    group by g.region, g.v3_company_id, g.v4_company_id, g.model
    order by records desc, children desc, g.region, g.v3_company_id, g.v4_company_id, g.model
    limit @limit`;
  return readFirst(db, sql, scope);
}

/** The start of V4's history for a model: of the company where it is most doubtful, else of the one where it is earliest. */
export interface WindowRow {
  readonly model: string;
  readonly source: 'configured' | 'inferred' | 'unknown';
  /** Companies of the model. */
  readonly inferred: number;
  readonly unknown: number;
  readonly doubtful: number;
  readonly since: string | null;
  readonly v4CompanyId: string;
  /** The record that it was inferred from. */
  readonly v4SvcId: string | null;
  readonly platformId: string | null;
  readonly nineTenthsSince: string | null;
}

/**
 * Of records that are spread evenly over V4's history, nine in ten are from its first tenth on. Its start is doubtful where
 * that point comes only after a third, so that a few old records stand alone, and at least a week later.
 */
export function readWindows(db: Db, scope: Scope): WindowRow[] {
  const sql = `
    with history as (
      select *, nine_tenths_ms - since_ms as gap, source = 'inferred' and nine_tenths_ms - since_ms >= 7 * 86400000
        and (nine_tenths_ms - since_ms) * 3 > unixepoch((select max(read_at) from stream)) * 1000 - since_ms as is_doubtful
      from backfill_window
      where ${MODEL_SCOPE} and (@companies is null or v4_company_id in (
        select v4_company_id from company where v3_company_id in (select value from json_each(@companies)))))
    select model, source, inferred, unknown, doubtful, ${isoTime('since_ms')} as since,
      cast(v4_company_id as text) as v4CompanyId, cast(v4_svc_id as text) as v4SvcId, platform_id as platformId,
      ${isoTime('nine_tenths_ms')} as nineTenthsSince
    from (
      select *, sum(source = 'inferred') over (partition by model) as inferred,
        sum(source = 'unknown') over (partition by model) as unknown,
        ifnull(sum(is_doubtful) over (partition by model), 0) as doubtful,
        row_number() over (
          partition by model
          order by ifnull(is_doubtful, 0) desc, iif(is_doubtful, -gap, 0), source = 'unknown', since_ms, v4_company_id) as place
      from history)
    where place = 1
    order by model`;
  return readAll(db, sql, scopeParams(scope));
}

/** A line of the decisions file that changed nothing. */
export interface IdleDecision
  extends Pick<Decision, 'line' | 'model' | 'path' | 'region' | 'note' | 'until'> {
  readonly v3_company_id: string;
  readonly v3_svc_id: string | null;
  readonly v4_svc_id: string | null;
  readonly outcome: 'not_needed' | 'stale';
  readonly why: StaleReason | null;
}

const DECISION_SCOPE = `${MODEL_SCOPE}
  and (@companies is null or decision.v3_company_id in (select value from json_each(@companies)))`;

/** Stale decisions first. */
export function readIdleDecisions(db: Db, scope: Scope): Listing<IdleDecision> {
  const sql = `
    select line, model, path, region, cast(v3_company_id as text) as v3_company_id, cast(v3_svc_id as text) as v3_svc_id,
      cast(v4_svc_id as text) as v4_svc_id, note, until, outcome, why, count(*) over () as all_rows
    from decision
    where outcome <> 'taken' and ${DECISION_SCOPE}
    order by outcome <> 'stale', line
    limit @limit`;
  return readFirst(db, sql, scope);
}

export interface DecisionCount {
  readonly model: string;
  readonly outcome: 'taken' | 'not_needed' | 'stale';
  readonly decisions: number;
}

export function countDecisions(db: Db, scope: Scope): DecisionCount[] {
  const sql = `
    select model, outcome, count(*) as decisions from decision where ${DECISION_SCOPE} group by 1, 2 order by 1, 2`;
  return readAll(db, sql, scopeParams(scope));
}

export interface ListRow {
  readonly generation: Generation;
  readonly region: string;
  readonly model: string;
  readonly companyId: string | null;
  readonly state: StreamState;
  readonly endReason: string | null;
  readonly pages: number;
  readonly records: number;
  readonly uniqueRecords: number;
  readonly duplicates: number;
  readonly rejected: number;
  readonly totalCountFirst: number | null;
  readonly totalCountLast: number | null;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
}

/** Unfinished lists first, then short, absent and complete ones. */
export function readLists(db: Db, scope: Scope): Listing<ListRow> {
  const sql = `
    select generation, region, model, cast(company_id as text) as companyId, state, end_reason as endReason, pages, records,
      unique_records as uniqueRecords, duplicates, rejected, total_count_first as totalCountFirst,
      total_count_last as totalCountLast, started_at as startedAt, finished_at as finishedAt, count(*) over () as all_rows
    from stream
    where ${LIST_SCOPE}
    order by case state when 'failed' then 1 when 'running' then 2 when 'short' then 3 when 'absent' then 4 else 5 end,
      generation, region, model, stream.company_id
    limit @limit`;
  return readFirst(db, sql, scope);
}

/** Lists of a model and region that ended in the same way. */
export interface ListGroup extends Pick<ListRow, 'generation' | 'region' | 'model' | 'state' | 'endReason'> {
  readonly lists: number;
  readonly pages: number;
  readonly records: number;
  readonly rejected: number;
  /** What the service counts; null if one of the lists has no count. */
  readonly counted: number | null;
}

export function readListGroups(db: Db, scope: Scope): ListGroup[] {
  const sql = `
    select generation, region, model, state, end_reason as endReason, count(*) as lists, sum(pages) as pages,
      sum(unique_records) as records, sum(rejected) as rejected,
      iif(count(total_count_last) = count(*), sum(total_count_last), null) as counted
    from stream
    where ${LIST_SCOPE}
    group by 1, 2, 3, 4, 5
    order by 1, 2, 3, 4, 5`;
  return readAll(db, sql, scopeParams(scope));
}

/** When lists were read: the start of the last complete reading of each. */
export interface ReadingTimes {
  readonly oldest: string | null;
  readonly newest: string | null;
  /** Lists that were read to their end and do not say when. */
  readonly undated: number;
  /** V3 lists of which only changes were read last. */
  readonly toppedUp: number;
}

export function readReadingTimes(db: Db, scope: Scope): ReadingTimes {
  const sql = `
    select min(read_at) as oldest, max(read_at) as newest,
      ifnull(sum(state not in ('running', 'failed') and unixepoch(read_at) is null), 0) as undated,
      ifnull(sum(generation = 'v3' and phase = 'top_up'), 0) as toppedUp
    from stream
    where ${LIST_SCOPE}`;
  return must(readAll<ReadingTimes>(db, sql, scopeParams(scope))[0], 'reading times');
}

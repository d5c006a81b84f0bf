import * as z from 'zod';
import { COMPANY_MATCHES, STALE_REASONS, STREAM_STATES } from '../domain.js';
import type { Status } from '../reasons.js';
import { must } from '../text/at.js';
import { groupBy, sumOf } from '../text/rows.js';
import {
  type FilterParams,
  filterParams,
  onlyFindings,
  REMAP_COLUMNS,
  REMAP_FILTER,
  type RemapFilter,
  type RemapRow,
  type Scope,
} from './remap.js';
import type { Db } from './sqlite.js';

/** The shapes of rows that the report shows as they are. Ids are texts, so that they keep their digits. */
export const count = z.int().nonnegative();
export const id = z
  .string()
  .regex(/^-?\d+$/)
  .describe('A 64-bit integer as digits.');
export const nullableId = id.nullable();
export const time = z.string().describe('ISO 8601, UTC.');

const MODEL_SCOPE = '(@models is null or model in (select value from json_each(@models)))';
const V3_COMPANY_SCOPE = '(@companies is null or v3_company_id in (select value from json_each(@companies)))';
const V4_COMPANIES = `select v4_company_id from company where v3_company_id in (select value from json_each(@companies))`;
/** Rows of a generation and company. Rows of no company are in every scope. */
const COMPANY_SCOPE = `(@companies is null or company_id is null or iif(generation = 'v3',
  company_id in (select value from json_each(@companies)), company_id in (${V4_COMPANIES})))`;
const LIST_SCOPE = `(model = 'core/companies' or ${MODEL_SCOPE}) and ${COMPANY_SCOPE}`;

/** Reads counts and times as numbers; ids must be cast to text. */
function readAll<Row>(db: Db, sql: string, filter: RemapFilter, more: object = {}): Row[] {
  const statement = db.prepare<[FilterParams], Row>(sql).safeIntegers(false);
  return statement.all({ ...filterParams(filter), ...more });
}

/** The first rows of a long table, and the number of all of them. */
export interface Listing<Row> {
  readonly rows: Row[];
  readonly total: number;
}

/** Rows of a long table that the report holds; the database has all of them. */
const MAX_ROWS = 10_000;

/** @param sql ends with `limit @limit`; its column `all_rows` is the number of rows without the limit */
function readFirst<Row>(db: Db, sql: string, scope: Scope): Listing<Row> {
  const counted = readAll<Row & { all_rows?: number }>(db, sql, scope, { limit: MAX_ROWS });
  const total = counted[0]?.all_rows ?? 0;
  for (const row of counted) delete row.all_rows;
  return { rows: counted, total };
}

/** Rows of the remap with the same outcome; records and children are counted apart. */
export interface RowTally {
  readonly model: string;
  readonly isChild: 0 | 1;
  readonly status: Status;
  readonly reason: string | null;
  readonly rows: number;
  readonly v3Rows: number;
  /** Without what a person decided. */
  readonly conflicts: number;
  readonly merged: number;
}

const OUTCOME_SUMS = `g.model, g.path <> '' as isChild, g.status, g.reason, sum(g.count) as rows,
  sum(g.v3_count) as v3Rows,
  sum(iif(g.unique_id_conflict and g.matched_by is not 'decision', g.count, 0)) as conflicts,
  sum(iif(g.merged and g.matched_by is not 'decision', g.v3_count, 0)) as merged`;

export function readOutcomes(db: Db, filter: RemapFilter): RowTally[] {
  const sql = `
    select ${OUTCOME_SUMS}
    from remap_group as g
    where ${REMAP_FILTER}
    group by g.model, isChild, g.status, g.reason
    order by 1, 2, 3, 4`;
  return readAll(db, sql, filter);
}

/**
 * The first `limit` findings of each status and reason, in the order of the remap. Line items that are findings because
 * their records are count for their reason and are left out if `withParents` is false.
 */
export function readFirstFindings(
  db: Db,
  filter: RemapFilter,
  limit: number,
  withParents: boolean,
): RemapRow[] {
  const groups = db
    .prepare<[object], { id: bigint; key: string; count: bigint }>(`
      select g.id, g.status || ${BARE_REASON} as key, g.count from remap_group as g
      where g.reason is not null and (@withParents or g.reason = ${BARE_REASON}) and ${REMAP_FILTER}`)
    .all({ ...filterParams(onlyFindings(filter)), withParents: withParents ? 1 : 0 });
  const keys = new Map<bigint, string>();
  const missing = new Map<string, number>();
  for (const { id: group, key, count: rowCount } of groups) {
    keys.set(group, key);
    missing.set(key, Math.min(limit, (missing.get(key) ?? 0) + Number(rowCount)));
  }
  const wanted = sumOf(missing.values(), (number) => number);
  const rows = db.prepare<[string], { id: bigint; group: bigint }>(`
    select id, group_id as "group" from remap_row
    where group_id in (select value from json_each(?)) order by id`);
  const ids: bigint[] = [];
  for (const row of wanted === 0 ? [] : rows.iterate(`[${[...keys.keys()].join()}]`)) {
    const key = must(keys.get(row.group), 'group');
    const open = must(missing.get(key), 'outcome');
    if (open === 0) continue;
    missing.set(key, open - 1);
    if (ids.push(row.id) === wanted) break;
  }
  return db
    .prepare<[string], RemapRow>(
      `select ${REMAP_COLUMNS.join(', ')} from remap_entry where id in (select value from json_each(?)) order by id`,
    )
    .all(`[${ids.join(',')}]`);
}

/** The reason of a row, or of its parent from which it comes. */
const BARE_REASON = "iif(g.reason glob 'parent_*', substr(g.reason, 8), g.reason)";

export interface ExportedCount {
  readonly model: string;
  readonly v3Records: number;
  readonly v3Children: number;
  readonly v3Deleted: number;
  readonly v4Records: number;
  readonly v4Children: number;
  readonly v4Deleted: number;
  readonly rejected: number;
}

export function readExported(db: Db, scope: Scope): ExportedCount[] {
  const sql = `
    select model, sum(iif(generation = 'v3', records, 0)) as v3Records,
      sum(iif(generation = 'v3', children, 0)) as v3Children, sum(iif(generation = 'v3', deleted, 0)) as v3Deleted,
      sum(iif(generation = 'v4', records, 0)) as v4Records, sum(iif(generation = 'v4', children, 0)) as v4Children,
      sum(iif(generation = 'v4', deleted, 0)) as v4Deleted, sum(rejected) as rejected
    from exported_count
    where ${MODEL_SCOPE} and ${COMPANY_SCOPE}
    group by model
    order by model`;
  return readAll(db, sql, scope);
}

export const companyRow = z.strictObject({
  region: z.string().nullable(),
  v3CompanyId: nullableId,
  v4CompanyId: nullableId,
  matchedBy: z.enum(COMPANY_MATCHES),
});

export type CompanyTally = z.infer<typeof companyRow> & { readonly outcomes: readonly RowTally[] };

/** The companies with the most findings first. */
export function readWorstCompanies(db: Db, scope: Scope): Listing<CompanyTally> {
  type Ranked = z.infer<typeof companyRow> & { readonly row: number };
  const { rows, total } = readFirst<Ranked>(db, WORST_COMPANIES, scope);
  const wanted = JSON.stringify(rows.map(({ row }) => row));
  const tallies = readAll<RowTally & { row: number }>(db, COMPANY_OUTCOMES, scope, { rows: wanted });
  const outcomes = groupBy(tallies, ({ row }) => row);
  return {
    rows: rows.map(({ row, ...company }) => ({ ...company, outcomes: outcomes.get(row) ?? [] })),
    total,
  };
}

const COMPANY_GROUPS = `
  company_group as (
    select c.rowid as row, g.*
    from remap_group as g cross join company as c on c.region = g.region and c.v3_company_id = g.v3_company_id
    where ${REMAP_FILTER}
    union all
    select c.rowid, g.*
    from remap_group as g cross join company as c on c.v4_company_id = g.v4_company_id
    where g.v3_company_id is null and ${REMAP_FILTER})`;

const WORST_COMPANIES = `
  with ${COMPANY_GROUPS},
  worst as (select row, sum(iif(status = 'matched', 0, count)) as findings from company_group group by row)
  select c.rowid as row, c.region, cast(c.v3_company_id as text) as v3CompanyId,
    cast(c.v4_company_id as text) as v4CompanyId, c.matched_by as matchedBy, count(*) over () as all_rows
  from company as c left join worst on worst.row = c.rowid
  where ${V3_COMPANY_SCOPE}
  order by ifnull(worst.findings, 0) desc, c.v3_company_id is null, c.region, c.v3_company_id, c.v4_company_id
  limit @limit`;

const COMPANY_OUTCOMES = `
  with ${COMPANY_GROUPS}
  select g.row, ${OUTCOME_SUMS}
  from company_group as g
  where g.row in (select value from json_each(@rows))
  group by g.row, g.model, isChild, g.status, g.reason`;

/** A V3 company without a pair. */
export interface UnpairedCompany {
  readonly region: string;
  readonly v3CompanyId: string;
  readonly v3Keys: number;
  readonly isAmbiguous: number;
  /** JSON: the candidates with their counts. */
  readonly note: string;
}

/** What a companies file may settle: nobody said that they are not in V4. */
export function readUnpairedCompanies(db: Db, scope: Scope): UnpairedCompany[] {
  const sql = `
    select region, cast(v3_company_id as text) as v3CompanyId, v3_keys as v3Keys, matched_by = 'ambiguous' as isAmbiguous, note
    from company
    where matched_by in ('ambiguous', 'none') and v3_company_id is not null and ${V3_COMPANY_SCOPE}
    order by isAmbiguous desc, v3_keys desc, region, company.v3_company_id`;
  return readAll(db, sql, scope);
}

/**
 * The V4 companies that are neither paired nor a candidate of an ambiguous company; none if a companies file settles
 * every V3 company without a pair.
 */
const SPARE_V4 = `company.v3_company_id is null and company.matched_by = 'none'
  and exists (select 1 from company as open where open.v3_company_id is not null and open.matched_by = 'none')`;

export function countSpareV4Companies(db: Db): number {
  const sql = `select count(*) as companies from company where ${SPARE_V4}`;
  return must(readAll<{ companies: number }>(db, sql, {})[0], 'count').companies;
}

export interface SpareV4Company {
  readonly v4CompanyId: string;
  readonly records: number;
}

/** Those without records first. */
export function readSpareV4Companies(db: Db): SpareV4Company[] {
  const sql = `
    select cast(v4_company_id as text) as v4CompanyId, ifnull(sum(e.records), 0) as records
    from company left join exported_count as e on e.generation = 'v4' and e.company_id = v4_company_id
    where ${SPARE_V4}
    group by v4_company_id
    order by records, company.v4_company_id`;
  return readAll(db, sql, {});
}

export const monthRow = z.strictObject({
  month: z.string().describe('YYYY-MM; `before YYYY-MM` and `after YYYY-MM` add up the months beyond.'),
  matched: count,
  unmatched: count,
  other: count,
});

export type MonthCount = Omit<z.infer<typeof monthRow>, 'month'> & { readonly month: string | null };

/** Months before `first` and after `last`, such as `2026-10`, are added up. */
export function readMonths(db: Db, scope: Scope, first: string, last: string): MonthCount[] {
  const sql = `
    with dated as (
      select day, count, group_id, strftime('%Y-%m', day * 86400, 'unixepoch') as month
      from remap_day)
    select case when month < @first then 'before ' || @first when month > @last then 'after ' || @last else month end as month,
      sum(iif(g.status = 'matched', d.count, 0)) as matched, sum(iif(g.status = 'unmatched', d.count, 0)) as unmatched,
      sum(iif(g.status in ('matched', 'unmatched'), 0, d.count)) as other
    from dated as d join remap_group as g on g.id = d.group_id
    where ${REMAP_FILTER}
    group by 1
    order by min(d.day)`;
  return readAll(db, sql, scope, { first, last });
}

function isoTime(ms: string): string {
  return `strftime('%Y-%m-%dT%H:%M:%fZ', ${ms} / 1000.0, 'unixepoch')`;
}

/** Records of one model and company that are older than V4's history, with their children. */
export const fullSyncRow = z.strictObject({
  region: z.string(),
  v3CompanyId: id,
  v4CompanyId: nullableId,
  model: z.string(),
  records: count,
  children: count.describe('Children of these records.'),
  earliest: time.nullable(),
  latest: time.nullable(),
});

export function readFullSync(db: Db, scope: Scope): Listing<z.infer<typeof fullSyncRow>> {
  const sql = `
    select g.region, cast(g.v3_company_id as text) as v3CompanyId, cast(g.v4_company_id as text) as v4CompanyId, g.model,
      sum(iif(g.path = '', g.count, 0)) as records, sum(iif(g.path = '', 0, g.count)) as children,
      ${isoTime('min(d.earliest)')} as earliest, ${isoTime('max(d.latest)')} as latest, count(*) over () as all_rows
    from remap_group as g
      left join (select group_id, min(earliest_ms) as earliest, max(latest_ms) as latest from remap_day group by group_id) as d
      on d.group_id = g.id
    where g.reason in ('outside_backfill_window', 'parent_outside_backfill_window') and g.v3_company_id is not null
      and ${REMAP_FILTER}
    group by g.region, g.v3_company_id, g.v4_company_id, g.model
    order by records desc, children desc, g.region, g.v3_company_id, g.v4_company_id, g.model
    limit @limit`;
  return readFirst(db, sql, scope);
}

/** The start of V4's history for a model: of the company where it is most doubtful, else of the one where it is earliest. */
export const windowRow = z.strictObject({
  model: z.string(),
  source: z
    .enum(['configured', 'inferred', 'unknown'])
    .describe('inferred: for at least one company of the model.'),
  inferred: count.describe('Companies whose start was inferred.'),
  unknown: count.describe('Companies whose start is unknown.'),
  doubtful: count.describe('Companies whose start and nineTenthsSince lie far apart: set backfill.since.'),
  since: time.nullable().describe("Start of V4's history: as configured, or of the company named here."),
  v4CompanyId: nullableId.describe('The company with the most doubtful start, else the earliest.'),
  v4SvcId: nullableId.describe('The V4 record that it was inferred from.'),
  platformId: z.string().nullable(),
  unexplained: count.describe(
    'V3 ids without an explanation in companies whose start is unknown or doubtful.',
  ),
  contradicted: count.describe(
    'V3 ids that count as older than the configured start in companies where more than one in ten V4 records are older, too.',
  ),
  nineTenthsSince: time.nullable().describe("Nine in ten of the company's V4 records are from then on."),
});
export type WindowRow = z.infer<typeof windowRow>;

/**
 * Of records that are spread evenly over V4's history, nine in ten are from its first tenth on. Its start is doubtful where
 * that point comes only after a third, so that a few old records stand alone, and at least a week later.
 */
export function readWindows(db: Db, scope: Scope): WindowRow[] {
  const sql = `
    with missing as (
      select model, v4_company_id,
        sum(v3_count) filter (where reason in ('unexplained', 'parent_unexplained')) as unexplained_ids,
        sum(v3_count) filter (where reason in ('outside_backfill_window', 'parent_outside_backfill_window')) as older_ids
      from remap_group
      where v4_company_id is not null
      group by 1, 2),
    history as (
      select w.*, unexplained_ids, iif(source = 'configured' and nine_tenths_ms < since_ms, older_ids, 0) as contradicted_ids,
        nine_tenths_ms - since_ms as gap, source = 'inferred' and nine_tenths_ms - since_ms >= 7 * 86400000
        and (nine_tenths_ms - since_ms) * 3 > unixepoch((select max(read_at) from stream)) * 1000 - since_ms as is_doubtful
      from backfill_window as w left join missing using (model, v4_company_id)
      where ${MODEL_SCOPE} and (@companies is null or v4_company_id in (${V4_COMPANIES})))
    select model, source, inferred, unknown, doubtful, unexplained, contradicted, ${isoTime('since_ms')} as since,
      iif(source = 'inferred', cast(v4_company_id as text), null) as v4CompanyId, cast(v4_svc_id as text) as v4SvcId,
      platform_id as platformId, ${isoTime('nine_tenths_ms')} as nineTenthsSince
    from (
      select *, sum(source = 'inferred') over (partition by model) as inferred,
        sum(source = 'unknown') over (partition by model) as unknown,
        ifnull(sum(is_doubtful) over (partition by model), 0) as doubtful,
        ifnull(sum(iif(is_doubtful or source = 'unknown', unexplained_ids, 0)) over (partition by model), 0)
          as unexplained,
        ifnull(sum(contradicted_ids) over (partition by model), 0) as contradicted,
        row_number() over (
          partition by model
          order by ifnull(contradicted_ids, 0) desc, ifnull(is_doubtful, 0) desc, iif(is_doubtful, -gap, 0), source = 'unknown', since_ms, v4_company_id) as place
      from history)
    where place = 1
    order by model`;
  return readAll(db, sql, scope);
}

export const idleDecisionRow = z.strictObject({
  line: z.int().positive(),
  model: z.string(),
  path: z.string(),
  region: z.string(),
  v3_company_id: id,
  v3_svc_id: nullableId,
  v4_svc_id: nullableId,
  note: z.string(),
  until: z.string().nullable().describe('The day, UTC, from which it no longer holds.'),
  outcome: z.enum(['not_needed', 'stale']),
  why: z.enum(STALE_REASONS).nullable(),
});

export function readIdleDecisions(db: Db, scope: Scope): Listing<z.infer<typeof idleDecisionRow>> {
  const sql = `
    select line, model, path, region, cast(v3_company_id as text) as v3_company_id, cast(v3_svc_id as text) as v3_svc_id,
      cast(v4_svc_id as text) as v4_svc_id, note, until, outcome, why, count(*) over () as all_rows
    from decision
    where outcome <> 'taken' and ${MODEL_SCOPE} and ${V3_COMPANY_SCOPE}
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
    select model, outcome, count(*) as decisions
    from decision
    where ${MODEL_SCOPE} and ${V3_COMPANY_SCOPE}
    group by 1, 2
    order by 1, 2`;
  return readAll(db, sql, scope);
}

const listName = {
  generation: z.enum(['v3', 'v4']),
  region: z.string(),
  model: z.string(),
  state: z.enum(STREAM_STATES),
  endReason: z.string().nullable(),
};

export const listRow = z.strictObject({
  ...listName,
  companyId: nullableId,
  pages: count,
  records: count,
  uniqueRecords: count,
  duplicates: count,
  rejected: count,
  totalCountFirst: z.int().nullable(),
  totalCountLast: z.int().nullable(),
  startedAt: time.nullable(),
  finishedAt: time.nullable(),
});
export type ListRow = z.infer<typeof listRow>;

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

export const listGroupRow = z.strictObject({
  ...listName,
  lists: count,
  pages: count,
  records: count,
  rejected: count,
  counted: z.int().nullable().describe('What the service counts; null if it did not count one of the lists.'),
});
export type ListGroup = z.infer<typeof listGroupRow>;

export function readListGroups(db: Db, scope: Scope): ListGroup[] {
  const sql = `
    select generation, region, model, state, end_reason as endReason, count(*) as lists, sum(pages) as pages,
      sum(unique_records) as records, sum(rejected) as rejected,
      iif(count(total_count_last) = count(*), sum(total_count_last), null) as counted
    from stream
    where ${LIST_SCOPE}
    group by 1, 2, 3, 4, 5
    order by 1, 2, 3, 4, 5`;
  return readAll(db, sql, scope);
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
  return must(readAll<ReadingTimes>(db, sql, scope)[0], 'reading times');
}
